"""What every noise model must satisfy."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from truelabel.noise import NoiseModel
from truelabel.types import Batch, Prediction

Units = tuple[int, ...]
Make = Callable[[], NoiseModel]

CLASSES, SLOTS = 6, 2


def gathered(values: Tensor, labels: Tensor) -> Tensor:
    """``values (*U, S or 1, K)`` at ``labels (*U, S)``, slot by slot."""
    slots = []
    for slot in range(labels.shape[-1]):
        row = values[..., slot if values.shape[-2] > 1 else 0, :]
        slots.append(torch.take_along_dim(row, labels[..., slot : slot + 1].clamp_min(0), -1).squeeze(-1))
    return torch.stack(slots, -1)


def assert_same(first: Prediction, second: Prediction) -> None:
    assert torch.equal(first.clean, second.clean)
    assert torch.equal(first.noisy.all(), second.noisy.all())
    assert torch.equal(first.penalty, second.penalty)


def objective(prediction: Prediction, batch: Batch) -> Tensor:
    """What training minimises: log likelihood of the labels given, and the penalty; the clean class is not observed."""
    given = batch.labels >= 0
    return prediction.penalty - torch.where(given, prediction.noisy.at(batch.labels), 0.0).sum()


def test_shapes(make_noise: Make, units: Units, batch: Batch, features: Tensor) -> None:
    prediction = make_noise()(batch.inputs, features, batch.annotators)
    assert prediction.clean.shape == (*units, CLASSES)
    assert prediction.noisy.all().shape in {(*units, SLOTS, CLASSES), (*units, 1, CLASSES)}
    assert prediction.noisy.at(batch.labels).shape == (*units, SLOTS)
    assert prediction.penalty.shape == ()


def test_the_clean_posterior_is_normalised(make_noise: Make, units: Units, batch: Batch, features: Tensor) -> None:
    clean = make_noise()(batch.inputs, features, batch.annotators).clean
    torch.testing.assert_close(clean.exp().sum(-1), torch.ones(units, dtype=torch.double))


def test_a_likelihood_that_says_so_is_normalised(make_noise: Make, batch: Batch, features: Tensor) -> None:
    noisy = make_noise()(batch.inputs, features, batch.annotators).noisy
    total = noisy.all().exp().sum(-1)
    assert noisy.normalised == torch.allclose(total, torch.ones_like(total))


def test_large_features_stay_finite(make_noise: Make, batch: Batch, features: Tensor) -> None:
    model, large = make_noise(), (1e4 * features).requires_grad_()
    prediction = model(batch.inputs, large, batch.annotators)
    objective(prediction, batch).backward()
    noisy = prediction.noisy
    for values in (prediction.clean, noisy.all(), noisy.at(batch.labels), prediction.penalty, large.grad):
        assert values is not None
        assert values.isfinite().all()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_the_likelihood_of_a_label_is_the_one_among_all(make_noise: Make, batch: Batch, features: Tensor) -> None:
    noisy = make_noise()(batch.inputs, features, batch.annotators).noisy
    at, given = noisy.at(batch.labels), batch.labels >= 0
    torch.testing.assert_close(at[given], gathered(noisy.all(), batch.labels)[given])
    assert at.isfinite().all()


def test_a_gradient_reaches_every_parameter(make_noise: Make, batch: Batch, features: Tensor) -> None:
    model = make_noise().train()
    objective(model(batch.inputs, features, batch.annotators), batch).backward()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.any(), name


def test_noise_parameters_belong_to_the_model(make_noise: Make) -> None:
    model = make_noise()
    noise = [id(parameter) for parameter in model.noise_parameters()]
    assert len(noise) == len(set(noise))
    assert set(noise) <= {id(parameter) for parameter in model.parameters()}


def test_gradcheck(make_noise: Make, batch: Batch, features: Tensor) -> None:
    model = make_noise()
    weight = torch.where(batch.labels >= 0, torch.rand(batch.labels.shape), 0.0)

    def likelihood(values: Tensor) -> tuple[Tensor, Tensor]:
        prediction = model(batch.inputs, values, batch.annotators)
        return (weight * prediction.noisy.at(batch.labels)).sum(), prediction.clean[..., 0].sum()

    assert torch.autograd.gradcheck(likelihood, features.requires_grad_(), fast_mode=True)


def test_state_round_trips(make_noise: Make, batch: Batch, features: Tensor) -> None:
    first, second = make_noise(), make_noise()
    before = second(batch.inputs, features, batch.annotators).clean
    second.load_state_dict(first.state_dict())
    expected = first(batch.inputs, features, batch.annotators)
    assert_same(second(batch.inputs, features, batch.annotators), expected)
    assert not torch.equal(before, expected.clean), "the two must differ before, or nothing is tested"


def test_precision_is_kept(make_noise: Make, batch: Batch, features: Tensor) -> None:
    for kind in (torch.double, torch.float):
        model = make_noise().to(kind)
        prediction = model(batch.inputs.to(kind), features.to(kind), batch.annotators)
        noisy = prediction.noisy
        for values in (prediction.clean, noisy.all(), noisy.at(batch.labels), prediction.penalty):
            assert values.dtype == kind


def test_evaluation_is_deterministic(make_noise: Make, batch: Batch, features: Tensor) -> None:
    model = make_noise()
    before = torch.get_rng_state()
    first = model(batch.inputs, features, batch.annotators)
    first.noisy.all()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert_same(model(batch.inputs, features, batch.annotators), first)


def test_examples_do_not_see_each_other(make_noise: Make, batch: Batch, features: Tensor) -> None:
    model = make_noise()
    together = model(batch.inputs, features, batch.annotators)
    alone = model(batch.inputs[:2], features[:2], batch.annotators[:2])
    torch.testing.assert_close(alone.clean, together.clean[:2])
    torch.testing.assert_close(alone.noisy.all(), together.noisy.all()[:2])
    torch.testing.assert_close(alone.noisy.at(batch.labels[:2]), together.noisy.at(batch.labels)[:2])
    assert not torch.allclose(together.clean[0], together.clean[1]), "the answer must depend on the features"


def test_permuted_slots_permute_what_is_said(make_noise: Make, batch: Batch, features: Tensor) -> None:
    model, order = make_noise(), torch.arange(SLOTS).flip(0)
    plain = model(batch.inputs, features, batch.annotators)
    turned = model(batch.inputs, features, batch.annotators[:, order])
    torch.testing.assert_close(turned.clean, plain.clean)
    torch.testing.assert_close(turned.penalty, plain.penalty)
    given = batch.labels[..., order] >= 0
    at = turned.noisy.at(batch.labels[..., order])
    torch.testing.assert_close(at[given], plain.noisy.at(batch.labels)[..., order][given])
    if plain.noisy.all().shape[-2] == SLOTS:
        torch.testing.assert_close(turned.noisy.all(), plain.noisy.all()[..., order, :])


def test_a_slot_does_not_see_who_is_in_another(make_noise: Make, batch: Batch, features: Tensor) -> None:
    model, others = make_noise(), batch.annotators.clone()
    others[:, 1] = torch.where(others[:, 1] == 0, 1, 0)
    plain = model(batch.inputs, features, batch.annotators)
    changed = model(batch.inputs, features, others)
    torch.testing.assert_close(changed.clean, plain.clean)
    given = batch.labels[..., 0] >= 0
    torch.testing.assert_close(
        changed.noisy.at(batch.labels)[..., 0][given], plain.noisy.at(batch.labels)[..., 0][given]
    )


def test_a_step_reads_no_value(make_noise: Make, units: Units, batch: Batch, features: Tensor) -> None:
    # Tensors on the meta device have no values: `.item()` or a branch on one raises, as it would in a CUDA graph.
    model = make_noise().train().to("meta")
    prediction = model(batch.inputs.to("meta"), features.to("meta"), batch.annotators.to("meta"))
    assert prediction.noisy.at(batch.labels.to("meta")).shape == (*units, SLOTS)


def test_a_spread_is_one_of_probabilities(make_noise: Make, units: Units, features: Tensor) -> None:
    model, state = make_noise(), torch.get_rng_state()
    found = model.uncertainty(features)
    assert torch.equal(torch.get_rng_state(), state)
    if found is None:
        return
    assert found.sampled
    assert found.probs.shape == found.variance.shape == (*units, CLASSES)
    torch.testing.assert_close(found.probs.sum(-1), torch.ones(units, dtype=torch.double))
    torch.testing.assert_close(found.entropy, torch.distributions.Categorical(found.probs).entropy())
    # No vectors of probabilities spread more than one-hot ones of the same mean.
    assert (found.variance > 0).all()
    assert (found.variance < found.probs * (1 - found.probs)).all()
    part = model.train().uncertainty(features[:2].float().double())
    assert part is not None
    for few, all_of_them in zip(part[:3], found[:3], strict=True):
        torch.testing.assert_close(few, all_of_them[:2], rtol=0, atol=1e-5)
        assert not few.requires_grad


def test_what_spreads_is_the_answer(make_noise: Make, batch: Batch, features: Tensor) -> None:
    model = make_noise()
    found, prediction = model.uncertainty(features), model(batch.inputs, features, batch.annotators)
    # The clean answer of a density is taken at its mean, without the noise.
    if found is not None and prediction.noisy.normalised:
        torch.testing.assert_close(found.probs, prediction.clean.exp())
