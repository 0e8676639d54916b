"""Confusion matrices that every pixel has of its own, mixed one reader at a time so that memory stays small.

Numbers of matrices are *planes*: ``raw (N, S, P, V)``, where V is the number of units of an example and P that of the
numbers of one matrix. What is summed over, true and observed classes, then comes before what is long, and every
operation runs along contiguous memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from truelabel.noise.confusion_cells import Cells, FullCells, LowRankCells
from truelabel.precision import single_kind

Slot = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]

FLOOR = 20.0
"""How far below zero the numbers of low-rank matrices may go."""

LARGEST = 80.0
"""Beyond it a softplus is its argument, whose exponential would overflow."""

TILE = 2**19
"""Numbers that are looked at together on a CPU: what is made of them then stays in the cache."""


class PixelCells(ABC):
    """How planes of free numbers become likelihoods, traces and matrices.

    Attributes:
        cells: the same for rows of numbers; it knows where they start.

    Shapes: ``raw (N, S, P, V)``, ``clean (N, K, V)`` log p(y|x), ``labels (N, S, V)``. What a missing label gives is
    finite and has no meaning.
    """

    cells: Cells

    @abstractmethod
    def likelihood(self, raw: Tensor, clean: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        r""":math:`\log \sum_k p(k) T[k, \tilde y]`, ``(N, S, V)``, and the mean traces, ``(N, S)``, in one pass."""

    def traces(self, raw: Tensor) -> Tensor:
        """Mean trace over the units of an example: ``(N, S)``."""
        traces = self.cells.traces(self.cells.parts(self.rows(raw)))
        return traces.view(len(raw), raw.shape[-1], raw.shape[1]).mean(1)

    def matrices(self, raw: Tensor) -> Tensor:
        """``(N, V, S, K, K)``, rows sum to one."""
        matrices = self.cells.matrices(self.cells.parts(self.rows(raw)))
        return matrices.view(len(raw), raw.shape[-1], raw.shape[1], *matrices.shape[1:])

    def rows(self, raw: Tensor) -> Tensor:
        """Numbers as :attr:`cells` takes them: ``(N V S, P)``, in float32 or better."""
        return raw.movedim(-1, 1).flatten(0, -2).to(single_kind(raw))


class FullPixelCells(PixelCells):
    r"""Every cell is free, :math:`T[k, j] \propto \operatorname{softplus}(\rho_{kj})`; gradients in closed form.

    Args:
        classes: K; P is K².
    """

    def __init__(self, classes: int) -> None:
        self.cells = FullCells(classes)

    def likelihood(self, raw: Tensor, clean: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        values, traces = _applied(_ClosedForm, raw, clean, labels)
        return values, traces


class LowRankPixelCells(PixelCells):
    """A diagonal and a few typical mistakes, as in :class:`~truelabel.noise.confusion_cells.LowRankCells`.

    Args:
        classes: K.
        rank: L; P is K (1 + 2 L).
    """

    def __init__(self, classes: int, rank: int) -> None:
        self.cells = LowRankCells(classes, rank)

    def likelihood(self, raw: Tensor, clean: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        values, traces = _applied(_Recomputed, raw, clean, labels, self._slot)
        return values, traces

    def rows(self, raw: Tensor) -> Tensor:
        # Products of cells that are all but zero would underflow.
        floored: Tensor = functional.softplus(super().rows(raw) + FLOOR) - FLOOR
        return floored

    def _slot(self, raw: Tensor, clean: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Of one slot: ``raw (N, 1, P, V)``, ``labels (N, 1, V)`` -> ``(N, V)`` and ``(N,)``."""
        parts = self.cells.parts(self.rows(raw))
        columns = self.cells.log_columns(parts, None, labels.squeeze(1).clamp_min(0))
        return (clean.mT + columns).logsumexp(-1), self.cells.traces(parts).view(len(raw), -1).mean(1)


