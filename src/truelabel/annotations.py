"""What people said: a table of (example, annotator, label), and its dense and padded views."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from truelabel.coding import (
    Codes,
    LabelError,
    Name,
    class_names,
    dense_values,
    encode_array,
    encode_column,
    name_array,
)
from truelabel.decisions import REVIEWER, Decisions, How
from truelabel.frames import Table, TableError, guess_columns, is_category, listing, write_table
from truelabel.slots import Slots, SlotTable
from truelabel.types import MISSING
from truelabel.wide import read_wide

Duplicates = Literal["last", "first", "error"]


@dataclass(frozen=True, eq=False)
class Annotations:
    """Labels given by annotators to examples, as a coordinate table sorted by example, then annotator.

    Cost grows with the number of labels given, never with examples times annotators. Build one with
    :meth:`from_matrix`, :meth:`from_table`, :meth:`from_masks` or :meth:`from_labels`.

    Attributes:
        example: ``(L,)`` positions in ``examples``, ascending.
        annotator: ``(L,)`` positions in ``annotators``, ascending within an example.
        label: ``(L,)``, or ``(L, *space)`` for masks: positions in ``classes``; -1 is a pixel without a label.
        examples: ``(N,)`` names.
        annotators: ``(R,)`` names.
        classes: the K names, in the order of the class axis everywhere.

    Example:
        >>> annotations = Annotations.from_matrix([["cat", None], ["dog", "cat"]])
        >>> annotations
        Annotations(3 labels, 2 examples, 2 annotators, 2 classes: cat, dog)
        >>> annotations.matrix().tolist()
        [[0, -1], [1, 0]]
    """

    example: Codes
    annotator: Codes
    label: Codes
    examples: NDArray[Any]
    annotators: NDArray[Any]
    classes: tuple[Name, ...]

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        *,
        classes: Sequence[Name] | int | None = None,
        annotators: Sequence[Name] | None = None,
        examples: Sequence[Name] | None = None,
        missing: Name | None = MISSING,
    ) -> Annotations:
        """Read a dense matrix, one row an example and one column an annotator.

        Args:
            matrix: ``(N, R)`` integers, booleans, strings, or a data frame whose columns are annotators. NaN, None,
                NA and ``missing`` mean "no label".
            classes: all class names in order, or their number; sorted names found in the matrix by default.
            annotators: names of the columns; ``0..R-1`` or the data frame's own by default.
            examples: names of the rows; ``0..N-1`` by default.
            missing: the value that means "no label"; None if only NaN, None and NA do.

        Example:
            >>> Annotations.from_matrix([[1, -1], [0, 1], [1, float("nan")]]).counts.tolist()
            [1, 2, 1]
        """
        values, given, columns = dense_values(matrix, missing)
        if values.ndim != 2:
            raise LabelError(f"matrix must be (examples, annotators), got shape {values.shape}")
        example, annotator = np.nonzero(given)
        label, found = encode_array(values[given], "label", classes, rows=example)
        names = columns if annotators is None else annotators
        return cls._sorted(
            example,
            annotator,
            label,
            _names(examples, values.shape[0], "examples"),
            _names(names, values.shape[1], "annotators"),
            class_names(found),
        )

    @classmethod
    def from_labels(cls, labels: ArrayLike, *, classes: Sequence[Name] | int | None = None) -> Annotations:
        """One label per example, from one unnamed source. Every value, -1 included, is a class.

        Args:
            labels: ``(N,)``.
            classes: all class names in order, or their number; sorted names by default.

        Example:
            >>> Annotations.from_labels(["no", "yes", "no"]).classes
            ('no', 'yes')
        """
        values = np.asarray(labels)
        if values.ndim != 1:
            raise LabelError(f"labels must be one-dimensional, got shape {values.shape}: use from_matrix")
        label, found = encode_array(values, "label", classes)
        n = len(values)
        return cls._sorted(np.arange(n), np.zeros(n, np.int64), label, np.arange(n), np.arange(1), class_names(found))

    @classmethod
    def from_table(
        cls,
        source: Any,
        *,
        example: str | None = None,
        annotator: str | None = None,
        label: str | None = None,
        classes: Sequence[Name] | int | None = None,
        annotators: Sequence[Name] | None = None,
        examples: Sequence[Name] | None = None,
        duplicates: Duplicates = "last",
        wide: bool = False,
    ) -> Annotations:
        """Read a long table, one row a label; or a wide one, one column an annotator.

        Args:
            source: path to CSV or Parquet, a data frame (pandas, polars, pyarrow, …), or a dict of columns.
            example: its column of examples; guessed from the common names (task, item, image, …) by default.
            annotator: its column of annotators; guessed (worker, rater, reader, …) by default. A table without one
                holds one label an example, from one source.
            label: its column of labels; guessed (label, answer, class, …) by default. Rows where it is empty, NA or
                NaN name an example and an annotator but give no label.
            classes: all class names in order, or their number; by default the order of a category, else sorted.
            annotators: all annotators in order; sorted names by default.
            examples: all examples in order, for instance the rows of a feature table; sorted names by default.
            duplicates: if an annotator labelled an example twice: keep the "last" row (with a warning) or the "first",
                or treat it as an "error".
            wide: one row an example and one column an annotator instead: the columns that ``annotators`` names, or all
                but the examples'. Empty cells, NA, NaN and -1 mean "no label". Rows are numbered if no column looks
                like the example.

        Example:
            >>> rows = {"worker": ["ann", "bob", "ann"], "task": [7, 7, 9], "label": ["b", "a", "b"]}
            >>> annotations = Annotations.from_table(rows)
            >>> annotations.examples.tolist(), annotations.annotators.tolist(), annotations.classes
            ([7, 9], ['ann', 'bob'], ('a', 'b'))
            >>> Annotations.from_table({"image": ["x", "y"], "ann": [0, 1], "bob": [1, None]}, wide=True)
            Annotations(3 labels, 2 examples, 2 annotators, 2 classes: 0, 1)
        """
        table = Table(source)
        if wide:
            if annotator is not None or label is not None:
                raise LabelError("a wide table has no column of annotators or labels: leave annotator= and label= out")
            told = read_wide(
                table, example, None if annotators is None else list(map(str, annotators)), classes, examples
            )
            return cls._sorted(
                told.example, told.annotator, told.label, told.examples, told.annotators, class_names(told.classes)
            )
        columns = guess_columns(table, {"example": example, "annotator": annotator, "label": label})

        def codes(what: str, names: Sequence[Name] | int | None) -> tuple[Codes, NDArray[Any]]:
            name = columns[what]
            keep = what == "label" and is_category(table, name)
            coded = encode_column(table.names(name), what, names, keep_order=keep, source=table.name)
            table.release()
            return coded

        example_codes, example_names = codes("example", examples)
        if not len(example_codes):
            raise TableError(f"{table.name} has no rows")
        if "annotator" in columns:
            annotator_codes, annotator_names = codes("annotator", annotators)
        else:
            annotator_codes, annotator_names = _one_source(example_codes, example_names, table)
        label_codes, class_array = codes("label", classes)
        for what, values in (("example", example_codes), ("annotator", annotator_codes)):
            if len(values) and values.min() < 0:
                row = int((values < 0).argmax())
                raise LabelError(f"row {row + 1} of {table.name} has no {what} in column {columns[what]!r}: fill it in")
        if label_codes.min() < 0:
            given = label_codes >= 0
            label_codes, example_codes, annotator_codes = (
                v[given] for v in (label_codes, example_codes, annotator_codes)
            )
        return cls._sorted(
            example_codes,
            annotator_codes,
            label_codes,
            example_names,
            annotator_names,
            class_names(class_array),
            duplicates,
        )

    @classmethod
    def from_masks(
        cls,
        masks: ArrayLike,
        *,
        classes: Sequence[Name] | int | None = None,
        annotators: Sequence[Name] | None = None,
        examples: Sequence[Name] | None = None,
    ) -> Annotations:
        """Read segmentation masks, several readers an image.

        Args:
            masks: ``(N, R, *space)`` integers or booleans; -1 or NaN is a pixel without a label, and a mask of nothing
                else was not given.
            classes: names of the values 0, 1, 2, … in order, or their number; the values found, sorted, by default.
            annotators: names of the readers; ``0..R-1`` by default.
            examples: names of the images; ``0..N-1`` by default.

        Example:
            >>> import numpy as np
            >>> masks = np.array([[[[0, 1]], [[-1, -1]]]])
            >>> Annotations.from_masks(masks, classes=2).label.shape
            (1, 1, 2)
        """
        values = np.asarray(masks)
        if values.ndim < 3:
            raise LabelError(f"masks must be (images, readers, *space), got shape {values.shape}")
        if values.dtype.kind not in "iubf":
            raise LabelError(f"masks must hold integers, got {values.dtype}")
        pixels = ~np.isnan(values) & (values != MISSING) if values.dtype.kind == "f" else values != MISSING
        if values.dtype.kind == "b":
            pixels = np.ones(values.shape, bool)
        # Pixels hold numbers; names given as text stand for 0, 1, 2, … in that order.
        named = classes is not None and not isinstance(classes, int) and all(isinstance(c, str) for c in classes)
        known = len(classes) if named and not isinstance(classes, int | None) else classes
        codes, found = encode_array(values[pixels], "label", known, rows=np.nonzero(pixels)[0])
        found = name_array(classes) if named and not isinstance(classes, int | None) else found
        label = np.full(values.shape, MISSING, label_type(len(found)))
        label[pixels] = codes
        example, annotator = np.nonzero(pixels.reshape(*values.shape[:2], -1).any(-1))
        return cls._sorted(
            example,
            annotator,
            label[example, annotator],
            _names(examples, values.shape[0], "examples"),
            _names(annotators, values.shape[1], "annotators"),
            class_names(found),
        )

    @classmethod
    def _sorted(
        cls,
        example: Codes,
        annotator: Codes,
        label: Codes,
        examples: NDArray[Any],
        annotators: NDArray[Any],
        classes: tuple[Name, ...],
        duplicates: Duplicates = "error",
    ) -> Annotations:
        key = example.astype(np.int64) * len(annotators) + annotator
        if len(key) > 1 and not bool(np.all(key[1:] > key[:-1])):
            order, key = _stable_order(key)
            keep = _without_duplicates(key, duplicates, examples, annotators)
            order = order if keep is None else order[keep]
            del key
            example, annotator, label = example[order], annotator[order], label[order]
        _warn_of_twins(classes)
        return cls(
            example.astype(np.int32, copy=False),
            annotator.astype(np.int32, copy=False),
            label.astype(label_type(len(classes)), copy=False),
            examples,
            annotators,
            classes,
        )

    @property
    def size(self) -> int:
        """Labels given: L."""
        return len(self.label)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Labels that each example received: ``(N,)``."""
        return np.bincount(self.example, minlength=len(self.examples))

    @property
    def workload(self) -> NDArray[np.int64]:
        """Labels that each annotator gave: ``(R,)``."""
        return np.bincount(self.annotator, minlength=len(self.annotators))

    @property
    def space(self) -> tuple[int, ...]:
        """Shape of one label: ``()`` in classification, the shape of the image for masks."""
        return self.label.shape[1:]

    def matrix(self) -> NDArray[np.int64]:
        """Dense view ``(N, R, *space)`` of class positions, -1 where no label was given."""
        dense = np.full((len(self.examples), len(self.annotators), *self.space), MISSING, np.int64)
        dense[self.example, self.annotator] = self.label
        return dense

    def units(self) -> NDArray[np.bool_]:
        """Which units somebody labelled: ``(N, *space)``.

        Example:
            >>> Annotations.from_masks([[[0, -1, 1], [1, -1, -1]]]).units()
            array([[ True, False,  True]])
        """
        labelled = np.zeros((len(self.examples), *self.space), bool)
        if self.size:
            example, first = np.unique(self.example, return_index=True)
            labelled[example] = np.logical_or.reduceat(self.label >= 0, first)
        return labelled

    def to_table(self, path: str | Path | None = None) -> Any:
        """The long table back, as a ``pyarrow.Table`` of names with columns example, annotator, label.

        Args:
            path: also write it there, as CSV or Parquet by the ending.
        """
        import pyarrow as pa

        if self.space:
            raise LabelError("masks do not fit a table: use matrix()")
        table = pa.table(
            {
                "example": pa.array(self.examples[self.example]),
                "annotator": pa.array(self.annotators[self.annotator]),
                "label": pa.array(name_array(self.classes)[self.label]),
            }
        )
        if path is not None:
            write_table(table, Path(path))
        return table

    def vote_counts(self) -> NDArray[np.int64]:
        """How often each example was given each class: ``(N, K)``."""
        if self.space:
            raise LabelError("votes are counted for labels of whole examples, not for masks")
        n, k = len(self.examples), len(self.classes)
        return np.bincount(self.example.astype(np.int64) * k + self.label, minlength=n * k).reshape(n, k)

    def take(self, index: ArrayLike) -> Annotations:
        """The examples at ``index (n,)``, in that order, with all annotators and classes kept."""
        index = np.asarray(index, dtype=np.int64)
        if np.any(np.bincount(index, minlength=1) > 1):
            raise LabelError("index names an example twice")
        position = np.full(len(self.examples), MISSING, np.int64)
        position[index] = np.arange(len(index))
        example = position[self.example]
        keep = example >= 0
        return Annotations._sorted(
            example[keep],
            self.annotator[keep],
            self.label[keep],
            self.examples[index],
            self.annotators,
            self.classes,
        )

    def apply(self, decisions: Any, *, how: How = "replace", reviewer: str = REVIEWER) -> Annotations:
        """The labels after a review: what was decided about them, and a further annotator who says what is true.

        - ``accept`` and ``choose`` put ``new_label`` in the place of the label; ``keep`` leaves it; ``remove`` deletes
          it. In every case but the last, the reviewer labels the example with the class that was found right.
        - A label that is decided twice follows the last row, and so does an example.

        With ``how="add"`` labels that were found wrong stay as they are, beside the reviewer's. That is right for
        methods with a matrix for each annotator (annotator-confusion, dawid-skene, …) if one wants to know the
        annotators: a mistake tells what its annotator makes of the true class, and a corrected one would make them
        look better than they are, all the more since reviewers look at what is most suspect. ``"replace"`` is right
        for methods that take each label at its word (cross-entropy, …), which would go on learning the mistake.

        Args:
            decisions: :class:`truelabel.decisions.Decisions`, or what they can be read from: a CSV or Parquet file, a
                data frame, a dict of columns ``example, annotator, label, decision, new_label``.
            how: "replace" or "add".
            reviewer: name of the new annotator, who comes last. Where annotators are numbers, their names become text.

        Example:
            >>> annotations = Annotations.from_matrix([["cat", "dog"], ["dog", "cat"]], annotators=["ann", "eve"])
            >>> decided = {"example": [0], "label": ["cat"], "decision": ["accept"], "new_label": ["dog"]}
            >>> annotations.apply(decided).matrix().tolist()
            [[1, 1, 1], [1, 0, -1]]
            >>> annotations.apply(decided, how="add").matrix().tolist()
            [[0, 1, 1], [1, 0, -1]]
        """
        if self.space:
            raise LabelError("decisions are about labels of whole examples, but these are masks: mend the masks")
        read = decisions if isinstance(decisions, Decisions) else Decisions.from_table(decisions)
        return Annotations._sorted(*read.revise(self, how, reviewer))

    def without_silent_annotators(self) -> Annotations:
        """The same labels, without the annotators who gave none."""
        active = np.flatnonzero(self.workload)
        position = np.full(len(self.annotators), MISSING, np.int32)
        position[active] = np.arange(len(active), dtype=np.int32)
        return replace(self, annotator=position[self.annotator], annotators=self.annotators[active])

    def labelled(self) -> Annotations:
        """The examples that have labels, and the annotators who gave them."""
        return self.take(np.flatnonzero(self.counts)).without_silent_annotators()

    def check_trainable(self) -> None:
        """Raise a one-line :class:`LabelError` if no classifier can be learned from these labels."""
        if not self.size:
            raise LabelError("there are no labels: every entry is missing")
        silent = np.flatnonzero(self.counts == 0)
        if len(silent):
            raise LabelError(
                f"example {_show(self.examples, silent)} without labels: "
                "label them, or leave them out (Annotations.labelled(), --drop-unlabelled)"
            )
        idle = np.flatnonzero(self.workload == 0)
        if len(idle):
            raise LabelError(
                f"annotator {_show(self.annotators, idle)} without labels: "
                "leave them out (Annotations.without_silent_annotators(), --drop-unlabelled)"
            )
        present = np.unique(self.label[self.label >= 0])
        if len(present) < 2:
            only = self.classes[int(present[0])]
            raise LabelError(f"all labels are of one class, {only!r}: a classifier needs at least two")

    def slot_table(self, device: torch.device | str = "cpu") -> SlotTable:
        """The labels on a device, to be looked up batch by batch."""
        return SlotTable(self.example, self.annotator, self.label, len(self.examples), device)

    def slots(self, index: Tensor) -> Slots:
        """Padded labels of the examples at ``index (n,)``; keep a :meth:`slot_table` to look up many batches."""
        return self.slot_table(index.device).at(index)

    def __repr__(self) -> str:
        names = ", ".join(str(c) for c in self.classes[:6]) + (", …" if len(self.classes) > 6 else "")
        space = f" of {'x'.join(map(str, self.space))}" if self.space else ""
        return (
            f"Annotations({self.size} labels{space}, {len(self.examples)} examples, "
            f"{len(self.annotators)} annotators, {len(self.classes)} classes: {names})"
        )


