"""Confusion matrices as rows of numbers: full, or a diagonal plus a few typical mistakes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from truelabel.types import Likelihood, mix

Parts = tuple[Tensor, ...]

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
    def parts(self, raw: Tensor) -> Parts:
        """What matrices, columns and traces of ``raw (M, P)`` are made of, computed once for all of them."""

    @abstractmethod
    def log_columns(self, parts: Parts, which: Tensor | None, labels: Tensor) -> Tensor:
        """``log T[:, label]`` of the matrices ``which (..., S)`` at ``labels (..., S)``: ``(..., S, K)``.

        If ``which`` is None every label has a matrix of its own, in their order.
        """

    @abstractmethod
    def matrices(self, parts: Parts) -> Tensor:
        """``(M, K, K)``, rows sum to one."""

    @abstractmethod
    def traces(self, parts: Parts) -> Tensor:
        """``(M,)``."""


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

    def parts(self, raw: Tensor) -> Parts:
        cells = self.positive(raw).unflatten(-1, (self.classes, self.classes))
        return cells, cells.sum(-1)

    def log_columns(self, parts: Parts, which: Tensor | None, labels: Tensor) -> Tensor:
        cells, total = parts
        if which is None:
            column = cells.gather(-1, labels.reshape(-1, 1, 1).expand(-1, self.classes, 1)).squeeze(-1)
            return (column.log() - total.log()).view(*labels.shape, self.classes)
        by_column = (cells.log() - total.log().unsqueeze(-1)).mT.reshape(-1, self.classes)
        return functional.embedding(which * self.classes + labels, by_column)

    def matrices(self, parts: Parts) -> Tensor:
        cells, total = parts
        return cells / total.unsqueeze(-1)

    def traces(self, parts: Parts) -> Tensor:
        cells, total = parts
        own: Tensor = cells.diagonal(dim1=-2, dim2=-1)
        return (own / total).sum(-1)

    def positive(self, raw: Tensor) -> Tensor:
        """Cells before their rows are brought to one."""
        return positive(raw)


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

    def parts(self, raw: Tensor) -> Parts:
        """Shares ``d (M, K)`` and ``u (M, K, L)`` of a row that sums to one, and ``v (M, L, K)``."""
        sizes = [self.classes, self.classes * self.rank, self.classes * self.rank]
        own, prone, mistakes = positive(raw).split(sizes, -1)
        prone = prone.unflatten(-1, (self.classes, self.rank))
        mistakes = mistakes.unflatten(-1, (self.rank, self.classes))
        total = own + prone.sum(-1)
        return own / total, prone / total.unsqueeze(-1), mistakes / mistakes.sum(-1, keepdim=True)

    # Products are written out, because autocast would take matrix products in bfloat16.

    def log_columns(self, parts: Parts, which: Tensor | None, labels: Tensor) -> Tensor:
        own, prone, mistakes = parts
        if which is None:
            said = mistakes.gather(-1, labels.reshape(-1, 1, 1).expand(-1, self.rank, 1)).squeeze(-1)
            said = said.view(*labels.shape, self.rank)
            own, prone = own.view(*labels.shape, -1), prone.view(*labels.shape, *prone.shape[1:])
        else:
            column = mistakes.mT.reshape(-1, self.rank)  # v[:, j] of every matrix and j
            said = functional.embedding(which * self.classes + labels, column)
            own = functional.embedding(which, own)
            prone = functional.embedding(which, prone.flatten(1)).unflatten(-1, prone.shape[1:])
        at_label = functional.one_hot(labels, self.classes).to(own.dtype)
        columns: Tensor = (prone * said.unsqueeze(-2)).sum(-1) + own * at_label
        return columns.log()

    def matrices(self, parts: Parts) -> Tensor:
        own, prone, mistakes = parts
        matrices = own.diag_embed()
        for mistake in range(self.rank):
            matrices = matrices + prone[..., mistake, None] * mistakes[..., mistake, None, :]
        return matrices

    def traces(self, parts: Parts) -> Tensor:
        own, prone, mistakes = parts
        return own.sum(-1) + (prone * mistakes.mT).sum((-2, -1))


class SaidByAnnotators(Likelihood):
    r"""What each annotator says: :math:`\log \sum_k p(k \mid x)\, T^{(r)}[k, \tilde y]`, of known labels or of all.

    Args:
        clean: ``(*U, K)``, log p(y|x).
        cells: how numbers become matrices.
        parts: of the M matrices that this batch needs.
        which: ``(N, S)``, the matrix of each slot; None if M = U S and every slot of every unit has its own.
        slots: S.
    """

    def __init__(self, clean: Tensor, cells: Cells, parts: Parts, which: Tensor | None, slots: int) -> None:
        self.clean, self.cells, self.parts, self.slots = clean, cells, parts, slots
        self.which = None if which is None else over_units(which, clean.shape[:-1])

    def at(self, labels: Tensor) -> Tensor:
        columns = self.cells.log_columns(self.parts, self.which, labels.clamp_min(0))
        return (self.clean.unsqueeze(-2) + columns).logsumexp(-1)

    def all(self) -> Tensor:
        matrices = self.cells.matrices(self.parts)
        if self.slots == 1 and len(matrices) == 1:  # everybody's
            return mix(self.clean, matrices[0]).unsqueeze(-2)
        if self.which is None:
            chosen = matrices.view(*self.clean.shape[:-1], self.slots, *matrices.shape[1:])
        else:
            chosen = functional.embedding(self.which, matrices.flatten(1)).unflatten(-1, matrices.shape[1:])
        return mix(self.clean.unsqueeze(-2), chosen)


def over_units(values: Tensor, units: Sequence[int]) -> Tensor:
    """The same for all units of an example: ``(N, S) -> (*U, S)``."""
    return values.view(len(values), *[1] * (len(units) - 1), -1).expand(*units, -1)


def positive(raw: Tensor) -> Tensor:
    """Softplus, kept above zero where it would underflow."""
    return functional.softplus(raw).add_(torch.finfo(raw.dtype).tiny)


def inverse_softplus(value: float) -> float:
    """The number whose softplus is ``value``.

    Example:
        >>> round(inverse_softplus(math.log(2)), 6)
        0.0
    """
    return math.log(math.expm1(value))
