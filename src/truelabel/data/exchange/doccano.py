"""doccano's JSONL export of text classification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from truelabel.data.exchange.entries import ExchangeError, Paths, as_list, as_object, read_json_lines, several
from truelabel.data.exchange.names import alike, plain_name, stems

if TYPE_CHECKING:
    from truelabel.annotations import Annotations

Row = tuple[str | int, str | int, str | int]


def read_doccano(paths: Paths, *, classes: Sequence[str] | None = None) -> Annotations:
    """Read labels from doccano's JSONL export, one document a line.

    - ``{"id": 1, "text": "…", "label": ["positive"]}``, in newer versions one file for each annotator, called after
      them: pass all files. The key may be ``labels`` too, and the label text without a list.
    - ``{"id": 1, "text": "…", "annotations": [{"label": 2, "user": 1}]}``, in older ones: annotators are users.

    A document without label is left out. One without ``id`` is called by its number in the file, from 0.

    Args:
        paths: one file or several.
        classes: all classes in order; those found, sorted, by default.

    Raises:
        ExchangeError: if a line is damaged, has several labels, or marks spans of text.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for who, what in (("ann", "good"), ("eve", "bad")):
        ...         line = '{"id": 1, "text": "So so.", "label": ["%s"]}' % what
        ...         _ = pathlib.Path(folder, f"{who}.jsonl").write_text(line)
        ...     read_doccano(sorted(pathlib.Path(folder).iterdir())).matrix().tolist()
        [[1, 0]]
    """
    from truelabel.annotations import Annotations

    files = several(paths)
    rows: list[Row] = []
    for file, annotator in zip(files, stems(files), strict=True):
        for number, (where, line) in enumerate(read_json_lines(file)):
            rows += _labels(as_object(line, where), number, annotator, where)
    if not rows:
        raise ExchangeError(f"{files[0].name} holds no labels: is it an export, and is anything annotated?")
    examples, annotators, labels = (alike(column) for column in zip(*rows, strict=True))
    return Annotations.from_table({"example": examples, "annotator": annotators, "label": labels}, classes=classes)


def _labels(document: dict[str, Any], number: int, annotator: str, where: str) -> Iterator[Row]:
    """The label of a document by each annotator."""
    name = plain_name(document.get("id", number), where)
    if "annotations" in document:
        seen: set[str | int] = set()
        for one in as_list(document["annotations"], f"'annotations' of {where}"):
            said = as_object(one, f"an annotation of {where}")
            who = plain_name(said.get("user", annotator), where)
            if who in seen:
                raise ExchangeError(f"{where} has two labels by {who!r}, not one: keep one of them")
            seen.add(who)
            yield name, who, _label(said.get("label"), where)
        return
    key = next((key for key in ("label", "labels") if key in document), None)
    if key is None:
        raise ExchangeError(f"{where} has no 'label': export the project as JSONL, with labels")
    given = document[key]
    labels = given if isinstance(given, list) else [] if given is None else [given]
    if len(labels) > 1:
        raise ExchangeError(f"{where} has {len(labels)} labels, not one: keep one of them")
    for label in labels:
        yield name, annotator, _label(label, where)


def _label(value: Any, where: str) -> str | int:
    if isinstance(value, list):
        raise ExchangeError(f"{where} marks spans of text: only labels of whole documents can be read")
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ExchangeError(f"{where} has a label that is neither text nor a whole number: export it again")
    return value
