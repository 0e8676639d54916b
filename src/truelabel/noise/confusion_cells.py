"""Confusion matrices as rows of numbers: full, or a diagonal plus a few typical mistakes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor
from torch.nn import functional

from truelabel.types import Likelihood, mix

ON_DIAGONAL = 1.0
"""Where the numbers of the diagonal start, before the softplus (the listing of Tanno 2019)."""


class Cells(ABC):
    r"""How M rows of free numbers become M confusion matrices; only what is asked for is computed.

    Args:
        classes: K.
    """

    numbers: int
    """P, free numbers of one matrix."""

    def __init__(self, classes: int) -> None:
        self.classes = classes

    @abstractmethod
    def start(self, diagonal: float) -> Tensor:
        """Numbers ``(P,)`` of a matrix with this value on its diagonal and little elsewhere."""

    @abstractmethod
    def log_columns(self, raw: Tensor, which: Tensor, labels: Tensor) -> Tensor:
        """``log T[:, label]`` of the matrices ``which (..., S)`` at ``labels (..., S)``: ``(..., S, K)``."""

    @abstractmethod
    def matrices(self, raw: Tensor) -> Tensor:
        """``(M, P) -> (M, K, K)``, rows sum to one."""

    @abstractmethod
    def traces(self, raw: Tensor) -> Tensor:
        """``(M, P) -> (M,)``."""


class FullCells(Cells):
    r"""Every cell is free: :math:`T[k, j] \propto \operatorname{softplus}(\rho_{kj})`, rows brought to one.

    Args:
        classes: K.
    """

    def __init__(self, classes: int) -> None:
        super().__init__(classes)
        self.numbers = classes**2

    def start(self, diagonal: float) -> Tensor:
        on = math.log1p(math.exp(ON_DIAGONAL))
        off = on * (1 - diagonal) / diagonal / max(1, self.classes - 1)
        raw = torch.full((self.classes, self.classes), inverse_softplus(off))
        return raw.fill_diagonal_(ON_DIAGONAL).flatten()

    def log_columns(self, raw: Tensor, which: Tensor, labels: Tensor) -> Tensor:
        by_column = self._log(raw).mT.reshape(-1, self.classes)
        return functional.embedding(which * self.classes + labels, by_column)

    def matrices(self, raw: Tensor) -> Tensor:
        return self._log(raw).exp()

    def traces(self, raw: Tensor) -> Tensor:
        cells = self._cells(raw)
        own: Tensor = cells.diagonal(dim1=-2, dim2=-1)
        return (own / cells.sum(-1)).sum(-1)

    def _cells(self, raw: Tensor) -> Tensor:
        return positive(raw).view(*raw.shape[:-1], self.classes, self.classes)

    def _log(self, raw: Tensor) -> Tensor:
        cells = self._cells(raw)
        return cells.log() - cells.sum(-1, keepdim=True).log()


class LowRankCells(Cells):
    r"""A diagonal plus a few typical mistakes: for many classes, or annotators with few labels.

    .. math:: T[k, j] \propto d_k 1[k = j] + \sum_l u_{kl} v_{lj}, \qquad \sum_j v_{lj} = 1

    All of :math:`d, u, v` are positive by softplus. Mistake l is a distribution :math:`v_l` over what is said, and
    :math:`u_{kl}` is how prone class k is to it. A matrix has :math:`K (1 + 2 L)` numbers, and a known label costs
    :math:`K L`.

    Args:
        classes: K.
        rank: L.
    """

    def __init__(self, classes: int, rank: int) -> None:
        super().__init__(classes)
        self.rank = rank
        self.numbers = classes * (1 + 2 * rank)

    def start(self, diagonal: float) -> Tensor:
        own = torch.full((self.classes,), ON_DIAGONAL)
        off = math.log1p(math.exp(ON_DIAGONAL)) * (1 - diagonal) / diagonal / self.rank
        prone = torch.full((self.classes * self.rank,), inverse_softplus(off))
        # Mistakes that start alike would stay alike.
        mistakes = torch.randn(self.rank * self.classes)
        return torch.cat([own, prone, mistakes])

    def log_columns(self, raw: Tensor, which: Tensor, labels: Tensor) -> Tensor:
        own, prone, mistakes = self._parts(raw)
        column = mistakes.mT.reshape(-1, self.rank)  # v[:, j] of every matrix and j
        said = functional.embedding(which * self.classes + labels, column).unsqueeze(-1)
        mixed = (functional.embedding(which, prone.flatten(1)).unflatten(-1, prone.shape[1:]) @ said).squeeze(-1)
        kept = functional.embedding(which, own)
        at_label = functional.one_hot(labels, self.classes).to(kept.dtype)
        columns: Tensor = mixed + kept * at_label
        return columns.log()

    def matrices(self, raw: Tensor) -> Tensor:
        own, prone, mistakes = self._parts(raw)
        matrices: Tensor = prone @ mistakes + own.diag_embed()
        return matrices

    def traces(self, raw: Tensor) -> Tensor:
        own, prone, mistakes = self._parts(raw)
        return own.sum(-1) + (prone * mistakes.mT).sum((-2, -1))

    def _parts(self, raw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Shares ``d (M, K)`` and ``u (M, K, L)`` of a row that sums to one, and ``v (M, L, K)``."""
        sizes = [self.classes, self.classes * self.rank, self.classes * self.rank]
        own, prone, mistakes = positive(raw).split(sizes, -1)
        prone = prone.unflatten(-1, (self.classes, self.rank))
        mistakes = mistakes.unflatten(-1, (self.rank, self.classes))
        total = own + prone.sum(-1)
        return own / total, prone / total.unsqueeze(-1), mistakes / mistakes.sum(-1, keepdim=True)


class SaidByAnnotators(Likelihood):
    r"""What each annotator says: :math:`\log \sum_k p(k \mid x)\, T^{(r)}[k, \tilde y]`, of known labels or of all.

    Args:
        clean: ``(*U, K)``, log p(y|x).
        cells: how rows of numbers become matrices.
        raw: ``(M, P)``, the matrices that this batch needs.
        which: ``(N, S)``, or ``(*U, S)`` if they depend on the unit: the matrix of each slot.
    """

    def __init__(self, clean: Tensor, cells: Cells, raw: Tensor, which: Tensor) -> None:
        self.clean, self.cells, self.raw = clean, cells, raw
        shape = (which.shape[0], *[1] * (clean.dim() - which.dim()), *which.shape[1:])
        self.which = which.view(shape).expand(*clean.shape[:-1], which.shape[-1])

    def at(self, labels: Tensor) -> Tensor:
        columns = self.cells.log_columns(self.raw, self.which, labels.clamp_min(0))
        return (self.clean.unsqueeze(-2) + columns).logsumexp(-1)

    def all(self) -> Tensor:
        matrices = self.cells.matrices(self.raw)
        if self.which.shape[-1] == 1 and len(matrices) == 1:  # everybody's
            return mix(self.clean, matrices[0]).unsqueeze(-2)
        chosen = functional.embedding(self.which, matrices.flatten(1)).unflatten(-1, matrices.shape[1:])
        return mix(self.clean.unsqueeze(-2), chosen)


def positive(raw: Tensor) -> Tensor:
    """Softplus, kept above zero where it would underflow."""
    return functional.softplus(raw).clamp_min(torch.finfo(raw.dtype).tiny)


def inverse_softplus(value: float) -> float:
    """The number whose softplus is ``value``.

    Example:
        >>> round(inverse_softplus(math.log(2)), 6)
        0.0
    """
    return math.log(math.expm1(value))
