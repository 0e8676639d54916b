"""What every loss must satisfy."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import truelabel.losses
from truelabel.losses import Loss, from_logits
from truelabel.types import Batch, Categorical, Likelihood, Prediction

Units = tuple[int, ...]

CLASSES, SLOTS = 6, 2


class Density(Likelihood):
    """Log densities of a continuous relaxation: some exceed zero, and they do not sum to one."""

    normalised = False

    def __init__(self, values: Tensor) -> None:
        self.values = values

    def all(self) -> Tensor:
        return self.values


def believe(clean: Tensor, noisy: Tensor) -> Prediction:
    """A prediction from ``logits (*U, K)`` and ``(*U, S, K)``."""
    return Prediction(clean.log_softmax(-1), Categorical(noisy.log_softmax(-1)), clean.new_zeros(()))


@pytest.fixture
def clean(units: Units) -> Tensor:
    return torch.randn(*units, CLASSES, dtype=torch.double)


@pytest.fixture
def noisy(units: Units) -> Tensor:
    return torch.randn(*units, SLOTS, CLASSES, dtype=torch.double)


def soft_batch(batch: Batch) -> Batch:
    one_hot = functional.one_hot(batch.labels.clamp_min(0), CLASSES).double()
    return batch._replace(soft=one_hot)


def test_one_value_a_slot(loss: Loss, units: Units, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    assert loss(believe(clean, noisy), batch).shape == (*units, SLOTS)
    assert loss(believe(clean, noisy), soft_batch(batch)).shape == (*units, SLOTS)


def test_annotators_may_share_a_likelihood(loss: Loss, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    shared = noisy[..., :1, :]
    for given in (batch, soft_batch(batch)):
        expected = loss(believe(clean, shared.expand_as(noisy)), given)
        torch.testing.assert_close(loss(believe(clean, shared), given), expected)


def test_a_unit_does_not_see_another(loss: Loss, units: Units, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    here = (1, *[0] * (len(units) - 1))
    for given in (batch, soft_batch(batch)):
        before = loss(believe(clean, noisy), given)
        other_clean, other_noisy, labels = clean.clone(), noisy.clone(), given.labels.clone()
        other_clean[here] = other_clean[here].flip(-1) - 1
        other_noisy[here] = 2 * other_noisy[here].flip(-1)
        labels[here] = (labels[here] + 1) % CLASSES
        soft = None if given.soft is None else given.soft.clone()
        if soft is not None:
            soft[here] = soft[here].roll(1, -1)
        after = loss(believe(other_clean, other_noisy), given._replace(labels=labels, soft=soft))
        changed = after != before
        assert changed[here].all()
        changed[here] = False
        assert not changed.any()


def test_a_slot_does_not_see_another(loss: Loss, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    other, labels = noisy.clone(), batch.labels.clone()
    other[..., 1, :] = 2 * other[..., 1, :].flip(-1)
    labels[..., 1] = (labels[..., 1] + 1) % CLASSES
    for given, changed in (
        (batch, batch._replace(labels=labels)),
        (soft_batch(batch), soft_batch(batch._replace(labels=labels))),
    ):
        before, after = loss(believe(clean, noisy), given), loss(believe(clean, other), changed)
        assert torch.equal(after[..., 0], before[..., 0])
        assert (after[..., 1] != before[..., 1]).all()


def test_weights_are_left_to_the_learner(loss: Loss, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    heavier = batch._replace(weights=3 * batch.weights)
    assert torch.equal(loss(believe(clean, noisy), heavier), loss(believe(clean, noisy), batch))


def test_a_hard_label_is_a_one_hot_target(loss: Loss, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    hard, soft = loss(believe(clean, noisy), batch), loss(believe(clean, noisy), soft_batch(batch))
    given = batch.labels >= 0
    torch.testing.assert_close(soft[given], hard[given])


def test_a_likelier_label_costs_less(loss: Loss, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    raised = noisy + functional.one_hot(batch.labels.clamp_min(0), CLASSES)
    given = batch.labels >= 0
    before, after = loss(believe(clean, noisy), batch), loss(believe(clean, raised), batch)
    assert (after < before)[given].all()


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_empty_slots_and_large_logits_stay_finite(
    loss: Loss, batch: Batch, clean: Tensor, noisy: Tensor, scale: float
) -> None:
    for given in (batch, soft_batch(batch), batch._replace(labels=torch.full_like(batch.labels, -1))):
        logits = (scale * noisy).requires_grad_()
        values = loss(believe(scale * clean, logits), given)
        (gradient,) = torch.autograd.grad(values.sum(), logits)
        assert values.isfinite().all()
        assert gradient.isfinite().all()


def test_gradcheck(loss: Loss, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    for given in (batch, soft_batch(batch)):
        mask = batch.labels >= 0

        def values(own: Tensor, said: Tensor, given: Batch = given, mask: Tensor = mask) -> Tensor:
            # Adding nothing of the clean posterior keeps it a part of the graph for losses that do not read it.
            return loss(believe(own, said), given)[mask] + 0 * own.sum()

        assert torch.autograd.gradcheck(values, (clean.requires_grad_(), noisy.requires_grad_()), fast_mode=True)


def test_precision_is_kept(loss: Loss, batch: Batch, clean: Tensor, noisy: Tensor) -> None:
    assert loss(believe(clean, noisy), batch).dtype == torch.double
    assert loss(believe(clean.float(), noisy.float()), batch).dtype == torch.float


def test_a_density_is_taken_or_refused(
    loss: Loss, takes_density: bool, batch: Batch, clean: Tensor, noisy: Tensor
) -> None:
    prediction = Prediction(clean.log_softmax(-1), Density(noisy + 2), clean.new_zeros(()))
    for given in (batch, soft_batch(batch)):
        if takes_density:
            assert loss(prediction, given).isfinite().all()
        else:
            with pytest.raises(ValueError, match="density"):
                loss(prediction, given)


def test_the_function_of_logits_is_the_same_formula(loss_name: str, loss: Loss) -> None:
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", loss_name.split()[0]).lower()
    if " " in loss_name:
        pytest.skip("a variant: the function has the options of the plain loss by default")
    function = getattr(truelabel.losses, name)
    logits = torch.randn(4, 5, CLASSES, dtype=torch.double)
    labels = torch.randint(-1, CLASSES, (4, 5))
    assert (labels < 0).any()
    expected = loss(
        believe(logits, logits.unsqueeze(-2)),
        Batch(logits, labels.unsqueeze(-1), labels[:, :1], logits.new_ones(4, 1), None, torch.arange(4)),
    ).squeeze(-1)
    torch.testing.assert_close(function(logits, labels), torch.where(labels >= 0, expected, 0.0))
    torch.testing.assert_close(function(logits - 7, labels), function(logits, labels))
    soft = torch.rand(4, 5, CLASSES, dtype=torch.double).softmax(-1)
    torch.testing.assert_close(function(logits, soft), from_logits(loss, logits, soft))
