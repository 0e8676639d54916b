from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel.annotations import Annotations
from truelabel.fusion import confusion_from_posterior, expected_counts, mask_counts

IMAGES, READERS, CLASSES = 3, 4, 3

spaces = pytest.mark.parametrize("space", [(5,), (4, 6), (2, 3, 4)], ids=str)


def some_masks(space: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Masks with gaps and a belief; one reader lacks an image, another saw none."""
    rng = np.random.default_rng(0)
    masks = rng.integers(-1, CLASSES, (IMAGES, READERS, *space))
    masks[0, 1], masks[:, 3] = -1, -1
    return masks, rng.dirichlet(np.ones(CLASSES), (IMAGES, *space))


@spaces
def test_counts_by_loops(space: tuple[int, ...]) -> None:
    masks, posterior = some_masks(space)
    expected = np.zeros((READERS, CLASSES, CLASSES))
    for n, r in itertools.product(range(IMAGES), range(READERS)):
        for place in itertools.product(*map(range, space)):
            if masks[(n, r, *place)] >= 0:
                expected[r, :, masks[(n, r, *place)]] += posterior[(n, *place)]
    counts = mask_counts(Annotations.from_masks(masks, classes=CLASSES), posterior)
    np.testing.assert_allclose(counts, expected)
    assert counts.sum() == pytest.approx((masks >= 0).sum())
    assert not counts[3].any()


@spaces
def test_pixels_are_counted_like_examples(space: tuple[int, ...]) -> None:
    masks, posterior = some_masks(space)
    annotations = Annotations.from_masks(masks, classes=CLASSES)
    pixels = Annotations.from_matrix(np.moveaxis(masks, 1, -1).reshape(-1, READERS), classes=CLASSES)
    flat = posterior.reshape(-1, CLASSES)
    np.testing.assert_allclose(mask_counts(annotations, posterior), expected_counts(pixels, flat))
    np.testing.assert_allclose(confusion_from_posterior(annotations, posterior), confusion_from_posterior(pixels, flat))


def test_a_sure_belief_counts_whole_pixels() -> None:
    truth = np.array([[[0, 0, 1], [1, 1, 2]]])
    over = np.array([[[0, 1, 1], [1, 1, -1]]])
    counts = mask_counts(Annotations.from_masks(np.stack([truth, over], 1)), np.eye(3)[truth])
    assert counts[0].tolist() == [[2, 0, 0], [0, 3, 0], [0, 0, 1]]
    assert counts[1].tolist() == [[1, 1, 0], [0, 3, 0], [0, 0, 0]]


def test_single_precision_is_counted_well() -> None:
    masks = np.zeros((1, 1, 512, 512), np.int16)
    belief = np.full((1, 512, 512, 2), [0.1, 0.9], np.float32)
    counts = mask_counts(Annotations.from_masks(masks, classes=2), belief)
    assert counts.dtype == np.float64
    np.testing.assert_allclose(counts[0, :, 0], [0.1 * 512**2, 0.9 * 512**2], rtol=1e-5)


def test_a_belief_of_another_shape_is_refused() -> None:
    masks, posterior = some_masks((4, 6))
    with pytest.raises(ValueError, match=r"^posterior must be \(3, 4, 6, 3\), got \(3, 4, 6, 2\)$"):
        mask_counts(Annotations.from_masks(masks, classes=CLASSES), posterior[..., :2])
