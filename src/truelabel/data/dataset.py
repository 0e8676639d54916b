"""One data set: inputs, the class of each or of its pixels, and what the classes are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Split = Literal["train", "test"]
"""The two parts that the published data sets come in."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs with one class each, or one for every pixel. Nothing is scaled or reordered: it is what the source stores.

    Args:
        inputs: ``(N, F)`` float32 features, or pictures ``(N, C, H, W)`` or volumes ``(N, C, D, H, W)``, uint8 as
            stored or float32.
        labels: ``(N,)`` int64 positions in ``classes``; or masks ``(N, *space)`` int16, where -1 is no label.
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
    labels: npt.NDArray[np.int64] | npt.NDArray[np.int16]
    classes: tuple[str | int, ...]
    name: str

    def __post_init__(self) -> None:
        if self.inputs.dtype not in (np.uint8, np.float32) or self.inputs.ndim not in (2, 4, 5):
            raise ValueError(
                f"inputs of {self.name} are {self.inputs.dtype} of shape {self.inputs.shape}: "
                "pass (N, F) float32, or (N, C, H, W) or (N, C, D, H, W) uint8 or float32"
            )
        space = self.labels.shape[1:]
        if self.labels.dtype != (np.int16 if space else np.int64) or (space and space != self.inputs.shape[2:]):
            raise ValueError(
                f"labels of {self.name} are {self.labels.dtype} of shape {self.labels.shape}: "
                "pass (N,) int64, or masks (N, *space) int16 of the size of the inputs"
            )
        if len(self.inputs) != len(self.labels):
            raise ValueError(f"{self.name} has {len(self.inputs)} inputs but {len(self.labels)} labels: pass one each")
        if len(set(self.classes)) != len(self.classes):
            raise ValueError(f"classes {self.classes} of {self.name} repeat a name: give each class its own")
        lowest = -1 if space else 0
        low, high = (int(self.labels.min()), int(self.labels.max())) if self.labels.size else (0, 0)
        if low < lowest or high >= len(self.classes):
            wrong = low if low < lowest else high
            row = int(np.argwhere(self.labels == wrong)[0, 0])
            raise ValueError(
                f"label {wrong} in row {row + 1} of {self.name} is outside "
                f"0..{len(self.classes) - 1}: pass more classes or fix the row"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def scaled(self) -> npt.NDArray[np.float32]:
        """The inputs as float32: uint8 is divided by 255, so it lies in [0, 1]; features stay as they are.

        Returns:
            The shape of ``inputs``.

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
