"""What examples look like: their picture, their text, or their row of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from truelabel.data import load_array
from truelabel.data.folder import existing_folder, inside
from truelabel.frames import Table
from truelabel.report.run_folder import PICTURES, RunFolder
from truelabel.report.thumbnails import Thumbnail, array_thumbnail, file_thumbnail, looks_like_picture
from truelabel.training.files import read_json

MOST_TEXT = 2000
MOST_FEATURES = 12


class Exhibit(NamedTuple):
    """One example as people see it: any of these may be missing."""

    picture: Thumbnail | None = None
    text: str | None = None
    row: tuple[tuple[str, str], ...] = ()


Show = Callable[[str], Exhibit]


@dataclass
class Exhibits:
    """Examples as people see them.

    Attributes:
        shown: by name.
        notes: what could not be shown, and why.
    """

    shown: dict[str, Exhibit] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def show_examples(run: RunFolder, names: Iterable[str], most: int) -> Exhibits:
    """What the first ``most`` examples of ``names`` look like.

    ``pictures.npy`` in the run folder comes first; else the inputs that ``source.json`` points to. Nothing outside of
    these is read, whatever an example is called.
    """
    wanted = list(dict.fromkeys(names))[:most]
    found = Exhibits()
    if not wanted:
        return found
    try:
        show = _shower(run)
    except (ValueError, OSError, KeyError, RuntimeError, ImportError) as error:
        found.notes.append(f"Examples are shown by name only: {' '.join(str(error).split())}.")
        return found
    failed: list[tuple[str, str]] = []
    for name in wanted:
        try:
            found.shown[name] = show(name)
        except (ValueError, OSError, LookupError) as error:
            failed.append((name, _reason(error)))
    if failed:
        count = "1 example is" if len(failed) == 1 else f"{len(failed)} examples are"
        found.notes.append(f"{count} shown by name only, such as {failed[0][0]!r}: {failed[0][1]}.")
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "it is not where the run found it"
    if isinstance(error, LookupError):
        return "the inputs have no such row"
    return "it lies outside the data" if "outside" in str(error) else str(error)


def _shower(run: RunFolder) -> Show:
    if (run.path / PICTURES).is_file():
        return _from_pictures(run)
    if run.kind is None or not run.source.get("data"):
        raise ValueError("the run does not say where its inputs lie")
    data = Path(str(run.source["data"]))
    if not data.exists():
        raise ValueError("the inputs are no longer where source.json says; put them back and write the report again")
    if run.kind == "images":
        top = existing_folder(data)
        return lambda name: Exhibit(picture=file_thumbnail(inside(top, name)))
    if run.kind == "arrays":
        return _from_array(run, data)
    return _from_table(run, data)


def _from_pictures(run: RunFolder) -> Show:
    pictures = np.load(run.path / PICTURES, mmap_mode="r", allow_pickle=False)
    if pictures.dtype != np.uint8 or len(pictures) != len(run.examples) or not looks_like_picture(pictures.shape[1:]):
        raise ValueError(
            f"{PICTURES} must be ({len(run.examples)}, H, W) or ({len(run.examples)}, H, W, 3) of bytes, "
            f"got {pictures.shape} of {pictures.dtype}"
        )
    place = {name: i for i, name in enumerate(run.examples)}
    return lambda name: Exhibit(picture=array_thumbnail(np.asarray(pictures[place[name]])))


def _reading(run: RunFolder) -> dict[str, Any]:
    """How the run read its inputs; empty if it does not say."""
    found = read_json(run.path / "inputs.json") if (run.path / "inputs.json").is_file() else {}
    return found if isinstance(found, dict) else {}


def _from_array(run: RunFolder, data: Path) -> Show:
    values = load_array(data, _reading(run).get("key"))

    def show(name: str) -> Exhibit:
        row = values[_row_number(name, len(values))]
        if looks_like_picture(row.shape):
            return Exhibit(picture=array_thumbnail(row))
        flat = row.ravel()[:MOST_FEATURES]
        return Exhibit(row=tuple((f"feature {i}", _short(value)) for i, value in enumerate(flat.tolist())))

    return show


def _from_table(run: RunFolder, data: Path) -> Show:
    reading, table = _reading(run), Table(data)
    id_column = reading.get("id_column")
    names = None
    if id_column:
        names = {str(name): i for i, name in enumerate(table.names(id_column).to_pylist())}
    if run.kind == "text":
        column = str(run.source.get("text_column") or "")
        texts = table.column(column).to_pylist()
        columns = {}
    else:
        chosen = [name for name in reading.get("columns") or table.columns if name != id_column][:MOST_FEATURES]
        columns = {name: values.to_pylist() for name, values in zip(chosen, table.read(chosen), strict=True)}
        texts = None
    size = len(table)

    def show(name: str) -> Exhibit:
        row = names[name] if names is not None else _row_number(name, size)
        if texts is not None:
            text = str(texts[row] or "")
            return Exhibit(text=text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "…")
        return Exhibit(row=tuple((column, _short(values[row])) for column, values in columns.items()))

    return show


def _row_number(name: str, size: int) -> int:
    if not name.isdecimal() or int(name) >= size:
        raise LookupError(name)
    return int(name)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
