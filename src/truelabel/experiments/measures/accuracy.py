"""How often the clean class is right."""

from __future__ import annotations

from typing import Any

import torch

from truelabel.experiments.measures.measure import Outcome
from truelabel.training import clean_probs


def accuracy(outcome: Outcome) -> dict[str, float]:
    """Share of test examples whose most probable class is the true one; of voxels, in masks."""
    truth = outcome.scene.test_labels
    right = (outcome.test_probs.argmax(-1) == truth)[truth >= 0]
    return {"accuracy": float(right.double().mean())}


def training_accuracy(outcome: Outcome) -> dict[str, Any]:
    """How often training labels are predicted as given: those that are right, and those that are wrong.

    Figure 4 of Englesson 2023. A learner that learns wrong labels by heart has a high share of the wrong ones. For one
    label an example.
    """
    scene = outcome.scene
    inputs = torch.from_numpy(scene.train.inputs).to(scene.device)
    predicted = clean_probs(outcome.learner, inputs, chunk=5000).argmax(-1).numpy()[scene.said.example]
    wrong = scene.said.label != scene.train.labels[scene.said.example]
    match = predicted == scene.said.label
    parts = {"fits_right_labels": match[~wrong], "fits_wrong_labels": match[wrong]}
    return {name: float(part.mean()) for name, part in parts.items() if part.size}
