"""SVHN (Netzer 2011): digits cut from photographs of house numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truelabel.data.dataset import Dataset, Split, check_split
from truelabel.data.root import data_root, missing_data


def svhn(split: Split, root: str | os.PathLike[str] | None = None) -> Dataset:
    """Digits of house numbers, cropped to 32 x 32: 73,257 to train on, 26,032 to test on.

    The files call the digit 0 class 10; here it is class 0.

    Args:
        split: ``"train"`` or ``"test"``.
        root: the data root, which holds ``train_32x32.mat`` and ``test_32x32.mat``, itself or in ``svhn/``.

    Returns:
        Inputs ``(N, 3, 32, 32)`` uint8, classes 0 to 9.

    Raises:
        MissingDataError: if the file is not there.
        ValueError: if it is damaged.

    Example:
        >>> svhn("train", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: svhn is not in no-such-folder: expected svhn/train_32x32.mat; ...
    """
    check_split(split)
    folder = data_root(root)
    file = f"{split}_32x32.mat"
    path = next((path for path in (folder / "svhn" / file, folder / file) if path.is_file()), None)
    if path is None:
        raise missing_data("svhn", folder, [f"svhn/{file}"])
    stored = _load(path)
    images, labels = stored.get("X"), stored.get("y")
    if images is None or images.dtype != np.uint8 or images.ndim != 4 or images.shape[:3] != (32, 32, 3):
        raise ValueError(f"'X' in {path} is not (32, 32, 3, N) uint8: download it again")
    if labels is None or labels.dtype.kind not in "iu" or labels.size != images.shape[3]:
        raise ValueError(f"'y' in {path} is not one integer per image: download it again")
    digits = labels.reshape(-1).astype(np.int64)
    if digits.min() < 1 or digits.max() > 10:
        raise ValueError(f"'y' in {path} has labels outside 1..10: download it again")
    return Dataset(np.ascontiguousarray(images.transpose(3, 2, 0, 1)), digits % 10, tuple(range(10)), "svhn")


def _load(path: Path) -> dict[str, npt.NDArray[Any]]:
    from scipy.io import loadmat

    try:
        content: dict[str, npt.NDArray[Any]] = loadmat(path, variable_names=("X", "y"))
    except Exception as error:  # damage shows in as many ways as the format has parts
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is no MATLAB file that can be read ({reason}): download it again") from error
    return content
