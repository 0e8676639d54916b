"""Which examples count, and for which peer."""

from truelabel.selection.co_teaching import CoTeaching
from truelabel.selection.disagreement import Disagreement
from truelabel.selection.selector import KeepAll, Selector, mean_over
from truelabel.selection.self_paced import SelfPaced

__all__ = ["CoTeaching", "Disagreement", "KeepAll", "Selector", "SelfPaced", "mean_over"]
