"""What a reviewer decided about labels: read from a table, checked row by row, and worked into the labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from truelabel.coding import Codes, LabelError, Name, name_array
from truelabel.frames import Table, TableError, listing

Verdict = Literal["accept", "keep", "choose", "remove"]
How = Literal["replace", "add"]

REVIEWER = "reviewer"
"""What the annotator is called whose labels are decisions, unless told."""

COLUMNS = ("example", "annotator", "label", "decision", "new_label")
VERDICTS: tuple[str, ...] = get_args(Verdict)


class Row(NamedTuple):
    """One decision, every name as text; ``annotator`` and ``new_label`` may be None."""

    example: str
    annotator: str | None
    label: str
    decision: str
    new_label: str | None


class Labelled(Protocol):
    """Labels as a coordinate table sorted by example; :class:`truelabel.Annotations` are some."""

    @property
    def example(self) -> Codes: ...
    @property
    def annotator(self) -> Codes: ...
    @property
    def label(self) -> Codes: ...
    @property
    def examples(self) -> NDArray[Any]: ...
    @property
    def annotators(self) -> NDArray[Any]: ...
    @property
    def classes(self) -> tuple[Name, ...]: ...


class Revised(NamedTuple):
    """A coordinate table of labels, not sorted, and its names."""

    example: Codes
    annotator: Codes
    label: Codes
    examples: NDArray[Any]
    annotators: NDArray[Any]
    classes: tuple[Name, ...]


@dataclass(frozen=True)
class Decisions:
    """What a reviewer says of labels: accept the suggestion, keep the label, choose another class, remove the label.

    The report's page exports them as ``decisions.csv``, with the columns

    - ``example`` and ``annotator``: whose label of what. An empty annotator stands for everybody who gave this label.
    - ``label``: the label that was decided about.
    - ``decision``: ``accept``, ``keep``, ``choose`` or ``remove``.
    - ``new_label``: the class that is right, for ``accept`` and ``choose``.

    Build them with :meth:`from_table` and use them with :meth:`truelabel.Annotations.apply`.

    Attributes:
        rows: in the order of the table.
        source: name of the table, for messages.

    Example:
        >>> decisions = Decisions.from_table(
        ...     {
        ...         "example": ["a.png", "b.png"],
        ...         "annotator": ["ann", None],
        ...         "label": ["cat", "dog"],
        ...         "decision": ["accept", "keep"],
        ...         "new_label": ["dog", None],
        ...     }
        ... )
        >>> [row.decision for row in decisions.rows]
        ['accept', 'keep']
    """

    rows: tuple[Row, ...]
    source: str = "the table"

    @classmethod
    def from_table(cls, source: Any) -> Decisions:
        """Read a CSV or Parquet file, a data frame or a dict of columns.

        Args:
            source: with the columns above; others are left alone. ``annotator`` may be absent where one source gave
                all labels, and ``new_label`` where nothing is accepted or chosen.

        Raises:
            TableError: if the table cannot be read or lacks a column.
            LabelError: if a row makes no sense; the message has its number, counted from 1 without the header.
        """
        table = Table(source)
        absent = next((name for name in ("example", "label", "decision") if name not in table.columns), None)
        if absent is not None:
            raise TableError(
                f"{table.name} has no column {absent!r}: decisions need {listing(COLUMNS)}, it has "
                f"{listing(table.columns)}"
            )
        columns = [table.text(name) if name in table.columns else None for name in COLUMNS]
        count = len(columns[0] or ())
        values = [column or [None] * count for column in columns]
        rows = tuple(_row(number, table.name, *cells) for number, cells in enumerate(zip(*values, strict=True), 1))
        return cls(rows, table.name)

    def revise(self, said: Labelled, how: How = "replace", reviewer: str = REVIEWER) -> Revised:
        """The labels after these decisions; :meth:`truelabel.Annotations.apply` explains them.

        Args:
            said: the labels that were decided about.
            how: "replace" or "add".
            reviewer: name of the annotator who says what is true.
        """
        if how not in get_args(How):
            raise ValueError(f"how must be 'replace' or 'add', got {how!r}")
        if any(str(name) == reviewer for name in said.annotators):
            raise LabelError(f"an annotator is called {reviewer!r} already: pass another name as reviewer=")
        row_of = self._last_words(said)
        classes = _positions(said.classes)
        label, keep = said.label.copy(), np.ones(len(said.label), bool)
        for position, number in row_of.items():
            row = self.rows[number]
            keep[position] = row.decision != "remove"
            if how == "replace" and row.decision in ("accept", "choose"):
                label[position] = classes[str(row.new_label)]
        example_of = {number: int(said.example[position]) for position, number in row_of.items()}
        truth = self._truth(said, example_of, classes)
        if not truth:
            return Revised(said.example[keep], said.annotator[keep], label[keep], *_named(said))
        annotators = [*said.annotators.tolist(), reviewer]
        if not all(isinstance(name, str) for name in annotators):
            annotators = [str(name) for name in annotators]  # a column of a table has one type
        return Revised(
            np.concatenate([said.example[keep], np.fromiter(truth, np.int32, len(truth))]),
            np.concatenate([said.annotator[keep], np.full(len(truth), len(said.annotators), np.int32)]),
            np.concatenate([label[keep], np.fromiter(truth.values(), label.dtype, len(truth))]),
            said.examples,
            name_array(annotators),
            said.classes,
        )

    def _last_words(self, said: Labelled) -> dict[int, int]:
        """The last row that speaks of each label, by the label's position."""
        examples, annotators, classes = (_positions(n) for n in (said.examples, said.annotators, said.classes))
        row_of: dict[int, int] = {}
        for number, row in enumerate(self.rows):
            example = self._code(examples, "example", row.example, number)
            label = self._code(classes, "label", row.label, number)
            if row.new_label is not None and row.decision in ("accept", "choose"):
                self._code(classes, "new_label", row.new_label, number)
            first, last = np.searchsorted(said.example, [example, example + 1])
            given, who = said.label[first:last], said.annotator[first:last]
            theirs = np.ones(len(who), bool)
            if row.annotator is not None:
                theirs = who == self._code(annotators, "annotator", row.annotator, number)
            mine = np.flatnonzero(theirs & (given == label))
            if not len(mine):
                whom = "anybody" if row.annotator is None else f"annotator {row.annotator!r}"
                was = listing(sorted({str(said.classes[code]) for code in given[theirs]})) or "not labelled"
                raise LabelError(
                    f"row {number + 1} of {self.source} is about label {row.label!r} of example {row.example!r} by "
                    f"{whom}, but there it is {was}: apply decisions to the labels that they were made for"
                )
            row_of |= dict.fromkeys((first + mine).tolist(), number)
        return row_of

    def _truth(self, said: Labelled, example_of: Mapping[int, int], classes: Mapping[str, int]) -> dict[int, int]:
        """What the reviewer says each reviewed example is, by position; ``example_of`` has it for rows that count."""
        truth, told = dict[int, int](), False
        for number, example in sorted(example_of.items()):
            row = self.rows[number]
            if row.decision == "remove":
                continue
            right = classes[str(row.label if row.decision == "keep" else row.new_label)]
            if truth.setdefault(example, right) != right and not told:
                told = True
                warnings.warn(
                    f"the decisions call example {row.example!r} both {said.classes[truth[example]]!s} and "
                    f"{said.classes[right]!s} (row {number + 1} of {self.source}); the last row of each example counts",
                    UserWarning,
                    stacklevel=4,
                )
            truth[example] = right
        return truth

    def _code(self, positions: Mapping[str, int], what: str, name: str, number: int) -> int:
        if name not in positions:
            one, way_out = {
                "example": ("examples", "are these decisions about other data?"),
                "annotator": ("annotators", "fix the row, or leave the cell empty for everybody"),
            }.get(what, ("classes", "fix the row, or pass classes= with this one when the labels are read"))
            raise LabelError(f"{what} {name!r} in row {number + 1} of {self.source} is not among the {one}: {way_out}")
        return positions[name]


def _row(number: int, source: str, *cells: str | None) -> Row:
    example, annotator, label, decision, new_label = cells
    for what, cell in (("example", example), ("label", label), ("decision", decision)):
        if cell is None:
            raise LabelError(f"row {number} of {source} has no {what}: fill it in")
    verdict = str(decision).strip().lower()
    if verdict not in VERDICTS:
        raise LabelError(f"decision {decision!r} in row {number} of {source} is unknown: use {listing(VERDICTS)}")
    if verdict in ("accept", "choose") and new_label is None:
        raise LabelError(f"row {number} of {source} has no new_label to {verdict}: fill it in, or decide otherwise")
    return Row(str(example), annotator, str(label), verdict, new_label)


def _positions(names: Any) -> dict[str, int]:
    """Positions by name as text; Arrow and JSON write truth values in lower case."""
    return {text: position for position, name in enumerate(names) for text in _spellings(name)}


def _spellings(name: Any) -> Iterator[str]:
    yield str(name)
    if isinstance(name, bool | np.bool_):
        yield str(name).lower()


def _named(said: Labelled) -> tuple[NDArray[Any], NDArray[Any], tuple[Name, ...]]:
    return said.examples, said.annotators, said.classes
