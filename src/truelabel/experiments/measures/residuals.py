"""How far labels are from the mean of a logistic-normal model: what its covariance does to wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from truelabel.experiments.measures.measure import Outcome
from truelabel.learners import Classifier
from truelabel.noise import LogisticNormal
from truelabel.training import in_chunks

EDGES = np.linspace(-6, 8, 57)
"""Of the histograms, in natural logarithms of the label-dependent term."""


def residuals(outcome: Outcome) -> dict[str, Any]:
    r"""Distributions of the label-dependent term :math:`(y - \mu)^\top \Sigma^{-1} (y - \mu)` over training labels.

    With the covariance that was learned ("whitened") and with the identity instead ("plain"), for labels that are right
    and for those that are wrong: histograms of the logarithm over :data:`EDGES`, as shares, and medians. Figures 6, 7
    and E.1 of Englesson 2023.
    """
    learner, scene = outcome.learner, outcome.scene
    if not (isinstance(learner, Classifier) and isinstance(learner.noise, LogisticNormal)):
        raise ValueError("residuals are those of a logistic-normal model: choose that method")
    network, noise = learner.network, learner.noise
    labels = torch.full((len(scene.train), 1), -1)
    labels[scene.said.example, 0] = torch.from_numpy(scene.said.label).long()
    inputs = torch.from_numpy(scene.train.inputs).to(scene.device)
    features = in_chunks(learner, network, inputs, chunk=5000)
    with torch.no_grad():
        far = noise.cpu().attenuation(features, labels)
    noise.to(scene.device)
    wrong = scene.said.label != scene.train.labels[scene.said.example]
    scores: dict[str, Any] = {}
    for name, distance in (("plain", far.residual), ("whitened", far.whitened)):
        terms = 2 * distance[scene.said.example, 0].clamp_min(1e-9).log().numpy()
        for kind, part in (("right", terms[~wrong]), ("wrong", terms[wrong])):
            if part.size:
                counts, _ = np.histogram(part.clip(EDGES[0], EDGES[-1]), EDGES)
                scores[f"{name}_{kind}"] = float(np.median(part))
                scores[f"{name}_{kind}_histogram"] = (counts / part.size).round(5).tolist()
    return scores
