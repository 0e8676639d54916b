"""The same fusion for every image of a data set."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations, label_type, require_annotations
from truelabel.coding import LabelError
from truelabel.fusion.fused import Fused, rows_to_one
from truelabel.fusion.kernels import Array, Integers
from truelabel.types import MISSING


class FuseMasks(Protocol):
    """A fusion of the masks of one image: :func:`staple`, :func:`spatial_staple`, :func:`vote_masks`.

    Example:
        >>> from functools import partial
        >>> from truelabel.fusion import staple
        >>> fuse: FuseMasks = partial(staple, ties="highest")
        >>> fuse(np.array([[0, 1], [0, 1], [1, 1]]), classes=2).labels.tolist()
        [0, 1]
    """

    def __call__(self, masks: Integers, /, *, classes: int) -> Fused:
        """Fuse ``masks (R, *space)`` of K classes."""


def fuse_images(annotations: Annotations, fuse: FuseMasks) -> Fused:
    r"""Fuse the masks of each image by themselves, whoever read it, and pool what that says about readers.

    .. math:: T^{(r)}[k, j] \propto \sum_n m^{(r)}_{nk}\, T_n^{(r)}[k, j], \qquad
        m^{(r)}_{nk} = \sum_{i : D^{(r)}_{ni} \text{ given}} W_{nik}

    W is the posterior of image n, T with n the confusion found there. The m are the voxels of a class that the reader
    is expected to have seen, so that an image counts by how much of the class it has. A reader without masks gets even
    rows. An image that nobody read has the prior, the mean of those of the other images, as its posterior everywhere,
    and -1 as its labels.

    Args:
        annotations: masks of N images by R readers, as from :meth:`Annotations.from_masks`.
        fuse: what to do with the masks of one image. Set options with ``functools.partial``.

    Returns:
        :class:`Fused` with posterior ``(N, *space, K)`` in float32, labels ``(N, *space)``, confusion ``(R, K, K)`` and
        prior ``(K,)``; ``evidence`` is the sum over images, ``converged`` is True if all did.

    Example:
        >>> from truelabel.fusion import vote_masks
        >>> masks = np.array([[[0, 1], [0, 1], [1, 1]], [[1, 1], [-1, -1], [1, 1]], [[-1, -1]] * 3])
        >>> fused = fuse_images(Annotations.from_masks(masks, classes=2), vote_masks)
        >>> fused.labels.tolist()
        [[0, 1], [1, 1], [-1, -1]]
        >>> fused.posterior[:, 0, 1].round(2)
        array([0.33, 1.  , 0.83], dtype=float32)
    """
    require_annotations(annotations)
    space, k = annotations.space, len(annotations.classes)
    if not space:
        raise LabelError("annotations label whole examples, not pixels: build them with Annotations.from_masks")
    if not annotations.size:
        raise LabelError("annotations hold no mask: nobody read any image")
    n = len(annotations.examples)
    posterior = np.empty((n, *space, k), np.float32)
    labels = np.full((n, *space), MISSING, label_type(k))
    counts, prior = np.zeros((len(annotations.annotators), k, k)), np.zeros(k)
    evidence: list[float | None] = []
    converged = True
    ends = np.concatenate([[0], np.cumsum(annotations.counts)])
    read = np.flatnonzero(np.diff(ends))
    for image in read:
        rows = slice(ends[image], ends[image + 1])
        masks = annotations.label[rows]
        fused = fuse(masks, classes=k)
        posterior[image], labels[image] = fused.posterior, fused.labels
        counts[annotations.annotator[rows]] += _seen(masks, fused.posterior)[..., None] * fused.confusion
        prior += fused.prior.reshape(-1, k).mean(0)
        evidence.append(fused.evidence)
        converged &= fused.converged
    prior /= len(read)
    posterior[np.diff(ends) == 0] = prior
    known = [value for value in evidence if value is not None]
    total = float(sum(known)) if len(known) == len(read) else None
    return Fused(posterior, labels, rows_to_one(counts), prior, total, converged)


def _seen(masks: Integers, posterior: NDArray[np.floating[Any]]) -> Array:
    """Voxels of each class that each reader is expected to have seen: ``(R, K)``."""
    flat = posterior.reshape(-1, posterior.shape[-1])
    if masks.min() >= 0:
        return np.tile(flat.sum(0, dtype=np.float64), (len(masks), 1))
    given = masks.reshape(len(masks), -1, 1) >= 0
    return np.stack([flat.sum(0, dtype=np.float64, where=here) for here in given])
