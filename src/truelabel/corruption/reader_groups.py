"""The groups of simulated readers of Zhang 2020."""

from __future__ import annotations

from truelabel.corruption.edges import BlocksDropped, EdgeAdded, EdgeRemoved
from truelabel.corruption.fracture import Fracture
from truelabel.corruption.label_maps import GreyDilation, GreyErosion, Relabelling
from truelabel.corruption.mask_readers import MaskReaders
from truelabel.corruption.reader import Blank, Chain, Faithful, Reader
from truelabel.corruption.strokes import Thickening, Thinning

_TUMOUR_NAMES = (0, 3, 1, 2)
"""1 → 4, 2 → 1, 4 → 2 of the labels 0, 1, 2, 4 of BraTS, of which 4 is class 3."""


def digit_readers(
    *,
    over: float = 1.0,
    under: float = 0.7,
    fractures: float = 3,
    labels_per_example: int | tuple[int, int] | None = None,
) -> MaskReaders:
    """Five readers of digits ``(N, H, W)`` of zeros and ones: good, over, under, wrong and blank (Zhang 2020, MNIST).

    The good one draws the truth, "over" thickens, "under" thins, "wrong" breaks strokes and thickens the rest by half
    of ``over``, and "blank" draws nothing. The paper gives no amounts; these are the defaults of Morpho-MNIST (Castro
    2019). On the first 1,000 test digits of MNIST, with strokes 2.3 pixels thick, their mean Dice is 1, 0.69, 0.63,
    0.86 and 0; the thickening of "wrong" fills two fifths of what its fractures erased.

    Args:
        over: amount of :class:`Thickening`.
        under: amount of :class:`Thinning`.
        fractures: how many, of :class:`Fracture`.
        labels_per_example: how many readers draw an image: a number, or at least and at most; None for all.

    Example:
        >>> import torch
        >>> digits = torch.zeros(2, 28, 28, dtype=torch.long)
        >>> digits[:, 5:22, 12:15] = 1
        >>> digit_readers(labels_per_example=1)(digits, None, torch.Generator().manual_seed(0))
        Annotations(2 labels of 28x28, 2 examples, 5 annotators, 2 classes: 0, 1)
    """
    readers: dict[str, Reader] = {
        "good": Faithful(),
        "over": Thickening(over),
        "under": Thinning(under),
        "wrong": Chain(Fracture(fractures), Thickening(over / 2)),
        "blank": Blank(),
    }
    return MaskReaders(readers, 2, labels_per_example)


def tumour_readers(*, labels_per_example: int | tuple[int, int] | None = None) -> MaskReaders:
    """Four readers of tumours of classes 0..3, slices or volumes: good, over, under and wrong (Zhang 2020, BraTS).

    "Over" takes the largest label of the 3 x 3 square around a pixel (3 x 3 x 3 in volumes), "under" the smallest;
    "wrong" calls 1 by the name of 3, 3 by that of 2, and 2 by that of 1. The labels 0, 1, 2, 4 of BraTS are to be
    0, 1, 2, 3 here.

    Differs from the published code: its blank reader, which draws the truth by mistake, is left out, as in the paper.

    Args:
        labels_per_example: how many readers draw an image: a number, or at least and at most; None for all.

    Example:
        >>> import torch
        >>> slices = torch.zeros(1, 8, 8, dtype=torch.long)
        >>> slices[:, 3:6, 3:6] = 2
        >>> readers = tumour_readers()
        >>> readers(slices, None, torch.Generator().manual_seed(0)).matrix().reshape(4, 64).sum(-1).tolist()
        [18, 50, 2, 9]
    """
    readers: dict[str, Reader] = {
        "good": Faithful(),
        "over": GreyDilation(1),
        "under": GreyErosion(1),
        "wrong": Relabelling(_TUMOUR_NAMES),
    }
    return MaskReaders(readers, 4, labels_per_example)


def lesion_readers(*, labels_per_example: int | tuple[int, int] | None = None) -> MaskReaders:
    """Five readers of lesions, zeros and ones of any dimension: good, over, under, wrong, blank (Zhang 2020, MS).

    "Over" adds the edge of the mask once, "under" takes it away twice (:class:`EdgeAdded`); "wrong" misses blocks of
    100 of 200 foreground voxels in scan order.

    Args:
        labels_per_example: how many readers draw a scan: a number, or at least and at most; None for all.

    Example:
        >>> import torch
        >>> scans = torch.zeros(1, 12, 12, 12, dtype=torch.long)
        >>> scans[:, 3:9, 3:9, 3:9] = 1
        >>> readers = lesion_readers()
        >>> readers(scans, None, torch.Generator().manual_seed(0)).matrix().reshape(5, -1).sum(-1).tolist()
        [216, 432, 8, 100, 0]
    """
    readers: dict[str, Reader] = {
        "good": Faithful(),
        "over": EdgeAdded(1),
        "under": EdgeRemoved(2),
        "wrong": BlocksDropped(100, 200),
        "blank": Blank(),
    }
    return MaskReaders(readers, 2, labels_per_example)
