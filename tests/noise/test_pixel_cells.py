from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from truelabel.noise import pixel_cells
from truelabel.noise.pixel_cells import FullPixelCells, LowRankPixelCells, PixelCells

Numbers = tuple[Tensor, Tensor, Tensor]

SIZES = [(2, 3, 2, 35), (1, 1, 4, 9), (3, 2, 5, 1), (4, 5, 3, 24), (2, 2, 1, 6)]
"""Images, slots, classes, units."""

sizes = pytest.mark.parametrize("size", SIZES, ids=str)
ranks = pytest.mark.parametrize("rank", [None, 1, 2])


def cells_of(classes: int, rank: int | None) -> PixelCells:
    return FullPixelCells(classes) if rank is None else LowRankPixelCells(classes, rank)


def numbers(size: tuple[int, ...], rank: int | None = None, kind: torch.dtype = torch.double) -> Numbers:
    """Numbers of matrices, log probabilities and labels, of which a fifth are missing."""
    n, slots, classes, units = size
    planes = cells_of(classes, rank).cells.numbers
    raw = 2 * torch.randn(n, slots, planes, units, dtype=torch.double)
    clean = (2 * torch.randn(n, classes, units, dtype=torch.double)).log_softmax(1)
    labels = torch.where(torch.rand(n, slots, units) < 0.8, torch.randint(classes, (n, slots, units)), -1)
    return raw.to(kind).requires_grad_(), clean.requires_grad_(), labels


def plain_matrices(raw: Tensor, classes: int, rank: int | None) -> Tensor:
    """``(N, S, P, V) -> (N, S, V, K, K)`` as the docstrings have it, for autograd to differentiate."""
    cells = functional.softplus(raw.mT)
    if rank is None:
        cells = cells.unflatten(-1, (classes, classes))
        full: Tensor = cells / cells.sum(-1, keepdim=True)
        return full
    own, prone, said = cells.split([classes, classes * rank, classes * rank], -1)
    said = said.unflatten(-1, (rank, classes))
    mistakes = prone.unflatten(-1, (classes, rank)) @ (said / said.sum(-1, keepdim=True))
    both = torch.diag_embed(own) + mistakes
    low: Tensor = both / both.sum(-1, keepdim=True)
    return low


def plain(raw: Tensor, clean: Tensor, labels: Tensor, rank: int | None = None) -> tuple[Tensor, Tensor]:
    """Log likelihoods and mean traces with every matrix and every class held at once."""
    matrices = plain_matrices(raw, clean.shape[1], rank)
    said = torch.einsum("nkv,nsvkj->nsvj", clean.exp(), matrices)
    values = said.log().gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    return values, torch.einsum("nsvkk->nsv", matrices).mean(-1)


def cost(values: Tensor, traces: Tensor, labels: Tensor) -> Tensor:
    """A sum in which every label given, and every trace, has a weight of its own."""
    generator = torch.Generator().manual_seed(5)
    weight, pull = torch.randn(values.shape, generator=generator), torch.randn(traces.shape, generator=generator)
    return (torch.where(labels >= 0, values, 0.0) * weight).sum() + (pull * traces).sum()


@ranks
@sizes
@pytest.mark.parametrize("tile", [7, 64, 2**19])
def test_values_and_gradients_are_those_of_the_plain_version(
    size: tuple[int, ...], rank: int | None, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pixel_cells, "TILE", tile)
    raw, clean, labels = numbers(size, rank)
    ours = cells_of(size[2], rank).likelihood(raw, clean, labels)
    theirs = plain(raw, clean, labels, rank)
    # Low-rank numbers are kept above a floor by a softplus, which is felt in the seventh digit here.
    near = 1e-10 if rank is None else 1e-6
    torch.testing.assert_close(ours[0][labels >= 0], theirs[0][labels >= 0], rtol=near, atol=near)
    torch.testing.assert_close(ours[1], theirs[1], rtol=near, atol=near)
    assert ours[0].isfinite().all()
    gradients = [torch.autograd.grad(cost(*each, labels), (raw, clean)) for each in (ours, theirs)]
    for mine, reference in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, reference, rtol=near, atol=near)


@ranks
def test_gradients_by_finite_differences(rank: int | None) -> None:
    raw, clean, labels = numbers((2, 2, 3, 4), rank)
    cells = cells_of(3, rank)
    given = labels >= 0

    def function(raw: Tensor, clean: Tensor) -> tuple[Tensor, Tensor]:
        values, traces = cells.likelihood(raw, clean, labels)
        return values[given], traces

    assert torch.autograd.gradcheck(function, (raw, clean), fast_mode=True)


@ranks
@pytest.mark.parametrize("tile", [9, 100, 2**19])
def test_half_of_it_may_be_asked_for(rank: int | None, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixel_cells, "TILE", tile)
    raw, clean, labels = numbers((3, 2, 3, 8), rank)
    values, traces = cells_of(3, rank).likelihood(raw, clean, labels)
    reference_values, reference_traces = plain(raw, clean, labels, rank)
    for ours, theirs in (
        (torch.where(labels >= 0, values, 0.0).sum(), torch.where(labels >= 0, reference_values, 0.0).sum()),
        (traces.sum(), reference_traces.sum()),
    ):
        mine, reference = (torch.autograd.grad(each, raw, retain_graph=True)[0] for each in (ours, theirs))
        torch.testing.assert_close(mine, reference, rtol=1e-6, atol=1e-6)


