from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from truelabel.noise.confusion_cells import (
    Cells,
    FullCells,
    LowRankCells,
    SaidByAnnotators,
    inverse_softplus,
    over_units,
    positive,
)

CLASSES, MATRICES = 4, 5


def softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def full_by_hand(raw: Tensor) -> list[list[list[float]]]:
    matrices = []
    for numbers in raw.tolist():
        rows = [[softplus(v) for v in numbers[k * CLASSES : (k + 1) * CLASSES]] for k in range(CLASSES)]
        matrices.append([[cell / sum(row) for cell in row] for row in rows])
    return matrices


def low_rank_by_hand(raw: Tensor, rank: int) -> list[list[list[float]]]:
    """d_k 1[k = j] + Σ_l u_kl v_lj with every v_l brought to one, then every row."""
    matrices = []
    for numbers in raw.tolist():
        own, prone, mistakes = numbers[:CLASSES], numbers[CLASSES : CLASSES * (1 + rank)], numbers[-CLASSES * rank :]
        v = [[softplus(mistakes[m * CLASSES + j]) for j in range(CLASSES)] for m in range(rank)]
        v = [[cell / sum(row) for cell in row] for row in v]
        rows = []
        for k in range(CLASSES):
            row = [sum(softplus(prone[k * rank + m]) * v[m][j] for m in range(rank)) for j in range(CLASSES)]
            row[k] += softplus(own[k])
            rows.append([cell / sum(row) for cell in row])
        matrices.append(rows)
    return matrices


CELLS: list[Cells] = [FullCells(CLASSES), LowRankCells(CLASSES, 1), LowRankCells(CLASSES, 3)]
named = pytest.mark.parametrize("cells", CELLS, ids=["full", "rank 1", "rank 3"])


def some_numbers(cells: Cells, many: int = MATRICES) -> Tensor:
    return 2 * torch.randn(many, cells.numbers, dtype=torch.double)


@named
def test_matrices_by_hand(cells: Cells) -> None:
    raw = some_numbers(cells)
    expected = low_rank_by_hand(raw, cells.rank) if isinstance(cells, LowRankCells) else full_by_hand(raw)
    matrices = cells.matrices(cells.parts(raw))
    torch.testing.assert_close(matrices, torch.tensor(expected, dtype=torch.double))
    torch.testing.assert_close(matrices.sum(-1), torch.ones(MATRICES, CLASSES, dtype=torch.double))


@named
def test_traces_and_columns_are_those_of_the_matrices(cells: Cells) -> None:
    parts = cells.parts(some_numbers(cells))
    matrices = cells.matrices(parts)
    torch.testing.assert_close(cells.traces(parts), torch.stack([matrix.trace() for matrix in matrices]))
    which, labels = torch.randint(MATRICES, (7, 3)), torch.randint(CLASSES, (7, 3))
    columns = cells.log_columns(parts, which, labels)
    for n in range(7):
        for s in range(3):
            torch.testing.assert_close(columns[n, s].exp(), matrices[which[n, s], :, labels[n, s]])


@named
def test_a_matrix_for_every_slot_is_the_same_as_naming_it(cells: Cells) -> None:
    raw, labels = some_numbers(cells, 6).requires_grad_(), torch.randint(CLASSES, (2, 3))
    named, own = (cells.log_columns(cells.parts(raw), which, labels) for which in (torch.arange(6).view(2, 3), None))
    torch.testing.assert_close(own, named)
    weight = torch.randn_like(own)
    torch.testing.assert_close(*(torch.autograd.grad((weight * v).sum(), raw)[0] for v in (own, named)))


@named
@pytest.mark.parametrize("units", [(6,), (6, 2, 3)])
@pytest.mark.parametrize("own", [False, True])
def test_the_likelihood_by_loops(cells: Cells, units: tuple[int, ...], own: bool) -> None:
    pixels, slots = math.prod(units), 2
    clean = torch.randn(*units, CLASSES, dtype=torch.double).log_softmax(-1)
    labels = torch.randint(CLASSES, (*units, slots))
    which = None if own else torch.randint(MATRICES, (6, slots))
    parts = cells.parts(some_numbers(cells, pixels * slots if own else MATRICES))
    matrices = cells.matrices(parts)
    said = SaidByAnnotators(clean, cells, parts, which, slots)
    named = torch.arange(pixels * slots).view(*units, slots) if which is None else over_units(which, units)
    expected = []
    for probs, whose, answers in zip(
        clean.exp().view(-1, CLASSES).tolist(), named.reshape(-1, slots), labels.view(-1, slots), strict=True
    ):
        for r, j in zip(whose.tolist(), answers.tolist(), strict=True):
            expected.append(math.log(sum(probs[k] * float(matrices[r, k, j]) for k in range(CLASSES))))
    torch.testing.assert_close(said.at(labels), torch.tensor(expected, dtype=torch.double).view(labels.shape))
    torch.testing.assert_close(said.all().gather(-1, labels.unsqueeze(-1)).squeeze(-1), said.at(labels))


