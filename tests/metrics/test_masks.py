from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from truelabel.metrics.masks import as_array, blocks, together, whole_numbers


def test_tensors_and_arrays_are_taken() -> None:
    for values in ([[0, 1]], np.array([[0, 1]]), torch.tensor([[0, 1]]), torch.tensor([[0, 1]], dtype=torch.uint8)):
        assert as_array(values).tolist() == [[0, 1]]
    assert as_array(torch.ones(2, requires_grad=True)).tolist() == [1, 1]


def test_images_may_differ_in_size_and_come_one_by_one() -> None:
    truth = [np.array([[0, 1, -1]]), np.array([[1], [1]])]
    found = list(blocks((mask for mask in ([[1, 1, 1]], [[0], [1]])), truth))
    assert [(first, p.tolist(), t.tolist()) for first, p, t in found] == [
        (0, [[1, 1, 1]], [[0, 1, -1]]),
        (1, [[0, 1]], [[1, 1]]),
    ]


def test_images_of_one_array_come_several_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    masks = np.arange(5 * 6).reshape(5, 2, 3)
    assert [p.shape for _, p, _ in blocks(masks, torch.from_numpy(masks))] == [(5, 6)]
    monkeypatch.setattr("truelabel.metrics.masks._CHUNK", 12)
    found = list(blocks(masks, masks))
    assert [first for first, _, _ in found] == [0, 2, 4]
    np.testing.assert_array_equal(np.concatenate([t for _, _, t in found]), masks.reshape(5, 6))


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int8, np.int64])
def test_integers_of_any_kind_are_whole_numbers(kind: Any) -> None:
    mask = whole_numbers(np.array([[1, 0]], kind), "truth", 0)
    assert mask.dtype == np.int64
    assert mask.tolist() == [[1, 0]]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="truth must hold integers, got float64 from image 3 on"):
        whole_numbers([[0.5]], "truth", 3)
    with pytest.raises(
        ValueError, match="predicted holds -2 from image 0 on: classes are 0, 1, 2, …, and -1 is missing"
    ):
        whole_numbers([[-2]], "predicted", 0)
    with pytest.raises(ValueError, match=r"image 1: predicted \(1, 2\) and truth \(1, 1\) differ in shape"):
        list(blocks([[[0]], [[0, 1]]], [[[0]], [[0]]]))
    with pytest.raises(ValueError, match="truth ends after 1 images, matrices has more"):
        list(together([1, 2], [[0]], "matrices"))
    with pytest.raises(ValueError, match="matrices ends after 0 images, truth has more"):
        list(together([], [[0]], "matrices"))
