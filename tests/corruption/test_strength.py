from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from truelabel.corruption import (
    Blank,
    BlocksDropped,
    EdgeAdded,
    EdgeRemoved,
    Fracture,
    GreyDilation,
    MaskReaders,
    Thickening,
    Thinning,
    TrueMask,
    strength_for_dice,
)
from truelabel.metrics import dice


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def balls() -> Tensor:
    place = np.indices((16, 16, 16))
    rng = np.random.default_rng(0)
    squares = [((place - rng.uniform(6, 10, (3, 1, 1, 1))) ** 2).sum(0) for _ in range(40)]
    return torch.from_numpy(np.stack([far < rng.uniform(3, 5) ** 2 for far in squares]).astype(np.int64))


def measured(reader: Any, masks: Tensor, seed: int) -> float:
    drawn = MaskReaders({"one": reader}, classes=int(masks.max()) + 1)(masks, None, generator(seed))
    return float(dice(drawn.label, masks).mean())


@pytest.mark.parametrize(
    ("make", "wanted", "tolerance"),
    [(Thickening, 0.8, 0.02), (Thinning, 0.7, 0.03), (Fracture, 0.9, 0.005), (lambda n: Fracture(n, 2.5), 0.8, 0.005)],
)
def test_digits_get_the_dice_wanted(make: Any, wanted: float, tolerance: float, digits: NDArray[Any]) -> None:
    masks = torch.from_numpy(digits)
    strength = strength_for_dice(make, masks, wanted, generator(), tolerance=tolerance)
    seeds = torch.randint(2**62, (len(masks),), generator=generator()).tolist()
    reader = make(strength)
    drawn = [
        reader(TrueMask(mask), torch.Generator().manual_seed(seed)) for mask, seed in zip(digits, seeds, strict=True)
    ]
    assert float(dice(np.stack(drawn), digits).mean()) == pytest.approx(wanted, abs=tolerance)
    # Other draws give about the same.
    assert measured(reader, masks, 9) == pytest.approx(wanted, abs=tolerance + 0.03)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [(EdgeAdded, 0.75), (EdgeRemoved, 0.5), (GreyDilation, 0.5), (lambda n: BlocksDropped(n, 10), 0.72)],
)
def test_volumes_get_the_dice_wanted(make: Any, wanted: float) -> None:
    masks = balls()
    strength = strength_for_dice(make, masks, wanted, generator(), tolerance=0.01)
    assert strength % 1 > 0, "a whole number of voxels would miss it"
    assert measured(make(strength), masks, 3) == pytest.approx(wanted, abs=0.1)


def test_several_classes_count_alike() -> None:
    masks = torch.randint(4, (10, 3, 3), generator=generator()).repeat_interleave(4, 1).repeat_interleave(4, 2)
    strength = strength_for_dice(GreyDilation, masks, 0.7, generator(), tolerance=0.02)
    assert measured(GreyDilation(strength), masks, 3) == pytest.approx(0.7, abs=0.15)


def test_the_ends_of_the_range_are_found(digits: NDArray[Any]) -> None:
    masks = torch.from_numpy(digits)
    assert strength_for_dice(Thickening, masks, 1.0, generator()) == 0
    assert strength_for_dice(Thinning, masks, 0.0, generator(), most=5.0) == 5


def test_what_is_out_of_reach_is_told(digits: NDArray[Any]) -> None:
    masks = torch.from_numpy(digits)
    lowest = float(dice(np.stack([Thickening(0.5)(TrueMask(m), generator()) for m in digits]), digits).mean())
    message = rf"dice 0\.1 is out of reach: strengths of 0\.\.0\.5 reach {lowest:.3f}\.\.1\.000; ask for"
    with pytest.raises(ValueError, match=message):
        strength_for_dice(Thickening, masks, 0.1, generator(), most=0.5)
    with pytest.raises(ValueError, match=r"dice 0\.9 is out of reach: strengths of 0\.\.8 reach 0\.000\.\.0\.000"):
        strength_for_dice(lambda strength: Blank(), masks, 0.9, generator())


def test_a_jump_over_the_dice_wanted_is_told() -> None:
    bar = torch.zeros(1, 20, 20, dtype=torch.long)
    bar[0, 8:12, 2:18] = 1
    with pytest.raises(
        ValueError, match=r"dice 0\.85 is skipped: at strength 1 it falls from 1\.000 to 0\.\d+; pass more"
    ):
        strength_for_dice(lambda n: EdgeAdded(int(n)), bar, 0.85, generator())


def test_what_cannot_be_is_refused(digits: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match=r"dice must lie in \[0, 1\], got 1.2"):
        strength_for_dice(Thickening, torch.from_numpy(digits), 1.2, generator())
    with pytest.raises(ValueError, match="masks must hold at least one mask"):
        strength_for_dice(Thickening, torch.from_numpy(digits[:0]), 0.5, generator())
