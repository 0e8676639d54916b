"""The table of label quality that a run keeps, as it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.training import RunFolderError

NAMES = ("example", "annotator", "label", "suggested", "region")
"""Columns of names, which stay text: 007 is no 7."""

PLACES = ("pixels", "slice", "top", "left", "bottom", "right")
"""Columns of whole numbers that say where a region of a mask is."""


@dataclass(frozen=True, eq=False)
class LabelRows:
    """What was said of what by whom, and how probable it is that this is right; one row a label, or a region of a mask.

    Attributes:
        example: ``(L,)`` names.
        annotator: ``(L,)`` names.
        label: ``(L,)`` names of classes.
        probability: ``(L,)`` that the label is right.
        suggested: ``(L,)`` the most probable class; None if the run has none.
        suggested_probability: ``(L,)`` of it; None likewise.
        region: ``(L,)`` names of regions of masks; None for whole examples.
        places: ``(L,)`` whole numbers by the names in ``PLACES``, -1 where there is none; empty for whole examples.
    """

    example: NDArray[Any]
    annotator: NDArray[Any]
    label: NDArray[Any]
    probability: NDArray[np.float64]
    suggested: NDArray[Any] | None = None
    suggested_probability: NDArray[np.float64] | None = None
    region: NDArray[Any] | None = None
    places: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.probability)

    @property
    def doubted(self) -> NDArray[np.bool_]:
        """``(L,)``: the method believes in another class, or, in a run without suggestions, rather not in this one."""
        if self.suggested is None:
            return np.asarray(self.probability < 0.5)
        return np.asarray(self.suggested != self.label)


def read_label_rows(path: Path) -> LabelRows:
    """Read ``label_quality.csv``; a damaged one is a one-line error."""
    columns = read_text_columns(path)
    absent = [name for name in ("example", "annotator", "label", "probability_right") if name not in columns]
    if absent:
        raise RunFolderError(f"{path} has no column {absent[0]!r}: train the run again")

    def numbers(name: str) -> NDArray[np.float64]:
        try:
            # Empty cells are what was not computed.
            return np.array([float(text) if text else np.nan for text in columns[name]], np.float64)
        except ValueError as error:
            raise RunFolderError(f"{path}, column {name!r}: {error}; train the run again") from error

    names = {name: np.array(columns[name], object) for name in NAMES if name in columns}
    places = {n: np.nan_to_num(numbers(n), nan=-1.0).astype(np.int64) for n in PLACES if n in columns}
    suggested = names.get("suggested") if "suggested_probability" in columns else None
    return LabelRows(
        names["example"],
        names["annotator"],
        names["label"],
        numbers("probability_right"),
        suggested,
        None if suggested is None else numbers("suggested_probability"),
        names.get("region"),
        places,
    )


def read_text_columns(path: Path) -> dict[str, list[str]]:
    """Columns of a CSV file by name, all as text; empty cells are empty text, and NA is a word like any other."""
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(newlines_in_values=True)
    try:
        with csv.open_csv(path, parse_options=parse) as reader:
            types = dict.fromkeys(reader.schema.names, pa.string())
        convert = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        table = csv.read_csv(path, parse_options=parse, convert_options=convert)
    except (OSError, pa.ArrowException) as error:
        raise RunFolderError(f"cannot read {path}: {' '.join(str(error).split())}") from error
    return {name: table.column(name).to_pylist() for name in table.column_names}
