"""What every learner must satisfy."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from truelabel.learners import Learner
from truelabel.types import MISSING, Batch, Step

Units = tuple[int, ...]
Make = Callable[[], Learner]

CLASSES, ANNOTATORS = 6, 8


def keep(batch: Batch, which: Tensor) -> Batch:
    """The same batch with only the labels where ``which (*U, S)`` holds."""
    return batch._replace(labels=torch.where(which, batch.labels, MISSING))


def total(step: Step) -> Tensor:
    return step.losses.mean() + step.penalty


def test_shapes(make_learner: Make, units: Units, batch: Batch) -> None:
    step = make_learner()(batch)
    assert step.losses.shape == units[:1]
    assert step.penalty.shape == ()
    assert step.predicted.shape == units
    assert not step.predicted.is_floating_point()
    assert step.surprise.shape == units[:1]
    assert not step.surprise.requires_grad


def test_an_unlabelled_example_costs_nothing(make_learner: Make, batch: Batch) -> None:
    losses = make_learner()(batch).losses
    labelled = (batch.labels >= 0).flatten(1).any(1)
    assert torch.equal(losses != 0, labelled)
    assert not labelled.all()


def test_a_batch_without_labels_has_no_loss_and_no_gradient(make_learner: Make, batch: Batch) -> None:
    learner = make_learner().train()
    nothing = keep(batch, torch.zeros_like(batch.labels, dtype=torch.bool))
    losses = learner(nothing._replace(annotators=torch.full_like(batch.annotators, -1))).losses
    losses.sum().backward()
    assert torch.equal(losses, torch.zeros_like(losses))
    for name, parameter in learner.named_parameters():
        assert parameter.grad is None or torch.equal(parameter.grad, torch.zeros_like(parameter)), name


def test_labels_add_up_so_an_unlabelled_unit_costs_nothing(make_learner: Make, batch: Batch) -> None:
    learner, first = make_learner(), torch.rand(batch.labels.shape) < 0.5
    parts = learner(keep(batch, first)).losses + learner(keep(batch, ~first)).losses
    torch.testing.assert_close(parts, learner(batch).losses)
    assert parts.any()


def test_the_order_of_slots_does_not_matter(make_learner: Make, batch: Batch) -> None:
    learner = make_learner()
    turned = batch._replace(
        labels=batch.labels.flip(-1), annotators=batch.annotators.flip(-1), weights=batch.weights.flip(-1)
    )
    first, second = learner(batch), learner(turned)
    torch.testing.assert_close(second.losses, first.losses)
    torch.testing.assert_close(second.penalty, first.penalty)
    assert torch.equal(second.predicted, first.predicted)


def test_losses_are_linear_in_the_weights(make_learner: Make, batch: Batch) -> None:
    learner, part = make_learner(), torch.rand(batch.weights.shape, dtype=torch.double)
    whole = learner(batch).losses
    torch.testing.assert_close(learner(batch._replace(weights=2.5 * batch.weights)).losses, 2.5 * whole)
    torch.testing.assert_close(learner(batch._replace(weights=2 * batch.weights)).surprise, 2 * learner(batch).surprise)
    split = [learner(batch._replace(weights=weights)).losses for weights in (part, batch.weights - part)]
    torch.testing.assert_close(split[0] + split[1], whole)


def test_a_label_without_weight_is_a_missing_one(make_learner: Make, units: Units, batch: Batch) -> None:
    learner, weights = make_learner(), batch.weights.clone()
    weights[1, 0] = 0
    missing = batch.labels.clone()
    missing[1, ..., 0] = MISSING
    silenced = learner(batch._replace(weights=weights)).losses
    torch.testing.assert_close(silenced, learner(batch._replace(labels=missing)).losses)
    assert silenced[1] != learner(batch).losses[1]


def test_a_one_hot_target_is_a_hard_label(make_learner: Make, batch: Batch) -> None:
    learner = make_learner()
    soft = functional.one_hot(batch.labels.clamp_min(0), CLASSES).double()
    torch.testing.assert_close(learner(batch._replace(soft=soft)).losses, learner(batch).losses)


def test_a_gradient_reaches_every_parameter(make_learner: Make, batch: Batch) -> None:
    learner, who = make_learner().train(), batch.annotators
    for shift in range(ANNOTATORS):  # so that everybody has labelled
        shifted = torch.where(who < 0, who, (who + shift) % ANNOTATORS)
        total(learner(batch._replace(annotators=shifted))).backward()
        for name, parameter in learner.named_parameters():
            assert parameter.grad is not None or not parameter.requires_grad, name
    for name, parameter in learner.named_parameters():
        if parameter.grad is not None:
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.any(), name


def test_parameter_groups_share_out_what_is_trained(make_learner: Make) -> None:
    learner = make_learner()
    next(learner.parameters()).requires_grad_(False)
    groups = learner.parameter_groups()
    grouped = [id(parameter) for parameter in (*groups.network, *groups.noise)]
    assert sorted(grouped) == sorted(id(p) for p in learner.parameters() if p.requires_grad)


def test_what_is_predicted_is_the_likeliest_clean_class(make_learner: Make, units: Units, batch: Batch) -> None:
    learner = make_learner()
    clean = learner.predict(batch.inputs).clean
    assert clean.shape == (*units, CLASSES)
    torch.testing.assert_close(clean.exp().sum(-1), torch.ones(units, dtype=torch.double))
    assert torch.equal(learner(batch).predicted, clean.argmax(-1))


def test_evaluation_is_deterministic(make_learner: Make, batch: Batch) -> None:
    learner = make_learner()
    before = torch.get_rng_state()
    clean, losses = learner.predict(batch.inputs).clean, learner(batch).losses
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(learner.predict(batch.inputs).clean, clean)
    assert torch.equal(learner(batch).losses, losses)


def test_examples_do_not_see_each_other(make_learner: Make, batch: Batch) -> None:
    learner = make_learner()
    two = Batch(*(None if values is None else values[:2] for values in batch))  # type: ignore[arg-type]
    torch.testing.assert_close(learner(two).losses, learner(batch).losses[:2])
    clean = learner.predict(batch.inputs).clean
    torch.testing.assert_close(learner.predict(two.inputs).clean, clean[:2])
    assert not torch.allclose(clean[0], clean[1]), "the answer must depend on the inputs"


def test_state_round_trips(make_learner: Make, batch: Batch) -> None:
    first, second = make_learner(), make_learner()
    before = second.predict(batch.inputs).clean
    second.load_state_dict(first.state_dict())
    expected = first.predict(batch.inputs).clean
    assert torch.equal(second.predict(batch.inputs).clean, expected)
    assert torch.equal(second(batch).losses, first(batch).losses)
    assert not torch.equal(before, expected), "the two must differ before, or nothing is tested"


def test_precision_is_kept(make_learner: Make, batch: Batch) -> None:
    for kind in (torch.double, torch.float):
        learner = make_learner().to(kind)
        step = learner(batch._replace(inputs=batch.inputs.to(kind), weights=batch.weights.to(kind)))
        assert step.losses.dtype == step.penalty.dtype == kind


def test_a_step_reads_no_value(make_learner: Make, units: Units, batch: Batch) -> None:
    # Tensors on the meta device have no values: `.item()` or a branch on one raises, as it would in a CUDA graph.
    learner = make_learner().train().to("meta")
    there = Batch(*(None if values is None else values.to("meta") for values in batch))  # type: ignore[arg-type]
    step = learner(there)
    total(step).backward()
    assert step.losses.shape == units[:1]


def test_it_says_how_sure_it_is(make_learner: Make, units: Units, batch: Batch) -> None:
    learner, state = make_learner(), torch.get_rng_state()
    found = learner.uncertainty(batch.inputs)
    assert torch.equal(torch.get_rng_state(), state)
    torch.testing.assert_close(found.probs, learner.predict(batch.inputs).clean.exp())
    torch.testing.assert_close(found.entropy, torch.distributions.Categorical(found.probs).entropy())
    largest = found.probs * (1 - found.probs)
    assert found.variance.shape == (*units, CLASSES)
    assert (found.variance >= 0).all()
    assert (found.variance < largest).all() if found.sampled else torch.equal(found.variance, largest)
    for few, all_of_them in zip(learner.uncertainty(batch.inputs[:2])[:3], found[:3], strict=True):
        torch.testing.assert_close(few, all_of_them[:2])
        assert not few.requires_grad


def test_precision_of_uncertainty_is_kept(make_learner: Make, batch: Batch) -> None:
    found = make_learner().float().uncertainty(batch.inputs.float())
    assert found.probs.dtype == found.variance.dtype == found.entropy.dtype == torch.float
