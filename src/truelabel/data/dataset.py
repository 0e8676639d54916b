"""One data set: inputs, the class of each, and what the classes are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Split = Literal["train", "test"]
"""The two parts that the published data sets come in."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs with one class each. Nothing is scaled or reordered: it is what the source stores.

    Args:
        inputs: ``(N, F)`` float32 features, or ``(N, C, H, W)`` uint8 pictures as stored.
        labels: ``(N,)`` int64 positions in ``classes``.
        classes: ``(K,)``, the name or number of each class.
        name: what to call the data set in messages and reports.

    Raises:
        ValueError: if the arrays do not fit together.

    Example:
        >>> import numpy as np
        >>> inputs = np.array([[0.0, 1.0], [2.0, 3.0]], np.float32)
        >>> data = Dataset(inputs, np.array([1, 0]), classes=("cat", "dog"), name="pets")
        >>> len(data), data.classes[data.labels[0]]
        (2, 'dog')
    """

    inputs: npt.NDArray[Any]
    labels: npt.NDArray[np.int64]
    classes: tuple[str | int, ...]
    name: str

    def __post_init__(self) -> None:
        if self.inputs.dtype not in (np.uint8, np.float32) or self.inputs.ndim not in (2, 4):
            raise ValueError(
                f"inputs of {self.name} are {self.inputs.dtype} of shape {self.inputs.shape}: "
                "pass (N, F) float32 or (N, C, H, W) uint8"
            )
        if self.labels.dtype != np.int64 or self.labels.ndim != 1:
            raise ValueError(
                f"labels of {self.name} are {self.labels.dtype} of shape {self.labels.shape}: pass (N,) int64"
            )
        if len(self.inputs) != len(self.labels):
            raise ValueError(f"{self.name} has {len(self.inputs)} inputs but {len(self.labels)} labels: pass one each")
        if len(set(self.classes)) != len(self.classes):
            raise ValueError(f"classes {self.classes} of {self.name} repeat a name: give each class its own")
        outside = np.flatnonzero((self.labels < 0) | (self.labels >= len(self.classes)))
        if outside.size:
            row = int(outside[0])
            raise ValueError(
                f"label {self.labels[row]} in row {row + 1} of {self.name} is outside "
                f"0..{len(self.classes) - 1}: pass more classes or fix the row"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def scaled(self) -> npt.NDArray[np.float32]:
        """The inputs as float32: uint8 is divided by 255, so it lies in [0, 1]; features stay as they are.

        Returns:
            ``(N, F)`` or ``(N, C, H, W)``.

        Example:
            >>> import numpy as np
            >>> data = Dataset(np.array([[0, 51, 255]], np.uint8), np.array([0]), classes=("a",), name="one")
            >>> data.scaled()
            array([[0. , 0.2, 1. ]], dtype=float32)
        """
        scaled: npt.NDArray[np.float32] = self.inputs.astype(np.float32, copy=False)
        if self.inputs.dtype == np.uint8:
            scaled /= 255  # in place, for it may be most of what fits in memory
        return scaled

    def take(self, index: npt.ArrayLike | slice) -> Dataset:
        """The examples at ``index``, in that order.

        Args:
            index: ``(n,)`` positions, a slice or a boolean mask ``(N,)``.

        Example:
            >>> import numpy as np
            >>> inputs = np.eye(3, dtype=np.float32)
            >>> data = Dataset(inputs, np.array([0, 1, 0]), classes=("a", "b"), name="three")
            >>> data.take([2, 1]).labels
            array([0, 1])
        """
        empty = not isinstance(index, slice) and np.size(index) == 0  # numpy would take [] for floats
        rows = index if isinstance(index, slice) else np.asarray(index, np.int64 if empty else None)
        return Dataset(self.inputs[rows], self.labels[rows], self.classes, self.name)


def check_split(split: str) -> None:
    """Refuse a split that the published data sets do not have.

    Raises:
        ValueError: if ``split`` is neither ``"train"`` nor ``"test"``.

    Example:
        >>> check_split("train")
    """
    if split not in ("train", "test"):
        raise ValueError(f"split {split!r} is unknown: pass 'train' or 'test'")
