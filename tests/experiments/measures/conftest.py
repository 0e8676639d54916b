"""A tiny segmentation whose every number can be counted by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from truelabel.corruption import Blank, EdgeAdded, Faithful, MaskReaders, Reader, Relabelling
from truelabel.data import Dataset
from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.scene import Scene
from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.networks import build
from truelabel.noise import NoiseModel, NoNoise

MakeScene = Callable[..., Scene]
MakeOutcome = Callable[..., Outcome]

SIDE = 9


def masks(images: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    """A rectangle of ones in each, and pictures that show it but for a few pixels."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((images, SIDE, SIDE), np.int16)
    for mask in truth:
        top, left = rng.integers(1, 4, 2)
        height, width = rng.integers(2, 5, 2)
        mask[top : top + height, left : left + width] = 1
    return truth


def dataset(images: int, seed: int) -> Dataset:
    truth = masks(images, seed)
    wrong = np.random.default_rng(seed + 1).random(truth.shape) < 0.1
    shown = np.where(wrong, 1 - truth, truth).astype(np.float32)
    return Dataset(np.stack([shown, 1 - shown], 1), truth, ("background", "thing"), "tiny")


def make_scene(labels: int | None = None) -> Scene:
    readers: dict[str, Reader] = {
        "good": Faithful(),
        "over": EdgeAdded(1),
        "swapped": Relabelling((1, 0)),
        "blank": Blank(),
    }
    corruption = MaskReaders(readers, 2, labels)
    train, test = dataset(12, 0), dataset(7, 5)
    said = corruption(torch.from_numpy(train.labels).long(), None, torch.Generator().manual_seed(0))
    return Scene(train, test, said, corruption, 0, torch.device("cpu"))


def pixel_learner(noise: NoiseModel | None = None) -> Classifier:
    """Says what the first channel shows: features are the two channels of a pixel."""
    noise = noise or NoNoise(2, 2)
    head = noise.head
    assert isinstance(head, torch.nn.Linear)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[-4.0, 4.0], [4.0, -4.0]]))
        head.bias.zero_()
    network = build(lambda shape: torch.nn.Conv2d(2, 2, 1, bias=False), (2, SIDE, SIDE))
    with torch.no_grad():
        next(network.parameters()).copy_(torch.eye(2)[..., None, None])
    return Classifier(network, noise, CrossEntropy())


def make_outcome(noise: NoiseModel | None = None, learner: Learner | None = None, labels: int | None = None) -> Outcome:
    return Outcome(make_scene(labels), (learner or pixel_learner(noise)).eval())


@pytest.fixture
def scene() -> MakeScene:
    return make_scene


@pytest.fixture
def outcome() -> MakeOutcome:
    return make_outcome
