"""How labels are read from what a user names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truelabel import Annotations

ARRAYS = (".npy", ".npz")
"""Endings of files that hold arrays, not tables."""

WIDE_HELP = "Label table: one row an example and one column an annotator."
ANNOTATORS_HELP = "Wide label table: the columns of annotators, like ann,bob; with --wide all but the examples'."


@dataclass(frozen=True)
class LabelColumns:
    """How labels are read from a long or a wide table.

    Attributes:
        example: column; guessed if None. The same for ``annotator`` and ``label``.
        annotator: column.
        label: column.
        classes: all classes in order; those found, sorted, if None.
        wide: one column an annotator.
        annotators: those columns; all but the examples' if None.
    """

    example: str | None = None
    annotator: str | None = None
    label: str | None = None
    classes: list[str] | None = None
    wide: bool = False
    annotators: list[str] | None = None

    @classmethod
    def parse(
        cls,
        example: str | None,
        annotator: str | None,
        label: str | None,
        classes: str | None,
        wide: bool = False,
        annotators: str | None = None,
    ) -> LabelColumns:
        """From the options of the command line; to name the columns of annotators says that the table is wide."""
        columns = parse_list(annotators)
        return cls(example, annotator, label, parse_list(classes), wide or columns is not None, columns)

    def named(self, source: Path) -> dict[str, str]:
        """The column for each of example, annotator and label; the columns of a wide table, without its annotators."""
        from truelabel.frames import Table, guess_columns
        from truelabel.wide import wide_columns

        if not self.wide:
            given = {"example": self.example, "annotator": self.annotator, "label": self.label}
            return guess_columns(Table(source), given)
        example, _ = wide_columns(Table(source), self.example, self.annotators)
        return {} if example is None else {"example": example}

    def beside_inputs(self, source: Path, text: str | None) -> LabelColumns:
        """Which columns are labels in a table that holds the inputs too, texts in the column ``text`` or features."""
        from truelabel.frames import Table, looks_like

        table = Table(source)
        if self.wide and self.annotators is None:
            if text is None:
                raise ValueError(
                    f"name the columns of the annotators with --annotators: the others of {source} are inputs"
                )
            named = self.example or looks_like(table, "example")
            return replace(self, annotators=[name for name in table.columns if name not in (named, text)])
        taken = {name for name in (self.annotator, self.label) if name is not None}
        if text is None or self.example is not None or self.wide or looks_like(table, "example", taken) is not None:
            return self
        return replace(self, example=text)

    def annotations(self, source: Path, examples: list[Any] | None = None) -> Annotations:
        """Read a long table, or a matrix from an array file.

        Args:
            source: what the user named.
            examples: all examples in order.
        """
        from truelabel import Annotations
        from truelabel.data import load_array

        if source.suffix.lower() not in ARRAYS:
            return Annotations.from_table(
                source,
                example=self.example,
                annotator=self.annotator,
                label=self.label,
                classes=self.classes,
                examples=examples,
                annotators=self.annotators,
                wide=self.wide,
            )
        matrix = load_array(source)
        if matrix.ndim > 2:
            raise ValueError(
                f"{source} holds masks, of shape {matrix.shape}: this command is for one label an example, "
                "(examples,) or (examples, annotators); masks go into a folder with their images, without LABELS"
            )
        if matrix.ndim == 1:
            return Annotations.from_labels(matrix, classes=self.classes)
        return Annotations.from_matrix(matrix, classes=self.classes)


def same_file(data: Path, labels: Path) -> bool:
    """Whether inputs and labels are named by one file."""
    return labels.is_file() and data.resolve() == labels.resolve()


def parse_list(text: str | None) -> list[str] | None:
    """``a,b,c``, spaces trimmed."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
