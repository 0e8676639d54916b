"""Where a reader's mask differs from what is believed, region by region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from truelabel.checks import check_whole
from truelabel.types import MISSING

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions of masks that are probably wrong, M in all.

    Attributes:
        example: ``(M,)``, position of the image.
        annotator: ``(M,)``, position of the reader.
        region: ``(M,)``, its number within the mask, from 1.
        label: ``(M,)``, position of the class that the reader drew there.
        probability_right: ``(M,)``, mean over the region of the probability that this is right.
        suggested: ``(M,)``, position of the class that is believed there.
        suggested_probability: ``(M,)``, mean of its probability.
        pixels: ``(M,)``, size.
        start: ``(M, D)``, first corner of the bounding box, D axes of space.
        stop: ``(M, D)``, the corner behind its last pixel.
        plane: ``(M,)``, of volumes the slice along their first axis that has most of the region; 0 for pictures.

    Example:
        >>> found = mask_regions([[[0, 1, 1]]], [[[0.9, 0.4, 0.8]], [[0.1, 0.6, 0.2]]])
        >>> len(found), found.ranked().start[0].tolist()
        (1, [0, 2])
    """

    example: Array
    annotator: Array
    region: Array
    label: Array
    probability_right: Array
    suggested: Array
    suggested_probability: Array
    pixels: Array
    start: Array
    stop: Array
    plane: Array

    def __len__(self) -> int:
        return len(self.region)

    def take(self, index: ArrayLike) -> Regions:
        """Those at ``index (m,)``, in that order."""
        rows = np.asarray(index)
        return Regions(**{name: values[rows] for name, values in vars(self).items()})

    def ranked(self) -> Regions:
        """The same, the least probable first; of equals the larger."""
        return self.take(np.lexsort((-self.pixels, self.probability_right)))

    @classmethod
    def nothing(cls, axes: int) -> Regions:
        """No region at all, of images with so many axes."""
        return mask_regions(np.zeros((1,) * (axes + 1), np.int64), np.ones((1,) * (axes + 1)))

    @classmethod
    def join(cls, parts: Sequence[Regions]) -> Regions:
        """Those of several parts, by example and annotator."""
        together = cls(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])})
        return together.take(np.lexsort((together.region, together.annotator, together.example)))


def pixel_belief(labels: ArrayLike, probs: ArrayLike, confusion: ArrayLike) -> NDArray[np.float64]:
    r"""Probability of each class at each pixel of an image, given the image and all its masks.

    .. math:: q_{uk} \propto p(y_u = k \mid x) \prod_s T^{(s)}_u[k, \tilde y_{us}]

    Args:
        labels: ``(S, *space)``, positions of classes in the masks of S readers, -1 where one has no label.
        probs: ``(K, *space)``, p(y|x).
        confusion: ``(S, K, K)``, ``[reader, true, observed]``; or ``(S, K, K, *space)``, at every pixel.

    Returns:
        ``(K, *space)``.

    Example:
        >>> pixel_belief([[[0, 1]], [[0, -1]]], np.full((2, 1, 2), 0.5), [[[0.8, 0.2], [0.2, 0.8]]] * 2).round(2)
        array([[[0.94, 0.2 ]],
               [[0.06, 0.8 ]]])
    """
    masks, p, t = np.asarray(labels), np.asarray(probs, np.float64), np.asarray(confusion, np.float64)
    if masks.ndim < 2 or p.ndim != masks.ndim or p.shape[1:] != masks.shape[1:]:
        raise ValueError(f"labels must be (S, *space) and probs (K, *space), got {masks.shape} and {p.shape}")
    k = len(p)
    if t.shape not in ((len(masks), k, k), (len(masks), k, k, *p.shape[1:])):
        raise ValueError(f"confusion must be {(len(masks), k, k)}, with *space or without, got {t.shape}")
    with np.errstate(divide="ignore"):
        joint, log_t = np.log(p), np.log(t)
    for mask, matrix in zip(masks, log_t, strict=True):
        said = np.where(mask == MISSING, 0, mask)
        here = matrix[:, said] if t.ndim == 3 else np.take_along_axis(matrix, said[None, None], 1)[:, 0]
        joint += np.where(mask == MISSING, 0.0, here)
    top = joint.max(0)
    possible = np.isfinite(top)
    weights = np.exp(joint - np.where(possible, top, 0))
    belief: NDArray[np.float64] = np.where(possible, weights / np.where(possible, weights.sum(0), 1), p)
    return belief


