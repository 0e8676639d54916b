from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import f1_score, jaccard_score
from torchmetrics.functional.classification import multiclass_jaccard_index
from torchmetrics.functional.segmentation import dice_score

from truelabel.metrics import dice, iou, mean_iou

Masks = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(params=[(6, 7), (4, 5, 6)], ids=["2d", "3d"])
def masks(request: pytest.FixtureRequest) -> Masks:
    """Five images of four classes that agree now and then; all classes occur in all."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, (5, *request.param))
    noise = rng.integers(0, 4, truth.shape)
    return np.where(rng.random(truth.shape) < 0.6, truth, noise), truth


@pytest.mark.parametrize("background", [False, True])
def test_dice_is_that_of_torchmetrics_and_scikit_learn(masks: Masks, background: bool) -> None:
    predicted, truth = masks
    theirs = dice_score(
        torch.from_numpy(predicted),
        torch.from_numpy(truth),
        num_classes=4,
        include_background=background,
        average="macro",
        input_format="index",
    )
    np.testing.assert_allclose(dice(predicted, truth, background=background), theirs.numpy(), rtol=1e-6)
    labels = range(0 if background else 1, 4)
    expected = [
        f1_score(t.ravel(), p.ravel(), labels=labels, average=None) for p, t in zip(predicted, truth, strict=True)
    ]
    np.testing.assert_allclose(dice(predicted, truth, background=background, per_class=True), expected)
    np.testing.assert_allclose(dice(predicted, truth, background=background), np.mean(expected, 1))


@pytest.mark.parametrize("background", [False, True])
def test_iou_is_that_of_scikit_learn(masks: Masks, background: bool) -> None:
    labels = range(0 if background else 1, 4)
    expected = [jaccard_score(t.ravel(), p.ravel(), labels=labels, average=None) for p, t in zip(*masks, strict=True)]
    np.testing.assert_allclose(iou(*masks, background=background, per_class=True), expected)
    np.testing.assert_allclose(iou(*masks, background=background), np.mean(expected, 1))


def test_mean_iou_sums_over_images_first(masks: Masks) -> None:
    predicted, truth = masks
    truth = truth.copy()
    truth[0] = -1
    truth[:, 0] = -1
    truth[2, 1:] = 1
    given = truth >= 0
    expected = jaccard_score(truth[given], predicted[given], average="macro")
    assert mean_iou(predicted, truth) == pytest.approx(expected)
    assert mean_iou(list(predicted), iter(truth)) == pytest.approx(expected)
    theirs = multiclass_jaccard_index(
        torch.from_numpy(predicted), torch.from_numpy(truth), num_classes=4, ignore_index=-1
    )
    assert mean_iou(predicted, truth) == pytest.approx(theirs.item())
    assert mean_iou(predicted, truth) != pytest.approx(iou(predicted, truth, background=True).mean(), abs=0.01)


def test_mean_iou_skips_classes_that_never_occur() -> None:
    predicted, truth = [[0, 2, 2]], [[0, 0, 2]]
    assert mean_iou(predicted, truth, classes=9) == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert mean_iou([[0, 1, 2]], truth) == pytest.approx((1 / 2 + 0 + 1) / 3), "found where it is not: 0"
    assert np.isnan(mean_iou([[0]], [[-1]]))


def test_images_may_differ_in_size(masks: Masks) -> None:
    predicted, truth = masks
    cut = [mask[: 2 + i] for i, mask in enumerate(predicted[:3])]
    true = [mask[: 2 + i] for i, mask in enumerate(truth[:3])]
    for score in (dice, iou):
        one_by_one = [score(p[None], t[None], classes=4)[0] for p, t in zip(cut, true, strict=True)]
        np.testing.assert_allclose(score(cut, true, classes=4), one_by_one)


def test_what_neither_has_counts_as_one() -> None:
    for score in (dice, iou):
        assert score([[0, 0]], [[0, 0]]).tolist() == [1]
        assert score([[0, 1]], [[0, 0]]).tolist() == [0]
        assert score([[0, 0]], [[0, 1]]).tolist() == [0]
        assert score([[0, 1]], [[0, 1]], classes=3, per_class=True).tolist() == [[1, 1]]
        assert score([[1, 0]], [[0, 1]], classes=3).tolist() == [0.5]


def test_classes_are_as_many_as_the_largest_label_of_all_images() -> None:
    predicted, truth = [[[0, 1]], [[0, 0]], [[3, 0]]], [[[0, 1]], [[2, 2]], [[3, 3]]]
    assert dice(predicted, truth, per_class=True).tolist() == [[1, 1, 1], [1, 0, 1], [1, 1, 2 / 3]]


def test_voxels_without_a_truth_are_left_out(masks: Masks) -> None:
    predicted, truth = masks
    unknown = np.random.default_rng(1).random(truth.shape) < 0.3
    kept = [(p[~u], t[~u]) for p, t, u in zip(predicted, truth, unknown, strict=True)]
    for score in (dice, iou):
        expected = [score(p[None], t[None])[0] for p, t in kept]
        np.testing.assert_allclose(score(predicted, np.where(unknown, -1, truth)), expected)


def test_a_prediction_of_no_class_is_a_miss() -> None:
    assert dice([[-1, 1]], [[1, 1]]).tolist() == pytest.approx([2 / 3])
    assert iou([[-1, 1]], [[1, 1]]).tolist() == [0.5]


def test_no_images_have_no_scores() -> None:
    none = np.zeros((0, 3, 3), int)
    assert dice(none, none).shape == (0,)
    assert iou([], [], classes=4, per_class=True).shape == (0, 3)
    assert np.isnan(mean_iou(none, none))


def test_scores_do_not_depend_on_how_images_are_read(masks: Masks, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = dice(*masks), mean_iou(*masks)
    monkeypatch.setattr("truelabel.metrics.masks._CHUNK", 2 * masks[0][0].size)
    for given in (masks, (list(masks[0]), masks[1]), (iter(masks[0]), list(masks[1]))):
        np.testing.assert_array_equal(dice(*given), expected[0])
    assert mean_iou(*masks) == expected[1]


def test_tensors_are_taken(masks: Masks) -> None:
    predicted, truth = (torch.from_numpy(mask) for mask in masks)
    np.testing.assert_array_equal(dice(predicted.to(torch.uint8), truth), dice(*masks))
    np.testing.assert_array_equal(dice(predicted > 0, truth > 0), dice(masks[0] > 0, masks[1] > 0))


def test_what_cannot_be_is_refused() -> None:
    for score in (dice, iou, mean_iou):
        with pytest.raises(ValueError, match="truth has class 2 in image 0: classes is 2"):
            score([[0, 1]], [[0, 2]], classes=2)
        with pytest.raises(ValueError, match="predicted has class 5 in image 1: classes is 2"):
            score([[0, 1], [5, 0]], [[0, 1], [0, 1]], classes=2)
        with pytest.raises(ValueError, match="classes must be a whole number of at least 2, got 1"):
            score([[0, 1]], [[0, 1]], classes=1)
        with pytest.raises(ValueError, match="predicted must hold integers, got float64"):
            score([[0.2, 0.8]], [[0, 1]])
