"""How well the annotators' confusion matrices were estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.scene import Scene
from truelabel.metrics import undominated_classes

Matrices = NDArray[np.float64]
"""``(R, K, K)``, ``[annotator, true, observed]``."""

FEW = 20
"""Annotators of whom each has an error of its own; more are in the lists only."""


def annotator_confusion(outcome: Outcome) -> dict[str, float]:
    r"""Errors of the matrices, over all annotators (Figures 3, 4, 7, 9 and 11 and Table 1 of Tanno 2019).

    ``confusion_error``, as in :func:`truelabel.metrics.confusion_error`, is the mean over annotators and true classes
    of a row's squared distance:

    .. math:: \frac{1}{R K} \sum_r \sum_{kj} (\hat T^{(r)}_{kj} - T^{(r)}_{kj})^2

    ``confusion_error_by_cell`` is that divided by K once more, of the size of the paper's printed numbers.
    ``mean_confusion_error`` is that of the one matrix :math:`\bar T`, the mean over annotators, which Theorem 1 is
    about. ``skill_error`` is the mean over annotators of :math:`|\hat s_r - s_r|` with the skill
    :math:`s_r = \frac{1}{K} \operatorname{tr} T^{(r)}`, and ``mean_skill`` the mean of :math:`\hat s_r`.

    Rows of real annotators who never met a class are not counted: nobody knows them. Empty for a method without a
    matrix for each annotator, and for masks.
    """
    found = _compared(outcome)
    if found is None:
        return {}
    estimated, true, known = found
    skills, true_skills = _skills(estimated, known), _skills(true, known)
    seen = known.any(0)
    mean = [_mean(matrices, known)[seen] for matrices in (estimated, true)]
    error = float(((estimated - true) ** 2).sum(-1)[known].mean())
    return {
        "confusion_error": error,
        "confusion_error_by_cell": error / estimated.shape[-1],
        "mean_confusion_error": float(((mean[0] - mean[1]) ** 2).sum(-1).mean()),
        "skill_error": float(np.nanmean(np.abs(skills - true_skills))),
        "mean_skill": float(np.nanmean(skills)),
    }


def annotator_matrices(outcome: Outcome) -> dict[str, Any]:
    """The matrices themselves, and the error of each annotator (Figures 2, 4 and 7 of Tanno 2019).

    Lists: ``confusion_estimated`` and ``confusion_true`` ``(R, K, K)``, ``skills_estimated`` and ``skills_true``
    ``(R,)``; null is what nobody knows. Numbers: ``confusion_error_1`` and so on, one an annotator if they are few;
    ``skill_correlation`` over annotators (Pearson's), where both skills differ; ``undominated``, for how many classes
    the estimated mean matrix is not column-dominant (:func:`truelabel.metrics.undominated_classes`).
    """
    found = _compared(outcome)
    if found is None:
        return {}
    estimated, true, known = found
    skills, true_skills = _skills(estimated, known), _skills(true, known)
    met = known.any(1)
    scores: dict[str, Any] = {
        "confusion_estimated": _listed(estimated),
        "confusion_true": _listed(np.where(known[..., None], true, np.nan)),
        "skills_estimated": _listed(skills),
        "skills_true": _listed(true_skills),
        "undominated": len(undominated_classes(estimated)),
    }
    if met.sum() > 2 and np.ptp(skills[met]) > 0 and np.ptp(true_skills[met]) > 0:
        scores["skill_correlation"] = float(np.corrcoef(skills[met], true_skills[met])[0, 1])
    if len(true) <= FEW:
        errors = ((estimated - true) ** 2).sum(-1)
        scores |= {f"confusion_error_{r + 1}": float(errors[r][known[r]].mean()) for r in np.flatnonzero(met)}
    return scores


def true_confusion(scene: Scene) -> tuple[Matrices, NDArray[np.bool_]] | None:
    """How annotators really err, and which rows ``(R, K)`` are known; None for masks.

    As simulated; of real annotators, how often they said what about training examples of which true class.
    """
    if scene.said.space:
        return None
    if scene.confusion is not None:
        matrices = scene.confusion.double().cpu().numpy()
        return matrices, np.ones(matrices.shape[:2], bool)
    said, truth = scene.said, scene.train.labels[scene.said.example]
    counts = np.zeros((len(said.annotators), len(said.classes), len(said.classes)))
    np.add.at(counts, (said.annotator, truth, said.label), 1)
    met = counts.sum(-1)
    return counts / np.maximum(met, 1)[..., None], met > 0


def estimated_confusion(outcome: Outcome, annotators: int) -> Matrices | None:
    """The learner's own matrices, or those that its method left beside it; None if there is not one an annotator."""
    with torch.no_grad():
        own = outcome.learner.annotator_confusion()
    beside = None if outcome.learned is None else outcome.learned.confusion
    for matrices in (own, beside):
        if matrices is not None and len(matrices) == annotators:
            values: Matrices = matrices.detach().double().cpu().numpy()
            return values
    return None


def _compared(outcome: Outcome) -> tuple[Matrices, Matrices, NDArray[np.bool_]] | None:
    known = true_confusion(outcome.scene)
    if known is None or not known[1].any():
        return None
    estimated = estimated_confusion(outcome, len(known[0]))
    return None if estimated is None else (estimated, *known)


def _skills(matrices: Matrices, known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean of the diagonal over known rows ``(R,)``; NaN for annotators of whom nothing is known."""
    diagonal = matrices.diagonal(axis1=-2, axis2=-1)
    count = known.sum(-1)
    return np.where(count > 0, (diagonal * known).sum(-1) / np.maximum(count, 1), np.nan)


def _mean(matrices: Matrices, known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean matrix ``(K, K)`` over those annotators whose row is known."""
    summed: NDArray[np.float64] = (matrices * known[..., None]).sum(0)
    mean: NDArray[np.float64] = summed / np.maximum(known.sum(0), 1)[:, None]
    return mean


def _listed(values: NDArray[np.float64]) -> Any:
    """Nested lists of rounded numbers; None for NaN, which JSON has not."""
    rounded = values.round(5).astype(object)
    rounded[np.isnan(values)] = None
    return rounded.tolist()
