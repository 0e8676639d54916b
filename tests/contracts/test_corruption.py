"""What every corruption must satisfy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import Corruption

Make = Callable[[], Corruption]

CLASSES, FEATURES, DRAWS = 6, 9, 200_000


def simulate(corruption: Corruption, labels: Tensor, seed: int) -> Annotations:
    inputs = torch.randn(len(labels), FEATURES, generator=torch.Generator().manual_seed(9))
    return corruption(labels, inputs, torch.Generator().manual_seed(seed))


@pytest.fixture
def labels() -> Tensor:
    return torch.randint(CLASSES, (200,))


def test_annotations_are_in_range_and_in_order(make_corruption: Make, labels: Tensor) -> None:
    corruption = make_corruption()
    annotations = simulate(corruption, labels, 0)
    annotators = len(corruption.confusion)
    assert len(annotations.examples) == len(labels)
    assert len(annotations.annotators) == annotators
    assert annotations.classes == tuple(range(CLASSES))
    assert 0 <= annotations.label.min() <= annotations.label.max() < CLASSES
    key = annotations.example.astype(np.int64) * annotators + annotations.annotator
    assert (np.diff(key) > 0).all(), "one label a pair, sorted by example, then annotator"
    assert (annotations.counts > 0).all()


def test_confusion_is_a_table_of_probabilities(make_corruption: Make) -> None:
    confusion = make_corruption().confusion
    assert confusion.dim() == 3
    assert confusion.shape[1:] == (CLASSES, CLASSES)
    assert (confusion >= 0).all()
    torch.testing.assert_close(confusion.sum(-1), torch.ones_like(confusion[..., 0]))


def test_equal_seeds_give_equal_labels(make_corruption: Make, labels: Tensor) -> None:
    before = torch.get_rng_state()
    first, second = (simulate(make_corruption(), labels, 5) for _ in range(2))
    other = simulate(make_corruption(), labels, 6)
    assert torch.equal(torch.get_rng_state(), before), "all chance comes from the generator"
    np.testing.assert_array_equal(first.matrix(), second.matrix())
    assert (first.matrix() != other.matrix()).any()


def test_labels_are_left_alone(make_corruption: Make, labels: Tensor) -> None:
    before = labels.clone()
    simulate(make_corruption(), labels, 0)
    assert torch.equal(labels, before)


def test_what_is_observed_follows_the_stated_confusion(make_corruption: Make) -> None:
    corruption = make_corruption()
    labels = torch.randint(CLASSES, (DRAWS // len(corruption.confusion),))
    annotations = simulate(corruption, labels, 0)
    counts = np.zeros(corruption.confusion.shape)
    np.add.at(counts, (annotations.annotator, labels.numpy()[annotations.example], annotations.label), 1)
    totals = counts.sum(-1, keepdims=True)
    expected = corruption.confusion.numpy()
    error = np.sqrt(expected * (1 - expected) / totals)
    # A mistake that is never made and one that is always made have no error at all.
    assert (np.abs(counts / totals - expected) <= 4 * error + 1e-9).all()
    assert totals.min() > 1000
