"""The page itself: everything that was found, in one HTML file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from truelabel import __version__
from truelabel.atomic import write_atomically
from truelabel.checks import check_whole
from truelabel.report.annotator_cards import annotator_cards, doubted_labels
from truelabel.report.charts import reliability_chart, skill_bar
from truelabel.report.class_noise import class_noise, unidentified
from truelabel.report.clusters import annotator_clusters
from truelabel.report.data_facts import agreement_word, data_facts
from truelabel.report.gallery import Gallery, build_gallery
from truelabel.report.run_folder import RunFolder, read_run
from truelabel.report.suspects import count_suspects
from truelabel.report.training_curves import training_curves
from truelabel.report.words import first_steps, number, summary

HERE = Path(__file__).parent / "page"
MOST_PEOPLE = 1000
"""Rows of the table of annotators."""


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        path: the file.
        suspects: labels in its gallery, out of ``suspected`` in all.
        suspected: None if the run does not say.
        pictures: how many of them have a picture.
        notes: what could not be shown, and why.
    """

    path: Path
    suspects: int
    suspected: int | None
    pictures: int
    notes: tuple[str, ...]


def write_report(run: str | Path, out: str | Path | None = None, *, top: int = 500, thumbnails: int = 500) -> Report:
    """Write one self-contained HTML page about a run.

    Args:
        run: a folder that `truelabel train` wrote.
        out: the file; ``report.html`` in the run folder by default. It appears whole or not at all.
        top: suspects in the gallery, at most.
        thumbnails: how many of these get a picture, text or row of features, at most; 0 for none.

    Raises:
        truelabel.training.RunFolderError: if ``run`` is no run folder, or one of its files is damaged.
    """
    path = Path(run) / "report.html" if out is None else Path(out)
    if path.is_dir():
        raise ValueError(f"out must be a file, but {path} is a folder: name a file in it")
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"out must end in .html, got {path}")
    found = read_run(run)
    check_whole("top", top, 0)
    check_whole("thumbnails", thumbnails, 0)
    gallery = build_gallery(found, top, thumbnails)
    write_atomically(path, _render(found, gallery).encode())
    pictures = sum("picture" in item for item in gallery.items)
    return Report(path, len(gallery.items), count_suspects(found), pictures, tuple(gallery.notes))


def render_report(run: RunFolder, *, top: int = 500, thumbnails: int = 500) -> str:
    """The page as text; see :func:`write_report`."""
    return _render(run, build_gallery(run, top, thumbnails))


def _render(run: RunFolder, gallery: Gallery) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"percent": _percent, "shade": _shade}
    # Our own files, not the user's: these two alone are not escaped.
    style, script = (Markup((HERE / name).read_text(encoding="utf-8")) for name in ("style.css", "review.js"))
    facts, noise, unclear, suspected = data_facts(run), class_noise(run), unidentified(run), count_suspects(run)
    people = sorted(run.people, key=lambda person: person.skill)
    calibration = run.quality.get("calibration") or {}
    return environment.get_template("page.html").render(
        run=run,
        version=__version__,
        policy=_policy(style, script),
        style=style,
        script=script,
        data=json_for_html(_data(run, gallery)),
        gallery=gallery,
        facts=facts,
        summary=summary(run, facts, suspected),
        steps=first_steps(run, noise, unclear, suspected),
        suspected=suspected,
        people=people[:MOST_PEOPLE],
        left_out=max(0, len(people) - MOST_PEOPLE),
        doubted=doubted_labels(run),
        cards=annotator_cards(run),
        clusters=annotator_clusters(run),
        noise=noise,
        unclear=unclear,
        calibration=calibration,
        reliability=_reliability(calibration),
        stages=training_curves(run),
        agreement_word=agreement_word,
        bar=skill_bar,
        number=number,
    )


def json_for_html(value: Any) -> Markup:
    r"""JSON that may stand in a script element: nothing in it can end the element or open a comment.

    Example:
        >>> print(json_for_html("</script><!--"))
        "\u003c/script\u003e\u003c!--"
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _data(run: RunFolder, gallery: Gallery) -> dict[str, Any]:
    return {
        "fingerprint": run.fingerprint,
        "masks": run.is_masks,
        "classes": run.classes,
        "pictures": gallery.pictures,
        "suspects": gallery.items,
    }


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded, sent, framed or run but the style and the script of the page itself."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest(style)}'; script-src 'sha256-{digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _reliability(calibration: dict[str, Any]) -> Markup:
    bins = [row for row in calibration.get("bins") or [] if len(row) == 3 and None not in row and row[2]]
    if not bins:
        return Markup("")
    told = "; ".join(f"at confidence {c:.0%}, {right:.0%} of {int(n)} labels" for c, right, n in bins)
    return reliability_chart(bins, f"Share of held-out labels that agree, by confidence: {told}")


def _percent(share: float | None, digits: int = 0) -> str:
    return "unknown" if share is None else f"{share:.{digits}%}"


def _shade(share: float) -> int:
    """Ten steps of colour for shares."""
    return min(10, max(0, round(10 * share)))
