"""How often readers said what where what is true, over the pixels of many images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations
from truelabel.fusion.kernels import Array


def mask_counts(annotations: Annotations, posterior: NDArray[np.floating[Any]]) -> Array:
    r"""Expected counts of what each reader said of each class, summed over pixels: soft, not normalised.

    .. math:: C^{(r)}[k, j] = \sum_{n, i} q_{nik}\, 1[\tilde y^{(r)}_{ni} = j]

    Args:
        annotations: masks of N images by R readers.
        posterior: ``(N, *space, K)``, q.

    Returns:
        ``(R, K, K)``, ``[reader, true, observed]``; its sum is the number of pixels labelled.

    Example:
        >>> masks = Annotations.from_masks(np.array([[[0, 1], [1, 1]]]), classes=2)
        >>> mask_counts(masks, np.array([[[1.0, 0.0], [0.5, 0.5]]]))[0]
        array([[1. , 0.5],
               [0. , 0.5]])
    """
    k = len(annotations.classes)
    shape = (len(annotations.examples), *annotations.space, k)
    if posterior.shape != shape:
        raise ValueError(f"posterior must be {shape}, got {posterior.shape}")
    counts = np.zeros((len(annotations.annotators), k, k))
    for example, reader, mask in zip(annotations.example, annotations.annotator, annotations.label, strict=True):
        # Single precision would lose what a pixel adds to the sum of a large image.
        said, probs = mask.ravel(), posterior[example].reshape(-1, k).astype(np.float64, copy=False)
        for observed in range(k):
            counts[reader, :, observed] += (said == observed).astype(np.float64) @ probs
    return counts
