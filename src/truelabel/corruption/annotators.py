"""Simulated groups of annotators (Sec. 4.1 of Tanno 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from truelabel.corruption.symmetric import symmetric


def pairwise_flippers(classes: int, skills: Sequence[float], generator: torch.Generator) -> Tensor:
    r"""Annotators who mistake each class for one other, always the same.

    .. math:: T[k, k] = p_r, \quad T[k, t_r(k)] = 1 - p_r

    The target :math:`t_r(k) \ne k` is drawn uniformly for every annotator and class.

    Args:
        classes: K.
        skills: ``(R,)``, the probability :math:`p_r` that annotator r is right.
        generator: for the targets.

    Returns:
        ``(R, K, K)``, ``[annotator, true, observed]``.

    Example:
        >>> T = pairwise_flippers(4, [0.7, 0.9], torch.Generator().manual_seed(0))
        >>> T.diagonal(dim1=-2, dim2=-1)[:, 0], (T > 0).sum(-1).unique()
        (tensor([0.7000, 0.9000], dtype=torch.float64), tensor([2]))
    """
    _check_skills(classes, skills)
    shift = torch.randint(1, classes, (len(skills), classes), generator=generator)
    target = (torch.arange(classes) + shift) % classes
    p = torch.tensor(skills, dtype=torch.double).view(-1, 1, 1)
    confusion = torch.zeros(len(skills), classes, classes, dtype=torch.double)
    confusion.scatter_(-1, target.unsqueeze(-1), (1 - p).expand(-1, classes, 1).contiguous())
    return confusion + p * torch.eye(classes, dtype=torch.double)


def hammer_spammers(classes: int, skills: Sequence[float]) -> Tensor:
    r"""Annotators who are right with probability :math:`p_r` and otherwise name any other class.

    .. math:: T[k, k] = p_r, \quad T[k, j] = (1 - p_r) / (K - 1)

    A skill of 1 is a hammer, 1/K a spammer. (The diagonal is :math:`p_r` exactly, not :math:`p_r + (1 - p_r)/K`.)

    Args:
        classes: K.
        skills: ``(R,)``.

    Returns:
        ``(R, K, K)``, ``[annotator, true, observed]``.

    Example:
        >>> hammer_spammers(3, [0.6])[0, 0]
        tensor([0.6000, 0.2000, 0.2000], dtype=torch.float64)
    """
    _check_skills(classes, skills)
    return torch.stack([symmetric(classes, 1 - p, kind="flip") for p in skills])


def _check_skills(classes: int, skills: Sequence[float]) -> None:
    if classes < 2:
        raise ValueError(f"classes must be at least 2, got {classes}")
    if not skills or not all(0 <= p <= 1 for p in skills):
        raise ValueError(f"skills must be probabilities, one for each annotator, got {list(skills)}")
