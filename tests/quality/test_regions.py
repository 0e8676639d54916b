"""Regions of disagreement, against scikit-image and loops over pixels."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.measure import label as components
from skimage.measure import regionprops

from truelabel.quality import Regions, mask_regions, pixel_belief


@pytest.mark.parametrize("space", [(5, 6), (3, 4, 5)])
@pytest.mark.parametrize("everywhere", [True, False])
def test_belief_is_bayes_rule_at_every_pixel(space: tuple[int, ...], everywhere: bool) -> None:
    rng = np.random.default_rng(0)
    masks, probs = rng.integers(-1, 3, (2, *space)), np.moveaxis(rng.dirichlet(np.ones(3), space), -1, 0)
    confusion = rng.dirichlet(np.ones(3), (2, 3))
    if not everywhere:
        confusion = np.moveaxis(rng.dirichlet(np.ones(3), (2, 3, *space)), -1, 2)
    belief = pixel_belief(masks, probs, confusion)
    for place in np.ndindex(*space):
        joint = probs[(slice(None), *place)].copy()
        for reader in range(2):
            said = masks[(reader, *place)]
            if said >= 0:
                joint *= confusion[reader, :, said] if everywhere else confusion[(reader, slice(None), said, *place)]
        np.testing.assert_allclose(belief[(slice(None), *place)], joint / joint.sum(), atol=1e-12)


@pytest.mark.parametrize("space", [(14, 17), (4, 9, 8)])
def test_regions_are_those_of_scikit_image(space: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    masks, belief = rng.integers(-1, 3, (2, *space)), np.moveaxis(rng.dirichlet(np.ones(3), space), -1, 0)
    found = mask_regions(masks, belief, example=7, annotators=[4, 2])
    assert set(found.example.tolist()) == {7}
    expected = []
    for reader, mask in ((4, masks[0]), (2, masks[1])):
        for given in range(3):
            for suggested in range(3):
                here = (mask == given) & (belief.argmax(0) == suggested)
                for region in regionprops(components(here, connectivity=1)) if given != suggested else ():
                    places = tuple(region.coords.T)
                    right, instead = belief[(given, *places)].mean(), belief[(suggested, *places)].mean()
                    box = region.bbox
                    slices = np.bincount(region.coords[:, 0])
                    plane = int(slices.argmax()) if len(space) == 3 else 0
                    expected.append((reader, given, suggested, int(region.area), *box, plane, right, instead))
    actual = [
        (
            *(int(values[row]) for values in (found.annotator, found.label, found.suggested, found.pixels)),
            *found.start[row].tolist(),
            *found.stop[row].tolist(),
            int(found.plane[row]),
            found.probability_right[row],
            found.suggested_probability[row],
        )
        for row in range(len(found))
    ]
    assert len(actual) == len(expected) > 20
    for mine, theirs in zip(sorted(actual), sorted(expected), strict=True):
        assert mine == pytest.approx(theirs)
    for reader in (2, 4):
        numbers = found.region[found.annotator == reader]
        assert numbers.tolist() == list(range(1, len(numbers) + 1))


def test_small_regions_may_be_left_out_and_the_worst_come_first() -> None:
    belief = np.stack([np.array([[0.4, 0.4, 0.9, 0.1]]), np.array([[0.6, 0.6, 0.1, 0.9]])])
    masks = np.array([[[0, 0, 1, 1]]])
    found = mask_regions(masks, belief)
    assert found.pixels.tolist() == [2, 1]
    assert found.ranked().pixels.tolist() == [1, 2]
    assert mask_regions(masks, belief, least=2).pixels.tolist() == [2]


def test_masks_as_believed_have_no_regions() -> None:
    belief = np.stack([np.full((3, 3), 0.9), np.full((3, 3), 0.1)])
    found = mask_regions(np.array([np.zeros((3, 3), int), np.full((3, 3), -1)]), belief)
    assert len(found) == 0
    assert found.start.shape == (0, 2)
    assert len(Regions.join([found, Regions.nothing(2)])) == 0


def test_bad_input_is_one_line() -> None:
    mask, belief = np.zeros((1, 2, 2), int), np.full((2, 2, 2), 0.5)
    for call, message in (
        (lambda: mask_regions(mask[0], belief), "labels must be"),
        (lambda: mask_regions(mask, belief[:, :1]), "labels must be"),
        (lambda: mask_regions(mask, belief, least=0), "least must be a whole number of at least 1, got 0"),
        (lambda: pixel_belief(mask, belief, np.eye(2)), r"confusion must be \(1, 2, 2\)"),
        (lambda: pixel_belief(mask, belief[:, :1], np.eye(2)[None]), "labels must be"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
