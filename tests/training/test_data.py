from __future__ import annotations

import numpy as np
import pytest
import torch

from truelabel import Annotations
from truelabel.training import TrainingSet, as_float


def test_batches_follow_the_table() -> None:
    annotations = Annotations.from_matrix([[0, -1, 1], [-1, 2, -1], [1, 1, 0]])
    weights = torch.arange(1.0, annotations.size + 1)
    soft = torch.arange(annotations.size * 3.0).view(-1, 3)
    data = TrainingSet(torch.arange(6.0).view(3, 2), annotations, weights=weights, soft=soft)
    batch = data.batch(torch.tensor([2, 1]))
    assert batch.inputs.tolist() == [[4, 5], [2, 3]]
    assert batch.labels.tolist() == [[1, 1, 0], [2, -1, -1]]
    assert batch.annotators.tolist() == [[0, 1, 2], [1, -1, -1]]
    assert batch.weights.tolist() == [[4, 5, 6], [3, 0, 0]]
    assert batch.soft is not None
    assert batch.soft[0].tolist() == soft[3:6].tolist()
    assert batch.soft[1, 0].tolist() == soft[2].tolist()
    assert batch.index.tolist() == [2, 1]


def test_masks_bring_slots_and_soft_targets_to_the_end() -> None:
    masks = np.zeros((2, 2, 3, 4), int)
    masks[1, 1] = -1
    annotations = Annotations.from_masks(masks, classes=2)
    soft = torch.rand(annotations.size, 3, 4, 2)
    batch = TrainingSet(torch.zeros(2, 1, 3, 4), annotations, soft=soft).batch(torch.tensor([1, 0]))
    assert batch.labels.shape == (2, 3, 4, 2)
    assert batch.soft is not None
    assert batch.soft.shape == (2, 3, 4, 2, 2)
    assert torch.equal(batch.soft[1, :, :, 1], soft[1])
    assert (batch.labels[0, ..., 1] == -1).all()


def test_bytes_become_fractions() -> None:
    assert as_float(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx([0, 0.2, 1])
    floats = torch.tensor([300.0])
    assert as_float(floats) is floats


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="there are 3 inputs, but annotations for 2 examples"):
        TrainingSet(torch.zeros(3, 1), Annotations.from_labels([0, 1]))
