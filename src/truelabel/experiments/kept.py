"""What takes long to work out and many runs need, kept in a folder."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truelabel.atomic import write_atomically
from truelabel.experiments.records import alone


def kept(
    folder: Path | None, of: tuple[npt.NDArray[Any], ...], compute: Callable[[], npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """An array, from the folder if it is there; processes that want it at once work it out once.

    Args:
        folder: None keeps nothing.
        of: what it depends on, besides what the code does.
        compute: works it out.

    Example:
        >>> kept(None, (), lambda: np.zeros(3)).shape
        (3,)
    """
    if folder is None:
        return compute()
    key = hashlib.sha256()
    for array in of:
        key.update(f"{array.dtype} {array.shape}".encode())
        key.update(np.ascontiguousarray(array).data)
    path = folder / f"{key.hexdigest()[:16]}.npy"
    with alone(path.with_suffix(".lock")):
        if not path.exists():
            values, file = compute(), io.BytesIO()
            np.save(file, values, allow_pickle=False)
            write_atomically(path, file.getvalue())
            return values
    read: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    return read
