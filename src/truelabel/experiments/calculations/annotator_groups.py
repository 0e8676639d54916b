"""Figure 8 of Tanno 2019: groups of simulated annotators."""

from __future__ import annotations

from typing import Any

import torch

from truelabel.experiments.noises import make_noise
from truelabel.metrics import undominated_classes
from truelabel.training.seeds import generator_of


def annotator_group(seed: int, *, noise: str, classes: int = 10, **options: Any) -> dict[str, Any]:
    r"""The matrices of a group, the very ones that a training with this seed and noise has.

    The group can be told from the truth for sure if its mean matrix :math:`\bar T = \frac{1}{R} \sum_r T^{(r)}` is
    column-dominant, that is if the margin :math:`\min_i (\bar T_{ii} - \max_{j \ne i} \bar T_{ji})` is above zero
    (Theorem 1 of Tanno 2019).

    Args:
        seed: of the draw.
        noise: name of the group in :data:`~truelabel.experiments.noises.NOISES`.
        classes: K.
        options: of the noise.

    Returns:
        ``confusion``, nested lists ``(R, K, K)``; ``accuracy`` and ``mean_skill``, how often its labels are right if
        classes are equally frequent; ``skill_spread``, the standard deviation over annotators; ``largest_mistake`` of
        the mean matrix; ``margin``; ``undominated``, how many classes are not dominant.

    Example:
        >>> group = annotator_group(0, noise="flippers", skill=0.3, dominant=True)
        >>> round(group["accuracy"], 1), group["undominated"], group["margin"] > 0
        (0.3, 0, True)
    """
    confusion = make_noise(noise, classes, generator_of(seed, "experiment", "noise"), **options).confusion.double()
    skills = confusion.diagonal(dim1=-2, dim2=-1).mean(-1)
    mean = confusion.mean(0)
    mistakes = mean - torch.diag(mean.diagonal())
    return {
        "accuracy": float(skills.mean()),
        "mean_skill": float(skills.mean()),
        "skill_spread": float(skills.std()) if len(skills) > 1 else 0.0,
        "largest_mistake": float(mistakes.max()),
        "margin": float((mean.diagonal() - mistakes.amax(0)).min()),
        "undominated": len(undominated_classes(confusion.numpy())),
        "confusion": [[[round(p, 5) for p in row] for row in matrix] for matrix in confusion.tolist()],
    }
