"""MNIST as a task of segmentation (Zhang 2020): which pixels belong to the digit."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from truelabel.data.dataset import Dataset, Split
from truelabel.data.idx import mnist
from truelabel.data.seeds import generator_of

if TYPE_CHECKING:
    import torch


def mnist_segmentation(
    split: Split,
    root: str | os.PathLike[str] | None = None,
    *,
    noise: float = 0.0,
    seed: int | torch.Generator = 0,
) -> Dataset:
    r"""The digits of MNIST, and as labels their pixels: a mask is 1 where the digit is brighter than one half.

    Without noise this is trivial, since the mask is the threshold of the image itself. With noise the image
    is :math:`x + \sigma \epsilon` with :math:`\epsilon \sim N(0, 1)`, cut to [0, 1]; masks stay those of :math:`x`.

    Args:
        split: ``"train"`` or ``"test"``.
        root: the data root, as in :func:`truelabel.data.mnist`.
        noise: the standard deviation :math:`\sigma`; 0.3 is usual.
        seed: a number, or a CPU generator that every draw comes from.

    Returns:
        Inputs ``(N, 1, 28, 28)``, uint8 as stored, or float32 with noise; labels ``(N, 28, 28)`` int16; classes
        ``background`` and ``digit``.

    Raises:
        MissingDataError: if the files are not there.

    Example:
        >>> mnist_segmentation("train", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: mnist is not in no-such-folder: expected ...
    """
    if not 0 <= noise < math.inf:
        raise ValueError(f"noise {noise} is not a standard deviation: pass a number that is 0 or larger")
    digits = mnist(split, root)
    masks = (digits.inputs[:, 0] > 127).astype(np.int16)
    inputs = digits.inputs
    if noise:
        import torch

        noisy = torch.randn(inputs.shape, generator=generator_of(seed)).mul_(noise)
        inputs = noisy.add_(torch.from_numpy(digits.scaled())).clamp_(0, 1).numpy()
    return Dataset(inputs, masks, ("background", "digit"), "mnist_segmentation")