def test_a_low_rank_never_forms_the_matrices_for_known_labels() -> None:
    classes, rank, slots = 200, 2, 6
    cells = LowRankCells(classes, rank)
    raw = torch.randn(3, cells.numbers, requires_grad=True)
    clean, labels = torch.randn(5, classes).log_softmax(-1), torch.randint(classes, (5, slots))
    largest = 0

    def note(values: Tensor) -> Tensor:
        nonlocal largest
        largest = max(largest, values.numel())
        return values

    for which in (torch.randint(3, (5, slots)), None):
        rows = raw if which is not None else torch.randn(5 * slots, cells.numbers, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(note, note):
            SaidByAnnotators(clean, cells, cells.parts(rows), which, slots).at(labels).sum().backward()
    assert 0 < largest <= 5 * slots * cells.numbers < 5 * slots * classes**2 / 10


@pytest.mark.parametrize("classes", [2, 6, 10, 100])
@pytest.mark.parametrize("diagonal", [0.6, 0.956])
def test_the_start(classes: int, diagonal: float) -> None:
    for cells in (FullCells(classes), LowRankCells(classes, 3)):
        (matrix,) = cells.matrices(cells.parts(cells.start(diagonal).double().unsqueeze(0)))
        own = matrix.diagonal()
        if isinstance(cells, FullCells):
            torch.testing.assert_close(own, torch.full_like(own, diagonal), atol=1e-6, rtol=0)
            rest = matrix[~torch.eye(classes, dtype=torch.bool)]
            torch.testing.assert_close(rest, torch.full_like(rest, (1 - diagonal) / (classes - 1)), atol=1e-6, rtol=0)
        else:  # a mistake may name the class itself
            assert bool(((own >= diagonal - 1e-6) & (own < 1)).all())


@pytest.mark.parametrize(("classes", "diagonal"), [(2, 0.995), (6, 0.975), (10, 0.956), (100, 0.664)])
def test_the_start_of_the_listing(classes: int, diagonal: float) -> None:
    cells = FullCells(classes)
    listing = (6 * torch.eye(classes) - 5).flatten().unsqueeze(0)
    (matrix,) = cells.matrices(cells.parts(listing))
    torch.testing.assert_close(matrix.diagonal(), torch.full((classes,), diagonal), atol=5e-4, rtol=0)


def test_mistakes_of_a_low_rank_start_apart() -> None:
    cells = LowRankCells(6, 2)
    *_, mistakes = cells.parts(cells.start(0.9).unsqueeze(0))
    assert not torch.allclose(mistakes[0, 0], mistakes[0, 1], atol=0.05)


@named
def test_numbers_far_below_zero_stay_finite(cells: Cells) -> None:
    raw = torch.full((1, cells.numbers), -200.0, requires_grad=True)
    parts = cells.parts(raw)
    columns = cells.log_columns(parts, None, torch.zeros(1, 1, dtype=torch.long))
    (columns.sum() + cells.traces(parts).sum()).backward()
    assert columns.isfinite().all()
    assert raw.grad is not None
    assert raw.grad.isfinite().all()


@named
def test_autocast_leaves_full_precision(cells: Cells) -> None:
    raw, labels = some_numbers(cells, 8).float(), torch.randint(CLASSES, (4, 2))
    clean = torch.randn(4, CLASSES).log_softmax(-1)

    def values() -> list[Tensor]:
        parts = cells.parts(raw)
        which = torch.arange(8).view(4, 2).flip(0)
        both = [SaidByAnnotators(clean, cells, parts, w, 2) for w in (None, which)]
        return [cells.traces(parts), *(said.at(labels) for said in both), *(said.all() for said in both)]

    expected = values()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = values()
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(mixed, expected, strict=True))


def test_positive_is_softplus_and_has_an_inverse() -> None:
    values = torch.linspace(-20, 20, 9, dtype=torch.double)
    assert positive(values).tolist() == pytest.approx([softplus(v) for v in values.tolist()])
    for value in (1e-4, 0.5, 3.0):
        assert softplus(inverse_softplus(value)) == pytest.approx(value)
