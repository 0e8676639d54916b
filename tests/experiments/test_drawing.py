from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import ConfusedAnnotators, MaskReaders, digit_readers
from truelabel.experiments.drawing import draw


@pytest.fixture
def digits() -> Tensor:
    masks = torch.zeros(4, 28, 28, dtype=torch.long)
    masks[:, 5:22, 12:15] = 1
    masks[2:, 8:10, 4:20] = 1
    return masks


def same(ours: Annotations, theirs: Annotations) -> bool:
    parts = ("example", "annotator", "label", "examples", "annotators")
    return all(np.array_equal(getattr(ours, part), getattr(theirs, part)) for part in parts)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("labels", [None, 1])
def test_masks_are_drawn_once_and_read_alike(
    labels: int | None, digits: Tensor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = digit_readers(labels_per_example=labels)
    expected = plain(digits, None, seeded(3))
    first, second = digit_readers(labels_per_example=labels), digit_readers(labels_per_example=labels)
    drawn = draw(first, digits, None, seeded(3), tmp_path)
    monkeypatch.setattr(MaskReaders, "__call__", None)  # from now on nobody can draw
    read = draw(second, digits, None, seeded(3), tmp_path)
    assert same(drawn, expected)
    assert same(read, expected)
    torch.testing.assert_close(second.confusion, plain.confusion)


def test_whatever_masks_depend_on_makes_others(digits: Tensor, tmp_path: Path) -> None:
    def kept() -> int:
        return len(list(tmp_path.glob("*.npz")))

    draw(digit_readers(), digits, None, seeded(0), tmp_path)
    draw(digit_readers(), digits, None, seeded(0), tmp_path)
    assert kept() == 1
    for number, (readers, labels, seed) in enumerate(
        (
            (digit_readers(over=0.5), digits, 0),
            (digit_readers(labels_per_example=1), digits, 0),
            (digit_readers(), digits.flip(0), 0),
            (digit_readers(), digits, 1),
        )
    ):
        draw(readers, labels, None, seeded(seed), tmp_path)
        assert kept() == number + 2


def test_labels_of_examples_are_not_kept(tmp_path: Path) -> None:
    draw(ConfusedAnnotators(torch.eye(3)), torch.tensor([0, 1, 2]), None, seeded(0), tmp_path)
    assert not list(tmp_path.iterdir())
    draw(digit_readers(), torch.ones(1, 28, 28, dtype=torch.long), None, seeded(0), None)
    assert not list(tmp_path.iterdir())