def mask_regions(
    labels: ArrayLike,
    belief: ArrayLike,
    *,
    example: int = 0,
    annotators: ArrayLike | None = None,
    least: int = 1,
) -> Regions:
    """Connected regions of one image in which a mask names another class than is believed.

    A region has one class given and one believed; pixels that meet at a side belong together. The probability that its
    label is right is the mean over its pixels of the probability of the class given.

    Args:
        labels: ``(S, *space)``, positions of classes, -1 where there is no label.
        belief: ``(K, *space)``, as of :func:`pixel_belief`.
        example: position of the image.
        annotators: ``(S,)``, positions of the readers; ``0..S-1`` by default.
        least: pixels that a region must have.

    Returns:
        Their regions, mask by mask.

    Example:
        >>> drawn = np.array([[[0, 0, 1, 1], [0, 0, 0, 1]]])
        >>> lesion = np.array([[0.1, 0.1, 0.9, 0.2], [0.1, 0.8, 0.1, 0.1]])
        >>> found = mask_regions(drawn, np.stack([1 - lesion, lesion]))
        >>> found.label.tolist(), found.suggested.tolist(), found.pixels.tolist()
        ([0, 1], [1, 0], [1, 2])
        >>> found.probability_right.round(2).tolist(), found.start.tolist(), found.stop.tolist()
        ([0.2, 0.15], [[1, 1], [0, 3]], [[2, 2], [2, 4]])
    """
    check_whole("least", least)
    masks, q = np.asarray(labels), np.asarray(belief, np.float64)
    if masks.ndim < 2 or q.ndim != masks.ndim or q.shape[1:] != masks.shape[1:]:
        raise ValueError(f"labels must be (S, *space) and belief (K, *space), got {masks.shape} and {q.shape}")
    readers, believed = np.arange(len(masks)) if annotators is None else np.asarray(annotators), q.argmax(0)
    parts = [
        _of_mask(mask, believed, q, example, int(reader), least) for mask, reader in zip(masks, readers, strict=True)
    ]
    return Regions.join(parts)


def _of_mask(mask: Array, believed: Array, q: Array, example: int, reader: int, least: int) -> Regions:
    k, axes = len(q), mask.ndim
    codes = np.where((mask == MISSING) | (mask == believed), MISSING, mask.astype(np.int64) * k + believed)
    rows: list[tuple[Any, ...]] = []
    for code in np.unique(codes[codes >= 0]).tolist():
        found, _ = ndimage.label(codes == code)
        given, suggested = divmod(code, k)
        for number, box in enumerate(ndimage.find_objects(found), 1):
            inside = found[box] == number
            pixels = int(inside.sum())
            if pixels < least:
                continue
            right, instead = (float(q[kind][box][inside].mean()) for kind in (given, suggested))
            plane = box[0].start + int(inside.sum(axis=tuple(range(1, axes))).argmax()) if axes > 2 else 0
            corners = [side.start for side in box], [side.stop for side in box]
            rows.append((len(rows) + 1, given, right, suggested, instead, pixels, *corners, plane))
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * 9
    whole = [np.array(columns[place], np.int64) for place in (0, 1, 3, 5, 8)]
    return Regions(
        example=np.full(len(rows), example),
        annotator=np.full(len(rows), reader),
        region=whole[0],
        label=whole[1],
        probability_right=np.array(columns[2], np.float64),
        suggested=whole[2],
        suggested_probability=np.array(columns[4], np.float64),
        pixels=whole[3],
        start=np.array(columns[6], np.int64).reshape(-1, axes),
        stop=np.array(columns[7], np.int64).reshape(-1, axes),
        plane=whole[4],
    )
