"""Who labels what: annotators drawn for every example, without replacement."""

from __future__ import annotations

import torch
from torch import Tensor

MANY = 256
"""From this many annotators on, a few of them are drawn one by one instead of ranking all of them."""

_CHUNK = 2**22
"""Lots that are held at a time."""

_TRIES = 16
"""Draws of an annotator that may hit one drawn before, until the others alone are drawn from."""


def assign(
    examples: int,
    annotators: int,
    labels_per_example: tuple[int, int],
    workload: Tensor | None,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    r"""Draw the annotators of every example, without replacement.

    Their number is drawn evenly from ``labels_per_example``. Then they are drawn one after another, each in proportion
    to its workload among those not drawn yet, as the k smallest of :math:`e_r / w_r` with :math:`e_r` exponential are
    (the Gumbel top-k trick).

    Memory follows the number of labels. So does time if few of many are drawn: if R is at least :data:`MANY` and the
    most labels of an example are at most :math:`\sqrt R`. Otherwise all annotators are ranked for each example.

    Args:
        examples: N.
        annotators: R.
        labels_per_example: at least, and at most.
        workload: ``(R,)`` positive weights; None for equal ones.
        generator: for all draws.

    Returns:
        Example and annotator of each label, ``(L,)`` both, sorted by example, then annotator.

    Example:
        >>> example, annotator = assign(3, 4, (2, 2), None, torch.Generator().manual_seed(0))
        >>> example.tolist(), len(annotator)
        ([0, 0, 1, 1, 2, 2], 6)
    """
    low, high = labels_per_example
    count = torch.randint(low, high + 1, (examples, 1), generator=generator)
    if annotators >= MANY and high**2 <= annotators:
        return _drawn_one_by_one(count, high, annotators, workload, generator)
    return _ranked(count, annotators, workload, generator)


def label_bounds(labels_per_example: int | tuple[int, int] | None, annotators: int) -> tuple[int, int]:
    """At least and at most so many labels an example, from a number, from both, or from None for all annotators.

    Example:
        >>> label_bounds(None, 5), label_bounds(1, 5), label_bounds((1, 3), 5)
        ((5, 5), (1, 1), (1, 3))
    """
    given = annotators if labels_per_example is None else labels_per_example
    low, high = (given, given) if isinstance(given, int) else given
    if not 1 <= low <= high <= annotators:
        raise ValueError(f"labels_per_example must lie in 1..{annotators}, got {labels_per_example}")
    return low, high


def _ranked(
    count: Tensor, annotators: int, workload: Tensor | None, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Those of the lowest rank among all."""
    examples, chosen = [], []
    rows = max(1, _CHUNK // annotators)
    for start in range(0, max(1, len(count)), rows):
        part = count[start : start + rows]
        if workload is None:
            # The order itself is as good as the rank, if no annotator is preferred.
            rank = torch.rand(len(part), annotators, generator=generator).argsort(-1)
        else:
            rank = _waiting_times(len(part), workload, generator).argsort(-1).argsort(-1)
        example, annotator = (rank < part).nonzero(as_tuple=True)
        examples.append(example + start)
        chosen.append(annotator)
    return torch.cat(examples), torch.cat(chosen)


def _drawn_one_by_one(
    count: Tensor, high: int, annotators: int, workload: Tensor | None, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Each slot in turn, drawn again where it repeats an earlier one."""
    weights = torch.ones(annotators, dtype=torch.double) if workload is None else workload
    cumulative = (weights / weights.sum()).cumsum(0)
    chosen = torch.full((len(count), high), annotators)
    for slot in range(high):
        pending = (count[:, 0] > slot).nonzero().squeeze(-1)
        for _ in range(_TRIES):
            lots = torch.rand(len(pending), generator=generator, dtype=torch.double)
            # Rounding may leave the last cumulative sum just below one.
            drawn = torch.searchsorted(cumulative, lots, right=True).clamp_max(annotators - 1)
            repeats = (chosen[pending, :slot] == drawn.unsqueeze(-1)).any(-1)
            chosen[pending[~repeats], slot] = drawn[~repeats]
            pending = pending[repeats]
        # One who does most of the work is hit again and again: leave out those drawn before.
        for index in pending.split(max(1, _CHUNK // annotators)):
            waiting = _waiting_times(len(index), weights, generator)
            waiting.scatter_(1, chosen[index, :slot], torch.inf)
            chosen[index, slot] = waiting.argmin(-1)
    chosen = chosen.sort(-1).values
    example, slot_of = (chosen < annotators).nonzero(as_tuple=True)
    return example, chosen[example, slot_of]


def _waiting_times(rows: int, weights: Tensor, generator: torch.Generator) -> Tensor:
    """Exponential times whose rates are the weights: ``(rows, R)``. Who comes first is drawn in proportion to them."""
    lots = torch.rand(rows, len(weights), generator=generator, dtype=torch.double)
    return -torch.log1p(-lots) / weights
