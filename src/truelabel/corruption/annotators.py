"""Simulated groups of annotators (Sec. 4.1 of Tanno 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from truelabel.corruption.symmetric import symmetric

_REDRAWS = 100_000
"""How often targets are drawn until the search for dominance ends."""

_CHUNK = 2**16
"""Cells of mean confusion matrices that are drawn at a time, but no fewer than 64 matrices."""

_ROUNDING = 1e-12
"""Probabilities that lie closer together are equal."""

_LOOK_ALIKES = ((3, 5), (1, 9), (4, 7), (0, 2), (6, 8))
"""Cat and dog, automobile and truck, deer and horse, airplane and bird, frog and ship."""


def perturbed_skills(
    skill: float, annotators: int, generator: torch.Generator, spread: float = 0.01
) -> tuple[float, ...]:
    r"""Skills of a group that is about equally good (Sec. 4.1 of Tanno 2019).

    .. math:: p_r = \min(1, \max(0, p + \varepsilon_r)), \quad \varepsilon_r \sim \mathcal N(0, \sigma^2)

    The paper writes N(0, 0.01) and calls it small: here 0.01 is the standard deviation, not the variance.

    Args:
        skill: p in [0, 1].
        annotators: R.
        generator: for the draws.
        spread: σ.

    Returns:
        ``(R,)`` probabilities, for :func:`pairwise_flippers` or :func:`hammer_spammers`.

    Example:
        >>> skills = perturbed_skills(0.35, 5, torch.Generator().manual_seed(0))
        >>> [round(p, 2) for p in skills]
        [0.37, 0.35, 0.33, 0.36, 0.34]
    """
    if not 0 <= skill <= 1:
        raise ValueError(f"skill must be a probability, got {skill}")
    if annotators < 1:
        raise ValueError(f"annotators must be at least 1, got {annotators}")
    if not 0 <= spread < float("inf"):
        raise ValueError(f"spread must not be negative, got {spread}")
    noise = torch.randn(annotators, generator=generator, dtype=torch.double)
    return tuple((skill + spread * noise).clamp(0, 1).tolist())


def pairwise_flippers(
    classes: int, skills: Sequence[float], generator: torch.Generator, *, dominant: bool | None = None
) -> Tensor:
    r"""Annotators who mistake each class for one other, always the same.

    .. math:: T[k, k] = p_r, \quad T[k, t_r(k)] = 1 - p_r

    The target :math:`t_r(k) \ne k` is drawn uniformly for every annotator and class.

    Whether the noise is sure to be identified depends on the mean :math:`\bar T` over annotators: every diagonal cell
    must be the largest of its *column*, :math:`\bar T[i, i] > \bar T[j, i]` (Theorem 1 of Tanno 2019). Of five
    annotators of skill 0.3 to 0.4 it depends on the targets that they happen to share; ``dominant`` asks for one or the
    other. The draw is then one from all draws of that kind.

    Args:
        classes: K.
        skills: ``(R,)``, the probability :math:`p_r` that annotator r is right.
        generator: for the targets.
        dominant: True to draw targets until the mean confusion is column-dominant, False until it is not; None to take
            them as they come.

    Returns:
        ``(R, K, K)``, ``[annotator, true, observed]``.

    Example:
        >>> T = pairwise_flippers(4, [0.7, 0.9], torch.Generator().manual_seed(0))
        >>> T.diagonal(dim1=-2, dim2=-1)[:, 0], (T > 0).sum(-1).unique()
        (tensor([0.7000, 0.9000], dtype=torch.float64), tensor([2]))
        >>> T = pairwise_flippers(10, [0.3] * 5, torch.Generator().manual_seed(0), dominant=True)
        >>> round(float((T.mean(0) - torch.eye(10)).max()), 2)  # two share a target, three would make 0.42
        0.28
    """
    _check_skills(classes, skills)
    p = torch.tensor(skills, dtype=torch.double)
    if dominant is None:
        target = _targets(classes, (len(skills),), generator)
    else:
        target = _searched_targets(classes, p, generator, dominant)
    p = p.view(-1, 1, 1)
    confusion = torch.zeros(len(skills), classes, classes, dtype=torch.double)
    confusion.scatter_(-1, target.unsqueeze(-1), (1 - p).expand(-1, classes, 1).contiguous())
    return confusion + p * torch.eye(classes, dtype=torch.double)


def hammer_spammers(classes: int, skills: Sequence[float], *, kind: Literal["exact", "redraw"] = "exact") -> Tensor:
    r"""Annotators who are right with probability :math:`p_r` and otherwise name any class.

    "exact": any *other* class, so that they are right with probability :math:`p_r` exactly.

    .. math:: T[k, k] = p_r, \quad T[k, j] = (1 - p_r) / (K - 1)

    A skill of 1 is a hammer, 1/K a spammer. "redraw": any class, the true one among them.

    .. math:: T[k, k] = p_r + (1 - p_r) / K, \quad T[k, j] = (1 - p_r) / K

    A skill of 1 is a hammer, 0 a spammer. (Tanno 2019 does not say which; its figure draws the diagonal around p.)

    Args:
        classes: K.
        skills: ``(R,)``.
        kind: which of the two.

    Returns:
        ``(R, K, K)``, ``[annotator, true, observed]``.

    Example:
        >>> hammer_spammers(3, [0.6])[0, 0]
        tensor([0.6000, 0.2000, 0.2000], dtype=torch.float64)
        >>> hammer_spammers(3, [0.4], kind="redraw")[0, 0]
        tensor([0.6000, 0.2000, 0.2000], dtype=torch.float64)
    """
    _check_skills(classes, skills)
    if kind not in ("exact", "redraw"):
        raise ValueError(f"kind must be 'exact' or 'redraw', got {kind!r}")
    return torch.stack([symmetric(classes, 1 - p, kind="flip" if kind == "exact" else "redraw") for p in skills])


def cifar10_annotators() -> Tensor:
    r"""Four very different annotators of CIFAR-10 (Fig. 2 of Tanno 2019), right 45% of the time on average.

    A hammer-spammer of skill 0.6; one who mistakes look-alikes for each other (cat and dog, automobile and truck, deer
    and horse, airplane and bird, frog and ship) with probability 0.4; one who names a neighbouring class index, 0.2
    each way; and an adversary, who always calls class k by the name of k + 3 (mod 10). Their mean is column-dominant:
    the largest mistake is 0.36, deer for horse.

    Differs from the paper: it draws its matrices in a figure only, and gives no numbers but the 45%.

    Returns:
        ``(4, 10, 10)``, ``[annotator, true, observed]``.

    Example:
        >>> T = cifar10_annotators()
        >>> T.diagonal(dim1=-2, dim2=-1).mean(-1)
        tensor([0.6000, 0.6000, 0.6000, 0.0000], dtype=torch.float64)
    """
    eye = torch.eye(10, dtype=torch.double)
    twin = torch.arange(10)
    for one, other in _LOOK_ALIKES:
        twin[one], twin[other] = other, one
    return torch.stack(
        [
            symmetric(10, 0.4, kind="flip"),
            0.6 * eye + 0.4 * eye[twin],
            0.6 * eye + 0.2 * (eye.roll(1, -1) + eye.roll(-1, -1)),
            eye.roll(3, -1),
        ]
    )


def _targets(classes: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """What each class is mistaken for, never itself: ``(*shape, K)``."""
    shift = torch.randint(1, classes, (*shape, classes), generator=generator)
    return (torch.arange(classes) + shift) % classes


def _searched_targets(classes: int, p: Tensor, generator: torch.Generator, dominant: bool) -> Tensor:
    """Targets ``(R, K)`` whose mean confusion is column-dominant, or is not.

    All diagonal cells of the mean are the mean skill. So the columns are dominant if no row has a mistake as frequent,
    and rows are drawn independently: to have them all, each class may be drawn again on its own.
    """
    annotators = len(p)
    batch = max(64, _CHUNK // (classes * max(classes, annotators)))
    found = torch.zeros(annotators, classes, dtype=torch.long)
    missing = torch.ones(classes, dtype=torch.bool)
    wrong = ((1 - p) / annotators).view(1, -1, 1)
    for _ in range(0, _REDRAWS, batch):
        target = _targets(classes, (batch, annotators), generator)
        mistakes = torch.zeros(batch, classes, classes, dtype=torch.double)
        mistakes.scatter_add_(1, target, wrong.expand_as(target))  # [draw, observed, true]
        fine = mistakes.amax(1) < p.mean() - _ROUNDING
        if dominant:
            first = fine.int().argmax(0)
            found[:, missing] = target[first, :, torch.arange(classes)].T[:, missing]
            missing &= ~fine.any(0)
            if not missing.any():
                return found
        elif not bool(fine.all()):
            return target[int((~fine.all(-1)).int().argmax())]
    share = -(-annotators // (classes - 1))  # annotators with the same target, if targets are spread evenly
    least = share / (annotators + share)
    kind, hint = (
        ("dominant", f"equal ones must exceed {least:.2g}, and any mean above 0.5 will do")
        if dominant
        else ("undominant", "their mean must not exceed 0.5, and the more annotators, the lower it must be")
    )
    raise ValueError(f"skills of mean {float(p.mean()):.2g} gave no {kind} draw in {_REDRAWS:,}: {hint}")


def _check_skills(classes: int, skills: Sequence[float]) -> None:
    if classes < 2:
        raise ValueError(f"classes must be at least 2, got {classes}")
    if not skills or not all(0 <= p <= 1 for p in skills):
        raise ValueError(f"skills must be probabilities, one for each annotator, got {list(skills)}")