@ranks
def test_a_missing_label_teaches_nothing(rank: int | None) -> None:
    raw, clean, labels = numbers((2, 3, 3, 10), rank)
    labels[:, 1], labels[0, :, 4] = -1, -1
    values, _ = cells_of(3, rank).likelihood(raw, clean, labels)
    assert values.isfinite().all()
    to_raw, to_clean = torch.autograd.grad(torch.where(labels >= 0, values, 0.0).sum(), (raw, clean))
    silent = (labels < 0).unsqueeze(2).expand_as(to_raw)
    assert not to_raw[silent].any()
    assert to_raw[~silent].all()
    assert not to_clean[0, :, 4].any()


@ranks
@sizes
def test_matrices_and_traces_are_those_of_the_plain_version(size: tuple[int, ...], rank: int | None) -> None:
    raw, clean, labels = numbers(size, rank)
    cells = cells_of(size[2], rank)
    expected = plain_matrices(raw, size[2], rank)
    torch.testing.assert_close(cells.matrices(raw), expected.transpose(1, 2), rtol=1e-6, atol=1e-6)
    alone, along = cells.traces(raw), cells.likelihood(raw, clean, labels)[1]
    torch.testing.assert_close(alone, along, rtol=1e-9, atol=1e-11)
    first, second = (torch.autograd.grad(each.square().sum(), raw)[0] for each in (alone, along))
    torch.testing.assert_close(first, second, rtol=1e-9, atol=1e-11)


def test_a_plane_is_a_cell_true_class_first() -> None:
    raw = torch.full((1, 1, 9, 2), -10.0)
    raw[..., 3 * 0 + 2, 0] = raw[..., 3 * 1 + 1, 0] = raw[..., 3 * 2 + 0, 0] = 10.0
    matrix = FullPixelCells(3).matrices(raw)[0, 0, 0]
    torch.testing.assert_close(matrix, torch.eye(3).flip(0), atol=1e-4, rtol=0)


@ranks
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float])
def test_low_precision_numbers_are_mixed_in_full(rank: int | None, kind: torch.dtype) -> None:
    raw, clean, labels = numbers((2, 3, 3, 40), rank, kind)
    values, traces = cells_of(3, rank).likelihood(raw, clean.float(), labels)
    assert (values.dtype, traces.dtype) == (torch.float, torch.float)
    exact = raw.detach().double().requires_grad_()
    expected = plain(exact, clean, labels, rank)
    torch.testing.assert_close(values[labels >= 0].double(), expected[0][labels >= 0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(traces.double(), expected[1], rtol=1e-5, atol=1e-5)
    ours, theirs = (
        torch.autograd.grad(cost(*said, labels), numbers)[0]
        for said, numbers in (((values, traces), raw), (expected, exact))
    )
    assert ours.dtype == kind
    rough = 1e-2 if kind == torch.bfloat16 else 1e-4
    torch.testing.assert_close(ours.double(), theirs, rtol=rough, atol=1e-5)


@ranks
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_large_numbers_stay_finite(rank: int | None, size: float) -> None:
    raw, clean, labels = numbers((2, 2, 3, 30), rank, torch.float)
    with torch.no_grad():
        raw.mul_(size)
    sure = (size * clean.detach()).log_softmax(1).float().requires_grad_()
    values, traces = cells_of(3, rank).likelihood(raw, sure, labels)
    assert values.isfinite().all()
    assert ((traces >= 0) & (traces <= 3.0001)).all()
    for gradient in torch.autograd.grad(cost(values, traces, labels), (raw, sure)):
        assert gradient.isfinite().all()


def test_a_sure_class_says_its_row() -> None:
    raw, _, labels = numbers((1, 2, 3, 12))
    truth = torch.randint(3, (12,))
    clean = torch.where(functional.one_hot(truth, 3).mT.bool(), 0.0, -1e4).double().unsqueeze(0)
    values, _ = FullPixelCells(3).likelihood(raw, clean, labels.clamp_min(0))
    matrices = plain_matrices(raw, 3, None)
    for slot in range(2):
        for unit in range(12):
            cell = matrices[0, slot, unit, truth[unit], labels[0, slot, unit].clamp_min(0)]
            torch.testing.assert_close(values[0, slot, unit], cell.log())


def saved_by(function: Callable[[], object]) -> list[int]:
    """Sizes of the different tensors that autograd keeps from ``function``."""
    kept: dict[tuple[int, tuple[int, ...]], int] = {}

    def pack(tensor: Tensor) -> Tensor:
        kept[tensor.data_ptr(), tuple(tensor.shape)] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function()
    return sorted(kept.values(), reverse=True)


@ranks
def test_nothing_is_kept_but_the_numbers(rank: int | None) -> None:
    raw, clean, labels = numbers((2, 6, 4, 50), rank)
    kept = saved_by(lambda: cells_of(4, rank).likelihood(raw, clean, labels))
    # Numbers, log probabilities, labels, and at most one likelihood a label.
    assert kept[0] == raw.numel()
    assert sum(kept) <= raw.numel() + clean.numel() + 2 * labels.numel()
    assert sum(saved_by(lambda: plain(raw, clean, labels, rank))) > 3 * raw.numel()


@ranks
def test_what_is_kept_does_not_grow_with_tiles(rank: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, clean, labels = numbers((2, 3, 3, 50), rank)
    whole = saved_by(lambda: cells_of(3, rank).likelihood(raw, clean, labels))
    monkeypatch.setattr(pixel_cells, "TILE", 16)
    assert saved_by(lambda: cells_of(3, rank).likelihood(raw, clean, labels)) == whole