def _warn_of_twins(classes: tuple[Name, ...]) -> None:
    """Tell of classes that are probably one, spelt in two ways."""
    seen: dict[str, Name] = {}
    for name in classes:
        twin = seen.setdefault(str(name).strip().casefold(), name)
        if twin is not name:
            warnings.warn(
                f"the classes {twin!r} and {name!r} differ only in case or blanks: mend the labels if they are one",
                UserWarning,
                stacklevel=4,
            )


def _one_source(example: Codes, names: NDArray[Any], table: Table) -> tuple[Codes, NDArray[Any]]:
    """Everybody is the same annotator, as long as nobody speaks twice of the same example."""
    again = np.flatnonzero(np.bincount(example[example >= 0]) > 1)
    if len(again):
        raise TableError(
            f"{table.name} labels example {names[again[0]]!s} more than once, but no column looks like the annotator: "
            f"pass annotator= one of {listing(table.columns)}"
        )
    return np.zeros(len(example), np.int32), np.arange(1)


def _stable_order(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order that sorts ``key``, ties by position, and the sorted key."""
    bits = len(key).bit_length()
    if int(key.max()).bit_length() + bits > 62:
        order = np.argsort(key, kind="stable")
        return order, key[order]
    # Key and position in one integer: numpy sorts these in place, three times faster than it finds a stable order.
    packed = (key << bits) | np.arange(len(key))
    packed.sort()
    return packed & ((1 << bits) - 1), packed >> bits


def _without_duplicates(
    key: NDArray[np.int64], rule: Duplicates, examples: NDArray[Any], annotators: NDArray[Any]
) -> NDArray[np.bool_] | None:
    again = key[1:] == key[:-1]
    if not again.any():
        return None
    where = int(key[int(again.argmax())])
    pair = f"annotator {annotators[where % len(annotators)]!s} labelled example {examples[where // len(annotators)]!s}"
    if rule == "error":
        raise LabelError(f"{pair} more than once: pass duplicates='last' or 'first', or remove the rows")
    warnings.warn(
        f"{int(again.sum())} labels repeat an example and annotator (first: {pair}); the {rule} of each is kept",
        UserWarning,
        stacklevel=4,
    )
    end = np.array([True])
    return np.concatenate([end, ~again]) if rule == "first" else np.concatenate([~again, end])


def _names(names: Sequence[Name] | None, count: int, what: str) -> NDArray[Any]:
    if names is None:
        return np.arange(count)
    if len(names) != count:
        raise LabelError(f"{what} names {len(names)}, but there are {count}")
    if len(set(names)) != count:
        raise LabelError(f"{what} repeats a name")
    return name_array(names)


def _show(names: NDArray[Any], which: NDArray[np.int64]) -> str:
    rest = f" and {len(which) - 1} more are" if len(which) > 1 else " is"
    return f"{names[which[0]]!s} (row {which[0] + 1}){rest}"


def label_type(classes: int) -> type[np.signedinteger[Any]]:
    """The smallest integer type that holds this many classes and -1."""
    return np.int16 if classes <= np.iinfo(np.int16).max else np.int32


def require_annotations(value: object) -> None:
    """Raise a one-line :class:`LabelError` if somebody passes a matrix or a table as it is."""
    if not isinstance(value, Annotations):
        raise LabelError(
            f"annotations must be Annotations, got {type(value).__name__}: use Annotations.from_matrix or from_table"
        )
