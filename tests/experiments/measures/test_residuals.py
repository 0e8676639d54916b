from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

from truelabel.annotations import Annotations
from truelabel.data import Dataset
from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.measures.residuals import EDGES, residuals
from truelabel.experiments.scene import Scene
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import build
from truelabel.noise import LogisticNormal, NoNoise


def outcome(noise: torch.nn.Module) -> Outcome:
    torch.manual_seed(0)
    inputs = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    truth = np.arange(50) % 4
    data = Dataset(inputs, truth, (0, 1, 2, 3), "data")
    said = np.where(np.arange(50) % 5 == 0, (truth + 1) % 4, truth)
    scene = Scene(data, data, Annotations.from_labels(said, classes=4), None, 0, torch.device("cpu"))
    network = build(lambda shape: torch.nn.Identity(), (3,))
    return Outcome(scene, Classifier(network, noise, CrossEntropy()).eval())  # type: ignore[arg-type]


def test_medians_are_those_of_the_dense_formula() -> None:
    torch.manual_seed(1)
    model = LogisticNormal(3, 4, scale=0.7)
    told = outcome(model)
    found = residuals(told)
    features = torch.from_numpy(told.scene.train.inputs)
    with torch.no_grad():
        mean, c = model.head(features), model.spread(features)
    scale = c.unsqueeze(-1) * c.unsqueeze(-2) + 0.7 * torch.eye(4)
    labels = torch.from_numpy(told.scene.said.label).long()
    target = model.target * torch.nn.functional.one_hot(labels, 4)
    normal = MultivariateNormal(mean, scale @ scale)
    term = ((target - mean).unsqueeze(-2) @ normal.precision_matrix @ (target - mean).unsqueeze(-1)).flatten()
    wrong = torch.arange(50) % 5 == 0
    for kind, part in (("right", ~wrong), ("wrong", wrong)):
        assert found[f"whitened_{kind}"] == pytest.approx(np.median(term[part].log().numpy()), abs=1e-3)
        plain = (target - mean).square().sum(-1)[part].log()
        assert found[f"plain_{kind}"] == pytest.approx(np.median(plain.numpy()), abs=1e-4)
        histogram = np.array(found[f"plain_{kind}_histogram"])
        assert histogram.sum() == pytest.approx(1, abs=1e-3)
        expected, _ = np.histogram(plain.numpy(), EDGES)
        np.testing.assert_allclose(histogram, expected / part.sum().item(), atol=1e-5)


def test_other_models_have_no_residuals() -> None:
    with pytest.raises(ValueError, match="choose that method"):
        residuals(outcome(NoNoise(3, 4)))
