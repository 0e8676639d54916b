from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from truelabel.types import Categorical, Likelihood, Uncertainty, mix


def log_probs(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).log_softmax(-1)


def mixed_by_loop(log_p: Tensor, transition: Tensor) -> Tensor:
    """The slow reference: the sum over true classes, one number at a time."""
    classes = log_p.shape[-1]
    shape = torch.broadcast_shapes(log_p.shape[:-1], transition.shape[:-2])
    rows = log_p.expand(*shape, classes).reshape(-1, classes).tolist()
    tables = transition.expand(*shape, classes, classes).reshape(-1, classes, classes).tolist()
    mixed = [
        [math.log(math.fsum(math.exp(row[y]) * table[y][seen] for y in range(classes))) for seen in range(classes)]
        for row, table in zip(rows, tables, strict=True)
    ]
    return torch.tensor(mixed, dtype=torch.float64).reshape(*shape, classes)


@pytest.mark.parametrize(
    ("units", "annotators"),
    [((), ()), ((7,), ()), ((7,), (7,)), ((7, 1), (5,)), ((7, 1), (7, 5)), ((2, 3, 4), ()), ((2, 3, 4, 1), (5,))],
)
def test_mix_equals_a_loop(units: tuple[int, ...], annotators: tuple[int, ...]) -> None:
    log_p, transition = log_probs(*units, 4), log_probs(*annotators, 4, 4, seed=1).exp()
    mixed = mix(log_p, transition)
    torch.testing.assert_close(mixed, mixed_by_loop(log_p, transition))
    torch.testing.assert_close(mixed.exp().sum(-1), torch.ones(mixed.shape[:-1], dtype=torch.float64))


def test_rows_of_the_transition_are_true_classes() -> None:
    transition = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    probs = torch.tensor([0.7, 0.2, 0.1])
    torch.testing.assert_close(mix(probs.log(), transition).exp(), torch.tensor([0.1, 0.7, 0.2]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_identity_changes_nothing(dtype: torch.dtype) -> None:
    log_p = log_probs(6, 5).to(dtype)
    mixed = mix(log_p, torch.eye(5, dtype=dtype))
    assert mixed.dtype == dtype
    torch.testing.assert_close(mixed, log_p)


def test_mix_has_the_right_gradient() -> None:
    log_p, transition = log_probs(3, 4).requires_grad_(), log_probs(3, 4, 4, seed=1).exp().requires_grad_()
    assert torch.autograd.gradcheck(mix, (log_p, transition))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_mix_stays_exact_where_a_class_is_all_but_impossible(dtype: torch.dtype) -> None:
    log_p = torch.tensor([0.0, -1e4, -1e4], dtype=dtype, requires_grad=True)
    transition = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], dtype=dtype, requires_grad=True)
    mixed = mix(log_p, transition)
    expected = torch.logsumexp(log_p.unsqueeze(-1) + transition.log(), 0)
    torch.testing.assert_close(mixed, expected)
    ours = torch.autograd.grad(mixed.sum(), (log_p, transition))
    reference = torch.autograd.grad(expected.sum(), (log_p, transition))
    torch.testing.assert_close(ours, reference)


def test_mix_is_exact_where_all_log_probs_are_small() -> None:
    log_p, transition = log_probs(6, 4), log_probs(4, 4, seed=1).exp()
    torch.testing.assert_close(mix(log_p - 1e4, transition), mixed_by_loop(log_p, transition) - 1e4)


def test_mix_with_the_identity_returns_the_tiniest_of_log_probs_and_their_gradient() -> None:
    log_p = torch.tensor([[0.0, -1e4]], requires_grad=True)
    mixed = mix(log_p, torch.eye(2))
    torch.testing.assert_close(mixed, log_p)
    (gradient,) = torch.autograd.grad(mixed.sum(), log_p)
    torch.testing.assert_close(gradient, torch.ones(1, 2))


class Halves(Likelihood):
    """Two annotators with fixed beliefs, to see what the base class adds."""

    def all(self) -> Tensor:
        return torch.tensor([[[0.5, 0.5], [0.9, 0.1]]]).log()


def test_a_likelihood_gathers_the_labels_and_is_normalised() -> None:
    likelihood = Halves()
    assert likelihood.normalised
    torch.testing.assert_close(likelihood.at(torch.tensor([[1, 0]])).exp(), torch.tensor([[0.5, 0.9]]))


@pytest.mark.parametrize("units", [(7,), (3, 4, 5)])
@pytest.mark.parametrize("shared", [True, False])
def test_categorical_looks_up_each_slot(units: tuple[int, ...], shared: bool) -> None:
    slots, classes = 3, 4
    table = log_probs(*units, 1 if shared else slots, classes)
    labels = torch.randint(-1, classes, (*units, slots), generator=torch.Generator().manual_seed(2))
    likelihood = Categorical(table)
    found = likelihood.at(labels)
    assert likelihood.all() is table
    assert found.shape == labels.shape
    assert found.isfinite().all()
    for place in torch.cartesian_prod(*(torch.arange(n) for n in labels.shape)).tolist():
        *unit, slot = place
        label = int(labels[tuple(place)])
        if label >= 0:
            assert found[tuple(place)] == table[(*unit, 0 if shared else slot, label)]


def test_the_gradient_reaches_only_what_was_seen() -> None:
    table = log_probs(2, 1, 3).requires_grad_()
    Categorical(table).at(torch.tensor([[0, 0], [2, 1]])).sum().backward()
    assert table.grad is not None
    assert table.grad.tolist() == [[[2, 0, 0]], [[0, 1, 1]]]


@pytest.mark.parametrize("units", [(7,), (2, 3, 4)])
def test_an_answer_alone_spreads_as_classes_drawn_from_it(units: tuple[int, ...]) -> None:
    probs = log_probs(*units, 3).exp()
    found = Uncertainty.of_answer(probs)
    drawn = torch.distributions.OneHotCategorical(probs).sample(torch.Size([20_000]))
    torch.testing.assert_close(found.variance, drawn.var(0), rtol=0, atol=0.01)
    torch.testing.assert_close(found.entropy, torch.distributions.Categorical(probs).entropy())
    assert found.probs is probs
    assert not found.sampled


def test_draws_spread_as_they_do_and_never_more_than_classes() -> None:
    vectors = log_probs(50, 7, 3).exp()
    probs, variance = vectors.mean(0), vectors.var(0, correction=0)
    found = Uncertainty.of_draws(probs, variance)
    assert found.variance is variance
    assert found.sampled
    assert (found.variance < Uncertainty.of_answer(probs).variance).all()
    torch.testing.assert_close(found.entropy, Uncertainty.of_answer(probs).entropy)


def test_what_is_certain_spreads_not_at_all() -> None:
    just_above_one = 1 + torch.finfo(torch.float).eps
    found = Uncertainty.of_answer(torch.tensor([[1.0, 0.0], [just_above_one, 0.0]]))
    assert found.variance.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert found.entropy.tolist() == [0.0, 0.0]
