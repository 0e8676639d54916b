"""What becomes of the training examples themselves: their true labels, and how each was mislabelled."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from truelabel.corruption import InstanceDependent
from truelabel.experiments.measures.measure import Outcome
from truelabel.learners import CausalNL, Learner
from truelabel.training import clean_probs, in_chunks


def recovered_labels(outcome: Outcome) -> dict[str, Any]:
    """How often the predicted class of training examples is the true one: of all, and of those labelled wrongly.

    The picture behind Figure 2 of Yao 2021 as numbers: whoever infers the clean labels colours wrongly labelled points
    by their moon. For one label an example, whose truth is known.
    """
    scene = outcome.scene
    if scene.corruption is None:
        return {}
    inputs = torch.from_numpy(scene.train.inputs).to(scene.device)
    right = clean_probs(outcome.learner, inputs, chunk=5000).argmax(-1).numpy() == scene.train.labels
    wrong = scene.said.label != scene.train.labels[scene.said.example]
    mislabelled = right[scene.said.example][wrong]
    scores = {"recovers_labels": float(right.mean())}
    return scores | ({"recovers_wrong_labels": float(mislabelled.mean())} if mislabelled.size else {})


def instance_transition(outcome: Outcome) -> dict[str, Any]:
    r"""How far the transition learned for an example is from the one that its label was drawn by.

    .. math:: \frac{1}{2N} \sum_n \sum_j \left| \hat T(x_n)[y_n, j] - T(x_n)[y_n, j] \right|

    the mean total variation over the N training examples, in the row of the true class; in [0, 1]. Yao 2021 says of
    Figure 2 that the label transition is recovered. Nothing for noise that does not depend on the instance, and for
    learners without matrices. The rates :math:`q_n` are drawn independently of :math:`x_n`, so that no learner gets
    below their mean absolute deviation, about 0.08.
    """
    scene = outcome.scene
    if not isinstance(scene.corruption, InstanceDependent):
        return {}
    inputs = torch.from_numpy(scene.train.inputs).to(scene.device)
    truth = torch.from_numpy(scene.train.labels).long()
    if _matrices(outcome.learner, inputs[:1]) is None:
        return {}
    learned = in_chunks(outcome.learner, lambda part: _rows_of(outcome.learner, part), inputs, chunk=1024)
    rows = learned[torch.arange(len(truth)), truth].double()
    far = (rows - scene.corruption.transition).abs().sum(-1) / 2
    return {"transition_error": float(far.mean())}


def _rows_of(learner: Learner, inputs: Tensor) -> Tensor:
    matrices = _matrices(learner, inputs)
    assert matrices is not None
    return matrices


@torch.no_grad()
def _matrices(learner: Learner, inputs: Tensor) -> Tensor | None:
    """``(N, K, K)``, ``[true, observed]``; None if the learner has none."""
    if isinstance(learner, CausalNL):
        return learner.transition(inputs)
    found = learner.matrices_at(inputs, torch.zeros(len(inputs), 1, dtype=torch.long, device=inputs.device))
    return None if found is None else found[:, 0]
