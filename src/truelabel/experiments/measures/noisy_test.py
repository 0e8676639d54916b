"""How well noisy labels of new examples are predicted."""

from __future__ import annotations

import torch

from truelabel.experiments.measures.measure import Outcome
from truelabel.training import TrainingSet
from truelabel.training.scoring import chunks


@torch.no_grad()
def noisy_test(outcome: Outcome) -> dict[str, float]:
    r"""Log likelihood and accuracy on test labels that went wrong as the training labels did (Collier 2020).

    .. math:: \frac{1}{L} \sum_{l=1}^{L} \log p(\tilde y_l \mid x_l), \qquad
              \frac{1}{L} \sum_{l=1}^{L} \mathbf{1}[\arg\max_k p(y = k \mid x_l) = \tilde y_l]

    over the L labels given, pixels in masks. The first needs the learner's model of what was *said*, which is no more
    than its answer if it has no model of the noise. A density is no likelihood of a label: without probabilities there
    is only the accuracy. Where the noise is real, nobody knows what would have been said, and there is neither.
    """
    scene, learner = outcome.scene, outcome.learner
    if scene.corruption is None:
        return {}
    data = TrainingSet(scene.test_inputs, scene.said_of_test, device=scene.device)
    kind = next(learner.parameters()).dtype
    likelihood, right, given = (torch.zeros((), dtype=torch.double, device=scene.device) for _ in range(3))
    normalised = True
    learner.eval()
    for part in chunks(torch.arange(len(data), device=scene.device), data):
        batch = data.batch(part)
        prediction = learner.predict(batch.inputs.to(kind), batch.annotators)
        there = batch.labels >= 0
        normalised = prediction.noisy.normalised
        if normalised:
            likelihood += prediction.noisy.at(batch.labels)[there].double().sum()
        right += ((prediction.clean.argmax(-1, keepdim=True) == batch.labels) & there).sum()
        given += there.sum()
    scores = {"noisy_accuracy": float(right / given)}
    return {"noisy_log_likelihood": float(likelihood / given), **scores} if normalised else scores
