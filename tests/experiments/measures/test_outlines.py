from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from truelabel.annotations import Annotations
from truelabel.data import Dataset
from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.measures.outlines import near_outlines, outline_uncertainty, scene_overlap
from truelabel.experiments.scene import Scene
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import build
from truelabel.noise import GaussianLogits, NoiseModel, NoNoise


def outcome(noise: NoiseModel, labels: np.ndarray[tuple[int, ...], np.dtype[np.int16]]) -> Outcome:
    """A learner that answers pixel by pixel. The first channel shows the class, through more noise near outlines."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(len(labels), 2, *labels.shape[1:])).astype(np.float32)
    inputs[:, 0] = labels + inputs[:, 0] * np.where(near_outlines(labels), 1.0, 0.3)
    data = Dataset(inputs, labels, (0, 1, 2), "scenes")
    scene = Scene(data, data, Annotations.from_masks(labels[:, None], classes=3), None, 0, torch.device("cpu"))
    network = build(lambda shape: nn.Identity(), (2, *labels.shape[1:]))
    return Outcome(scene, Classifier(network, noise, CrossEntropy()).eval())


@pytest.fixture
def labels() -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    """Large things of three classes, and some void."""
    masks = np.zeros((3, 40, 50), np.int16)
    masks[0, 20:] = 1
    masks[1, :, 25:] = 2
    masks[1, :3] = -1
    return masks


@pytest.mark.parametrize("reach", [1, 3])
def test_outlines_are_found_as_by_looking_at_every_neighbour(reach: int) -> None:
    masks = np.kron(np.random.default_rng(1).integers(-1, 3, size=(2, 3, 4)), np.ones((5, 5))).astype(np.int16)
    near = near_outlines(masks, reach)
    for image, row, column in np.ndindex(*masks.shape):
        around = masks[
            image, max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1
        ]  # fmt: skip
        assert near[image, row, column] == (around != masks[image, row, column]).any()


def test_overlap_is_counted_class_by_class(labels: np.ndarray[tuple[int, ...], np.dtype[np.int16]]) -> None:
    noise = NoNoise(2, 3)
    with torch.no_grad():  # the class nearest to the first channel
        noise.head.weight.copy_(torch.tensor([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
        noise.head.bias.copy_(torch.tensor([0.0, -0.5, -2.0]))
    case = outcome(noise, labels)
    predicted = case.test_probs.argmax(-1).numpy()

    def by_hand(counted: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
        shares = []
        for k in range(3):
            here, there = (predicted == k) & counted, (labels == k) & counted
            shares.append((here & there).sum() / (here | there).sum())
        return float(np.mean(shares))

    scores = scene_overlap(case)
    assert scores["mean_iou"] == pytest.approx(by_hand(labels >= 0))
    assert scores["outline_mean_iou"] == pytest.approx(by_hand((labels >= 0) & near_outlines(labels)))
    assert scores["outline_mean_iou"] < scores["mean_iou"] - 0.1


def test_variance_near_outlines_and_elsewhere(labels: np.ndarray[tuple[int, ...], np.dtype[np.int16]]) -> None:
    case = outcome(GaussianLogits(2, 3, prediction_samples=8), labels)
    variance = case.learner.uncertainty(case.scene.test_inputs).variance.mean(-1).double().numpy()
    near, known = near_outlines(labels), labels >= 0
    scores = outline_uncertainty(case)
    assert scores["variance_near"] == pytest.approx(variance[near & known].mean(), rel=1e-5)
    assert scores["variance_inside"] == pytest.approx(variance[~near & known].mean(), rel=1e-5)
    share = variance[near & known].sum() / variance[known].sum()
    assert scores["variance_share_near"] == pytest.approx(share, rel=1e-5)


def test_without_draws_there_is_no_variance_and_without_outlines_none_near_them(
    labels: np.ndarray[tuple[int, ...], np.dtype[np.int16]],
) -> None:
    assert outline_uncertainty(outcome(NoNoise(2, 3), labels)) == {}
    scores = outline_uncertainty(outcome(GaussianLogits(2, 3, prediction_samples=8), labels[2:]))
    assert scores.keys() == {"variance_inside", "variance_share_near"}
    assert scores["variance_share_near"] == 0
