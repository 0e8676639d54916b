"""The suspects as the page shows them: what was said, what is suggested, and what the example looks like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from truelabel.report.exhibits import Exhibit, show_examples
from truelabel.report.reader_maps import DoubtMap, ReaderMap, doubt_maps, reader_maps
from truelabel.report.region_pictures import region_pictures
from truelabel.report.run_folder import RunFolder
from truelabel.report.study import Study
from truelabel.report.suspects import find_suspects
from truelabel.report.thumbnails import TINY

DOUBTS = 4
"""Images whose uncertainty is drawn."""


@dataclass
class Gallery:
    """What the gallery of a page is made of.

    Attributes:
        items: one a suspect, as JSON has it; ``picture`` is a position in ``pictures``.
        pictures: data URIs and whether they are tiny.
        notes: what could not be shown, and why.
        readers: for masks, where each reader errs.
        doubts: for masks, where the network is unsure.
    """

    items: list[dict[str, Any]] = field(default_factory=list)
    pictures: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    readers: list[ReaderMap] = field(default_factory=list)
    doubts: list[DoubtMap] = field(default_factory=list)


def build_gallery(run: RunFolder, top: int, most: int) -> Gallery:
    """The ``top`` least probable labels of a run, ``most`` of them with what they are about."""
    suspects = find_suspects(run, top)
    gallery = Gallery()
    if run.is_masks:
        exhibits = _masks(run, suspects, most, gallery)
    else:
        found = show_examples(run, [suspect.example for suspect in suspects[:most]], most)
        gallery.notes += found.notes
        exhibits = [found.shown.get(suspect.example) for suspect in suspects]
    place: dict[str, int] = {}
    for suspect, exhibit in zip(suspects, exhibits, strict=True):
        item: dict[str, Any] = {
            "example": suspect.example,
            "annotator": suspect.annotator,
            "label": suspect.label,
            "probability": _short(suspect.probability),
            "others": suspect.others,
        }
        if suspect.suggested is not None:
            item["suggested"] = suspect.suggested
        if suspect.suggested_probability is not None:
            item["suggestedProbability"] = _short(suspect.suggested_probability)
        if suspect.region is not None:
            item |= {"region": suspect.region, "place": suspect.place}
        if exhibit is not None:
            _attach(item, exhibit, gallery.pictures, place)
        gallery.items.append(item)
    return gallery


def _short(share: float) -> float:
    """Six digits that count, so that what is tiny is not zero."""
    return float(f"{share:.6g}")


def _attach(item: dict[str, Any], exhibit: Exhibit, pictures: list[dict[str, Any]], place: dict[str, int]) -> None:
    if exhibit.picture is not None:
        uri, width, height = exhibit.picture
        if uri not in place:
            place[uri] = len(pictures)
            pictures.append({"uri": uri, "tiny": max(width, height) <= TINY})
        item["picture"] = place[uri]
    if exhibit.text is not None:
        item["text"] = exhibit.text
    if exhibit.row:
        item["row"] = exhibit.row


def _masks(run: RunFolder, suspects: Any, most: int, gallery: Gallery) -> list[Exhibit | None]:
    if not most:
        return [None] * len(suspects)
    try:
        study = Study.open(run)
        gallery.readers += reader_maps(study)
        first = list(dict.fromkeys([*(s.example for s in suspects), *study.names]))
        gallery.doubts += doubt_maps(study, [name for name in first if name in study.names][:DOUBTS])
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        gallery.notes.append(f"There are no maps and no pictures: {' '.join(str(error).split())}.")
        return [None] * len(suspects)
    pictures, notes = region_pictures(study, suspects, most)
    gallery.notes += notes
    return pictures
