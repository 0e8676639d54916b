"""From what users pass as X and y to arrays and annotations."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from truelabel.annotations import Annotations
from truelabel.coding import Name, is_missing
from truelabel.frames import Table, TableError, guess_columns

COLUMN_VECTOR = (
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
    "for example using ravel()."
)


def check_inputs(estimator: Any, X: Any, *, reset: bool) -> NDArray[Any]:
    """Features ``(N, F)`` as float64, or images ``(N, C, H, W)`` as bytes or float32; finite, and as in fit."""
    images = getattr(X, "ndim", 2) > 2
    checked = _images(X) if images else _table(estimator, X, reset)
    if reset:
        estimator.input_shape_ = checked.shape[1:]
        for name in ("n_features_in_", "feature_names_in_"):
            if images and hasattr(estimator, name):
                delattr(estimator, name)
    elif estimator.input_shape_ != checked.shape[1:]:
        kind = "images" if images else "examples"
        raise ValueError(f"X has {kind} of shape {checked.shape[1:]}, but fit saw {estimator.input_shape_}")
    return checked


def _table(estimator: Any, X: Any, reset: bool) -> NDArray[Any]:
    try:
        checked: NDArray[Any] = validate_data(estimator, X, reset=reset, dtype=np.float64)
    except ValueError as error:
        # scikit-learn explains at length what else there is; one line says what is wrong and what to do.
        if str(error).startswith("Input X contains"):
            raise ValueError(f"{str(error).splitlines()[0].rstrip('.')}: remove or fill it") from error
        raise
    return checked


def _images(X: Any) -> NDArray[Any]:
    values = np.asarray(X)
    # Torch takes neither mirrored nor read-only arrays as they are.
    values = np.require(values, requirements=["C", "W"]) if values.dtype == np.uint8 else values.astype(np.float32)
    if not len(values):
        raise ValueError("X has no examples")
    if values.dtype != np.uint8 and not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).reshape(len(values), -1).any(-1).argmax())
        raise ValueError(f"X contains NaN or infinity, first in example {bad}: remove or fill it")
    return values


def read_labels(y: Any, examples: int, who: str, classes: Sequence[Name] | None = None) -> Annotations:
    """Annotations from ``(N,)`` labels, an ``(N, R)`` matrix, or as they are."""
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None")
    if isinstance(y, Annotations):
        annotations = y
        if y.space:
            raise ValueError(f"{who} learns one class an example, but y holds masks of shape {y.space}")
        if classes is not None and list(y.classes) != list(classes):
            raise ValueError(f"y has the classes {list(y.classes)}, but fit saw {list(classes)}")
    else:
        annotations = _from_array(y, classes)
    if len(annotations.examples) != examples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {examples}, y has "
            f"{len(annotations.examples)}; name all rows of X with examples= if some have no label"
        )
    return annotations


def _from_array(y: Any, classes: Sequence[Name] | None) -> Annotations:
    if hasattr(y, "columns"):
        table = Table(y)
        if len(table.columns) > 1:
            _refuse_long_table(table)
            return Annotations.from_matrix(y, classes=classes)
        values = np.array(table.column(table.columns[0]).to_pylist())[:, None]
    else:
        # A list may mix text with None or NaN, which numpy would turn into text.
        values = np.array(y, object) if isinstance(y, list | tuple) else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(COLUMN_VECTOR, DataConversionWarning, stacklevel=4)
        values = values.ravel()
    if values.ndim == 2:
        return Annotations.from_matrix(values, classes=classes)
    if values.ndim != 1:
        raise ValueError(f"y must be (N,), (N, R) or Annotations, got shape {values.shape}")
    if values.dtype.kind == "O":
        if any(is_missing(value, None) for value in values):
            raise ValueError("Input y contains NaN or None: every example needs a label; use (N, R) for missing ones")
        values = np.asarray(values.tolist())
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity: every example needs a label; use (N, R) for missing ones")
    check_classification_targets(values)
    return Annotations.from_labels(values, classes=classes)


def _refuse_long_table(table: Table) -> None:
    """One row a label is not one row an example, even if there are as many."""
    try:
        columns = guess_columns(table, {"example": None, "annotator": None, "label": None})
    except TableError:
        return
    if len(columns) == 3:
        raise ValueError(
            f"y looks like a table with one row a label ({', '.join(columns.values())}): "
            "pass Annotations.from_table(y, examples=...), with the names of the rows of X"
        )


@dataclass(frozen=True)
class Scaling:
    """Mean and scale of every feature of a table; images and unscaled tables pass through.

    Attributes:
        mean: ``(F,)``, or empty for none.
        scale: ``(F,)``, never zero.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, inputs: NDArray[Any], wanted: bool) -> Scaling:
        """Learn it from training inputs; a feature that never changes keeps its scale."""
        if not wanted or inputs.ndim != 2:
            return cls(np.empty(0), np.empty(0))
        constant = inputs.max(0) == inputs.min(0)
        return cls(inputs.mean(0), np.where(constant, 1.0, inputs.std(0)))

    def __call__(self, inputs: NDArray[Any]) -> NDArray[Any]:
        """Inputs as the network takes them."""
        if inputs.dtype == np.uint8:
            return inputs
        scaled = (inputs - self.mean) / self.scale if len(self.mean) else inputs
        return scaled.astype(np.float32)
