"""Every network of the catalogue carries a classifier; what a network alone must satisfy is in ``tests/networks``."""

from __future__ import annotations

import torch

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import build
from truelabel.noise import NoNoise
from truelabel.types import Batch


def test_a_network_carries_a_classifier(network_name: str, network_shape: tuple[int, ...]) -> None:
    network = build(network_name, network_shape)
    learner = Classifier(network, NoNoise(network.features, classes=4), CrossEntropy()).train()
    inputs = torch.randn(3, *network_shape)
    units = network(inputs).shape[:-1]
    labels = torch.randint(4, (*units, 2))
    labels[0] = -1
    annotators = torch.tensor([[-1, -1], [0, 1], [2, 0]])
    step = learner(Batch(inputs, labels, annotators, torch.ones(3, 2), None, torch.arange(3)))
    assert step.losses.shape == (3,)
    assert step.losses[0] == 0
    assert step.predicted.shape == units
    clean = learner.eval().predict(inputs).clean
    torch.testing.assert_close(clean.exp().sum(-1), torch.ones(units))
