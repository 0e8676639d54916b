from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel.annotations import Annotations
from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.measures.readers import (
    DRAWS,
    predicted_masks,
    reader_confusion_error,
    reader_masks,
    reader_predictions,
)
from truelabel.experiments.measures.readings import readings_of
from truelabel.learners import ProbabilisticUNet
from truelabel.methods import Learned
from truelabel.networks import UNet
from truelabel.noise import FixedConfusion, InstanceConfusion
from truelabel.training import History

MakeOutcome = Callable[..., Outcome]
GIVEN = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.0, 1.0]], [[0.1, 0.9], [0.7, 0.3]], [[1.0, 0], [1, 0]]])


def counted(masks: NDArray[Any], truth: NDArray[Any]) -> NDArray[np.float64]:
    """Confusion of readers, voxel by voxel."""
    table = np.zeros((masks.shape[1], 2, 2))
    for image, reader, *place in itertools.product(*map(range, masks.shape)):
        table[reader, truth[image, *place], masks[image, reader, *place]] += 1
    return np.asarray(table / table.sum(-1, keepdims=True))


def dice(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    return float(2 * (a & b).sum() / (a.sum() + b.sum())) if a.any() or b.any() else 1.0


def test_how_far_readers_are_from_the_truth(outcome: MakeOutcome) -> None:
    told = outcome()
    found, true = reader_masks(told), told.scene.test.labels
    masks = readings_of(told.scene).masks
    for reader, name in enumerate(("good", "over", "swapped", "blank")):
        each = [dice(mask > 0, truth > 0) for mask, truth in zip(masks[:, reader], true, strict=True)]
        assert found[f"reader_dice_{name}"] == pytest.approx(np.mean(each))
    assert (found["reader_missed_blank"], found["reader_added_blank"]) == (1, 0)
    assert (found["reader_missed_swapped"], found["reader_added_swapped"]) == (1, 1)
    added = ((masks[:, 1] > 0) & (true == 0)).sum() / (true == 0).sum()
    assert found["reader_missed_over"] == 0
    assert found["reader_added_over"] == pytest.approx(added)
    parts = [found[f"reader_dice_{name}"] for name in ("good", "over", "swapped", "blank")]
    assert found["readers_dice"] == pytest.approx(np.mean(parts))


def test_the_error_of_matrices_that_are_the_same_everywhere(outcome: MakeOutcome) -> None:
    told = outcome(FixedConfusion(2, 2, GIVEN))
    real = counted(readings_of(told.scene).masks, told.scene.test.labels)
    found = reader_confusion_error(told)
    assert found["confusion_rmse"] == pytest.approx(np.sqrt(((GIVEN.numpy() - real) ** 2).mean()), abs=1e-6)
    for reader, name in enumerate(("good", "over", "swapped", "blank")):
        expected = np.sqrt(((GIVEN[reader].numpy() - real[reader]) ** 2).mean())
        assert found[f"confusion_rmse_{name}"] == pytest.approx(expected, abs=1e-6)


def test_the_error_of_matrices_at_pixels_looks_at_the_row_of_the_true_class(outcome: MakeOutcome) -> None:
    torch.manual_seed(0)
    noise = InstanceConfusion(2, 2, 4)
    with torch.no_grad():
        noise.weight.normal_(0, 2)
    told = outcome(noise)
    images, true = torch.from_numpy(told.scene.test.inputs), told.scene.test.labels
    with torch.no_grad():
        maps = told.learner.matrices_at(images, torch.arange(4).expand(7, -1))
    assert maps is not None
    mean = np.zeros((4, 2, 2))
    for reader, k in itertools.product(range(4), range(2)):
        rows = [maps[n, h, w, reader, k].numpy() for n, h, w in np.argwhere(true == k)]
        mean[reader, k] = np.mean(rows, 0)
    real = counted(readings_of(told.scene).masks, true)
    assert reader_confusion_error(told)["confusion_rmse"] == pytest.approx(
        np.sqrt(((mean - real) ** 2).mean()), abs=1e-5
    )


def test_matrices_beside_the_learner_count_and_no_matrices_are_no_score(outcome: MakeOutcome) -> None:
    told = outcome()
    assert reader_confusion_error(told) == {}
    learned = Learned(told.learner, History(), confusion=GIVEN.double())
    found = reader_confusion_error(replace(told, learned=learned))
    assert found == pytest.approx(reader_confusion_error(outcome(FixedConfusion(2, 2, GIVEN))), abs=1e-6)
    assert reader_confusion_error(replace(told, learned=replace(learned, confusion=GIVEN[:1]))) == {}


def energy(samples: NDArray[np.bool_], drawn: NDArray[np.bool_], kind: str) -> float:
    def far(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
        overlap = dice(a, b)
        return 1 - (overlap if kind == "dice" else overlap / (2 - overlap))

    def mean(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
        return float(np.mean([far(a, b) for a in one for b in other]))

    return 2 * mean(samples, drawn) - mean(samples, samples) - mean(drawn, drawn)


def test_masks_predicted_of_readers_against_theirs(outcome: MakeOutcome) -> None:
    told = outcome(FixedConfusion(2, 2, GIVEN))
    drawn, shown = readings_of(told.scene).masks, told.scene.test.inputs[:, 0] > 0.5
    # Through these matrices: the first keeps what it sees, the second calls all a thing, the third swaps.
    expected = np.stack([shown, np.ones_like(shown), ~shown, np.zeros_like(shown)], 1)
    np.testing.assert_array_equal(predicted_masks(told.learner, readings_of(told.scene)), expected)
    found = reader_predictions(told)
    for kind in ("dice", "iou"):
        each = [energy(s, y > 0, kind) for s, y in zip(expected, drawn, strict=True)]
        assert found[f"energy_{kind}"] == pytest.approx(np.mean(each))
    for reader, name in enumerate(("good", "over", "swapped", "blank")):
        each = [dice(a, b > 0) for a, b in zip(expected[:, reader], drawn[:, reader], strict=True)]
        assert found[f"predicted_dice_{name}"] == pytest.approx(np.mean(each))
    assert found["predicted_dice_blank"] == 1


def test_one_mask_for_all_readers_has_a_distance_but_no_dice_of_each(outcome: MakeOutcome) -> None:
    told = outcome()
    drawn, shown = readings_of(told.scene).masks, told.scene.test.inputs[:, :1] > 0.5
    found = reader_predictions(told)
    each = [energy(s, y > 0, "iou") for s, y in zip(shown, drawn, strict=True)]
    assert found["energy_iou"] == pytest.approx(np.mean(each))
    assert found.keys() == {"energy_iou", "energy_dice"}


def test_a_model_that_draws_masks_is_asked_for_draws(outcome: MakeOutcome) -> None:
    torch.manual_seed(0)
    learner = ProbabilisticUNet(UNet(2, width=4, depth=2), 2, (2, 9, 9), samples=2)
    told = outcome(learner=learner)
    masks = predicted_masks(told.learner, readings_of(told.scene))
    assert masks.shape == (7, DRAWS, 9, 9)
    with torch.no_grad():
        log_probs = learner.sample(told.scene.test_inputs, DRAWS, torch.Generator().manual_seed(0))
    np.testing.assert_array_equal(masks, log_probs.argmax(-1).movedim(0, 1).numpy())
    assert "predicted_dice" not in reader_predictions(told)


def test_who_drew_nothing_has_no_score_and_spoils_none(outcome: MakeOutcome) -> None:
    given = outcome(FixedConfusion(2, 2, GIVEN))
    masks = np.full((12, 4, 9, 9), -1)
    masks[:, 0] = given.scene.train.labels
    masks[:6, 2] = 0
    said = Annotations.from_masks(masks, classes=2, annotators=["good", "over", "swapped", "blank"])
    told = replace(given, scene=replace(given.scene, said=said, corruption=None))
    readers = reader_masks(told)
    assert {name for name in readers if name.startswith("reader_")} == {
        f"reader_{score}_{name}" for score in ("dice", "missed", "added") for name in ("good", "swapped")
    }
    assert readers["readers_dice"] == pytest.approx(0.5)  # all right, and all wrong
    predicted = reader_predictions(told)
    assert predicted["predicted_dice"] == pytest.approx(
        (predicted["predicted_dice_good"] + predicted["predicted_dice_swapped"]) / 2
    )
    assert "predicted_dice_blank" not in predicted
    assert reader_confusion_error(told).keys() == {"confusion_rmse", "confusion_rmse_good", "confusion_rmse_swapped"}
