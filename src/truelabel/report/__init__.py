"""One HTML page about a run: what the labels are like, whom to trust, what to look at, and a review of it."""

from truelabel.report.page import Report, render_report, write_report
from truelabel.report.run_folder import RunFolder, read_run

__all__ = ["Report", "RunFolder", "read_run", "render_report", "write_report"]