class _ClosedForm(torch.autograd.Function):
    r"""Log likelihoods of known labels, and mean traces.

    With :math:`s = \operatorname{softplus}(\rho)`, :math:`z_k = \sum_j s_{kj}`, :math:`t_k = s_{kk} / z_k` and the
    responsibilities :math:`r_k = p_k s_{k\tilde y} / (z_k \sum_i p_i s_{i\tilde y} / z_i)`, the gradient of the log
    likelihood is :math:`r_k` to log p and :math:`r_k (1[j = \tilde y] / s_{k\tilde y} - 1 / z_k)\, \sigma(\rho_{kj})`
    to ρ, and that of the trace :math:`(1[j = k] - t_k)\, \sigma(\rho_{kj}) / z_k`.
    """

    @staticmethod
    def forward(ctx: Any, raw: Tensor, clean: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        kind, likely = single_kind(raw), clean.new_empty(labels.shape)
        traces = clean.new_zeros(raw.shape[:2])
        for rows, span in _tiles(raw):
            probs = clean[rows, :, span].exp()
            for slot in range(raw.shape[1]):
                cells = _softplus(_view(raw, rows, slot, span).to(kind))
                total = cells.sum(2)
                traces[rows, slot] += (_diagonal(cells) / total).sum((1, 2))
                own = cells.mul_(_one_hot(labels[rows, slot, span], cells)).sum(2)
                torch.sum(own.div_(total).mul_(probs), 1, out=likely[rows, slot, span])
        likely.clamp_min_(torch.finfo(likely.dtype).tiny)
        ctx.save_for_backward(raw, clean, labels, likely)
        return likely.log(), traces.div_(raw.shape[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_values: Tensor, to_traces: Tensor) -> tuple[Tensor, Tensor, None]:
        raw, clean, labels, likely = ctx.saved_tensors
        to_raw, to_clean = torch.empty_like(raw), torch.zeros_like(clean)
        kind, to_traces = single_kind(raw), to_traces / raw.shape[-1]
        most = 1 / torch.finfo(kind).tiny
        for rows, span in _tiles(raw):
            probs = clean[rows, :, span].exp()
            for slot in range(raw.shape[1]):
                planes = _view(raw, rows, slot, span).to(kind)
                cells = _softplus(planes)
                hit, pull = _one_hot(labels[rows, slot, span], cells), to_traces[rows, slot, None, None]
                inverse, own = cells.sum(2).reciprocal_(), (cells * hit).sum(2)
                weight = to_values[rows, slot, span] / likely[rows, slot, span]
                at_label = (inverse * probs).mul_(weight.unsqueeze(1)).clamp_(-most, most)
                share = own.mul_(at_label)
                to_clean[rows, :, span] += share
                away = share.addcmul_(_diagonal(cells) * inverse, pull).mul_(inverse).neg_()
                gradient = torch.addcmul(away.unsqueeze(2), at_label.unsqueeze(2), hit)
                _diagonal(gradient).add_(inverse.mul_(pull))
                torch.mul(gradient, torch.sigmoid(planes, out=cells), out=_view(to_raw, rows, slot, span))
        return to_raw, to_clean, None


class _Recomputed(torch.autograd.Function):
    """Reader by reader, everything but the numbers forgotten after the forward pass and computed again."""

    @staticmethod
    def forward(ctx: Any, raw: Tensor, clean: Tensor, labels: Tensor, of_slot: Slot) -> tuple[Tensor, Tensor]:
        ctx.of_slot = of_slot
        ctx.save_for_backward(raw, clean, labels)
        said = [of_slot(raw[:, s : s + 1], clean, labels[:, s : s + 1]) for s in range(raw.shape[1])]
        values, traces = zip(*said, strict=True)
        return torch.stack(values, 1), torch.stack(traces, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_values: Tensor, to_traces: Tensor) -> tuple[Tensor, Tensor, None, None]:
        raw, clean, labels = ctx.saved_tensors
        to_raw, to_clean = torch.empty_like(raw), torch.zeros_like(clean)
        for s in range(raw.shape[1]):
            numbers, log_probs = raw[:, s : s + 1].detach().requires_grad_(), clean.detach().requires_grad_()
            with torch.enable_grad():
                said = ctx.of_slot(numbers, log_probs, labels[:, s : s + 1])
            asked = (to_values[:, s], to_traces[:, s])
            to_raw[:, s : s + 1], to_log_probs = torch.autograd.grad(said, (numbers, log_probs), asked)
            to_clean += to_log_probs
        return to_raw, to_clean, None, None


def _applied(function: Any, *values: Any) -> Any:
    return function.apply(*values)


def _tiles(raw: Tensor) -> Iterator[tuple[slice, slice]]:
    """Images and units of parts of ``raw (N, S, P, V)`` whose slots are small on a CPU, where the cache decides."""
    n, _, numbers, units = raw.shape
    most = TILE if raw.device.type == "cpu" else max(raw.numel(), 1)
    images, parts = max(1, most // max(numbers * units, 1)), max(1, -(-numbers * units // most))
    span = -(-units // parts)
    for first in range(0, n, images):
        for start in range(0, units, span):
            yield slice(first, first + images), slice(start, start + span)


def _view(raw: Tensor, rows: slice, slot: int, span: slice) -> Tensor:
    """Numbers of the matrices of one slot in a tile: ``(n, K, K, v)``."""
    planes = raw[rows, slot, :, span]
    cells: Tensor = planes.unflatten(1, (round(planes.shape[1] ** 0.5), -1))
    return cells


def _softplus(planes: Tensor) -> Tensor:
    """Kept above zero; faster than torch's own."""
    cells: Tensor = planes.clamp(max=LARGEST).exp_().log1p_()
    return torch.maximum(cells, planes, out=cells).add_(torch.finfo(planes.dtype).tiny)


def _diagonal(cells: Tensor) -> Tensor:
    """Of ``(n, K, K, v)``: ``(n, K, v)``."""
    return cells.diagonal(dim1=1, dim2=2).mT


def _one_hot(labels: Tensor, cells: Tensor) -> Tensor:
    """``(n, 1, K, v)`` from ``(n, v)``; multiplying with it is faster than to gather and to scatter."""
    classes = torch.arange(cells.shape[2], device=labels.device).view(-1, 1)
    return (labels.unsqueeze(1) == classes).to(cells.dtype).unsqueeze(1)
