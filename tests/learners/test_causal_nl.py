from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence
from torch.nn import functional

from truelabel.learners import CausalNL, ElboWeights
from truelabel.networks import MLP, build
from truelabel.types import Batch

CLASSES, FEATURES, LATENT = 4, 3, 2


def make(**options: Any) -> CausalNL:
    torch.manual_seed(0)
    return CausalNL(MLP(FEATURES, width=8), CLASSES, (FEATURES,), LATENT, **options).double()


@pytest.fixture
def batch() -> Batch:
    labels = torch.tensor([[0, 2], [1, -1], [3, 3], [-1, -1], [2, 0]])
    weights = torch.rand(5, 2, dtype=torch.double) + 0.5
    return Batch(torch.randn(5, FEATURES).double(), labels, labels, weights, None, torch.arange(5))


def weighted_labels(log_probs: Tensor, batch: Batch) -> Tensor:
    """Cross entropy of the labels given, slot by slot: ``(N,)``."""
    total = torch.zeros(len(log_probs), dtype=torch.double)
    for n in range(len(log_probs)):
        for s in range(batch.labels.shape[1]):
            if batch.labels[n, s] >= 0:
                total[n] -= batch.weights[n, s] * log_probs[n, batch.labels[n, s]]
    return total


def terms(learner: CausalNL, batch: Batch, y: Tensor, z: Tensor, mean: Tensor, log_variance: Tensor) -> list[Tensor]:
    """Eq. 6 of the paper with the right signs, example by example, for a given draw."""
    again = learner.decode(y, z)
    divergence = kl_divergence(Normal(mean, (log_variance / 2).exp()), Normal(0.0, 1.0)).sum(-1)
    labels = weighted_labels(learner.observe(again, y).log_softmax(-1), batch)
    return [(again - batch.inputs).abs().mean(-1), labels, divergence]


def test_the_objective_is_equation_6(batch: Batch) -> None:
    learner = make().train()
    torch.manual_seed(5)
    elbo = learner.elbo(batch)
    torch.manual_seed(5)
    logits = learner.head(learner.network(batch.inputs))
    y = functional.gumbel_softmax(logits, 1.0)
    mean, log_variance = learner.encode(batch.inputs, y).chunk(2, -1)
    z = mean + (log_variance / 2).exp() * torch.randn_like(mean)
    expected = [value.mean() for value in terms(learner, batch, y, z, mean, log_variance)]
    q = logits.softmax(-1)
    torch.testing.assert_close(
        list(elbo), [expected[0], expected[1], (q * q.log()).sum(-1).mean(), expected[2]], rtol=1e-6, atol=1e-9
    )
    assert elbo.latent >= 0
    assert -math.log(CLASSES) <= elbo.entropy <= 0


def test_the_exact_form_is_the_expectation_over_classes(batch: Batch) -> None:
    learner = make(relaxation="exact").eval()
    elbo = learner.elbo(batch)
    q = learner.predict(batch.inputs).clean.exp()
    expected = torch.zeros(3, dtype=torch.double)
    for k in range(CLASSES):
        y = functional.one_hot(torch.full((5,), k), CLASSES).double()
        mean, log_variance = learner.encode(batch.inputs, y).chunk(2, -1)
        for i, value in enumerate(terms(learner, batch, y, mean, mean, log_variance)):
            expected[i] += (q[:, k] * value).mean()
    torch.testing.assert_close(torch.stack([elbo.reconstruction, elbo.labels, elbo.latent]), expected)


@pytest.mark.long
def test_many_gumbel_draws_of_hard_classes_average_to_the_exact_form(batch: Batch) -> None:
    learner = make(relaxation="straight-through").train()
    with torch.no_grad():
        draws = torch.stack([torch.stack(learner.elbo(batch)) for _ in range(3000)])
        learner.relaxation = "exact"
        exact = torch.stack([torch.stack(learner.elbo(batch)) for _ in range(1000)])
    spread = draws.std(0) / math.sqrt(3000) + exact.std(0) / math.sqrt(1000)
    assert ((draws.mean(0) - exact.mean(0)).abs() <= 5 * spread + 1e-9).all()


def test_the_step_weighs_the_terms(batch: Batch) -> None:
    weights = ElboWeights(teaching=0.5, reconstruction=2.0, labels=3.0, entropy=0.25, latent=7.0)
    learner = make(weights=weights, reconstruction="squared").eval()
    elbo, step = learner.elbo(batch), learner(batch)
    expected = 2 * elbo.reconstruction + 3 * elbo.labels + 0.25 * elbo.entropy + 7 * elbo.latent
    torch.testing.assert_close(step.penalty, expected)
    torch.testing.assert_close(step.losses, 0.5 * weighted_labels(learner.predict(batch.inputs).clean, batch))
    again = learner.reconstruct(batch.inputs)
    torch.testing.assert_close(elbo.reconstruction, ((again - batch.inputs) ** 2).mean())


def test_all_four_networks_learn_from_the_bound_alone(batch: Batch) -> None:
    for relaxation in ("soft", "straight-through", "exact"):
        learner = make(weights=ElboWeights(teaching=0.0), relaxation=relaxation).train()
        learner(batch).penalty.backward()
        for part in ("network", "head", "encode", "decode", "observe"):
            for name, parameter in getattr(learner, part).named_parameters():
                assert parameter.grad is not None, name
                assert parameter.grad.any(), f"{relaxation}: {part}.{name}"


def test_the_prior_of_the_class_has_a_gradient_unlike_in_the_published_code(batch: Batch) -> None:
    learner = make().train()
    (gradient,) = torch.autograd.grad(learner.elbo(batch).entropy, [learner.head.weight])
    assert gradient.any()


@pytest.mark.parametrize("relaxation", ["soft", "straight-through", "exact"])
def test_labels_come_first_if_asked(relaxation: Any, batch: Batch) -> None:
    learner = make(relaxation=relaxation, labels_first=0.25, weights=ElboWeights(entropy=1.0)).train()

    def moved(progress: float | None) -> tuple[bool, bool]:
        """Whether the bound moves the classifier, and whether it moves the decoder."""
        learner.progress = None if progress is None else torch.tensor(progress)
        learner.zero_grad()
        learner(batch).penalty.backward()
        grads = [p.grad for part in (learner.head, learner.network) for p in part.parameters()]
        decoder = [p.grad for p in learner.decode.parameters()]
        return any(g is not None and bool(g.any()) for g in grads), all(
            g is not None and bool(g.any()) for g in decoder
        )

    assert moved(0.24) == (False, True)
    assert moved(0.25) == (True, True)
    assert moved(None) == (True, True)


def test_what_it_learned_can_be_used(batch: Batch) -> None:
    learner = make().eval()
    transition = learner.transition(batch.inputs)
    assert transition.shape == (5, CLASSES, CLASSES)
    torch.testing.assert_close(transition.sum(-1), torch.ones(5, CLASSES, dtype=torch.double))
    k = 2
    y = functional.one_hot(torch.full((5,), k), CLASSES).double()
    z = learner.encode(batch.inputs, y)[:, :LATENT]
    torch.testing.assert_close(transition[:, k], learner.observe(learner.decode(y, z), y).softmax(-1))
    prediction = learner.predict(batch.inputs)
    noisy = torch.einsum("nk,nkj->nj", prediction.clean.exp(), transition)
    torch.testing.assert_close(prediction.noisy.all().squeeze(-2).exp(), noisy)
    assert learner.reconstruct(batch.inputs).shape == batch.inputs.shape
    classes = torch.tensor([0, 3, 3])
    torch.manual_seed(1)
    sample = learner.sample(classes)
    assert sample.shape == (3, FEATURES)
    assert not torch.allclose(sample[1], sample[2]), "z is drawn anew for every example"
    latent = torch.zeros(3, LATENT, dtype=torch.double)
    torch.testing.assert_close(learner.sample(classes, latent)[1], learner.sample(classes, latent)[2])


def test_images() -> None:
    learner = CausalNL(build("lenet-5", (1, 28, 28)), 10, (1, 28, 28), latent=5).train()
    labels = torch.randint(10, (6, 1))
    batch = Batch(torch.rand(6, 1, 28, 28), labels, torch.zeros_like(labels), torch.ones(6, 1), None, torch.arange(6))
    step = learner(batch)
    (step.losses.mean() + step.penalty).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in learner.parameters())
    learner.eval()
    assert learner.sample(torch.tensor([1, 2])).shape == (2, 1, 28, 28)
    assert learner.transition(batch.inputs).shape == (6, 10, 10)
    assert learner.reconstruct(batch.inputs).shape == (6, 1, 28, 28)


@pytest.mark.parametrize("relaxation", ["soft", "straight-through", "exact"])
def test_batch_norm_sees_all_classes_at_once(relaxation: Any) -> None:
    # Told one class at a time, it would keep classes apart in training, and mix them up in evaluation.
    labels = torch.randint(4, (6, 1))
    batch = Batch(torch.rand(6, 1, 8, 8), labels, torch.zeros_like(labels), torch.ones(6, 1), None, torch.arange(6))
    learner = CausalNL(build("mlp:8", (1, 8, 8)), 4, (1, 8, 8), latent=2, relaxation=relaxation).train()
    norms = [layer for layer in learner.modules() if isinstance(layer, torch.nn.BatchNorm2d)]
    assert len(norms) == 12
    seen: Counter[torch.nn.Module] = Counter()
    for norm in norms:
        norm.register_forward_hook(lambda layer, *told: seen.update([layer]))
    learner.elbo(batch)
    assert seen == dict.fromkeys(norms, 1)


@pytest.mark.parametrize("option", [{"relaxation": "Exact"}, {"reconstruction": "abs"}])
def test_a_mistyped_form_is_refused(option: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(option))} must be one of"):
        make(**option)


def test_weights_check_themselves() -> None:
    with pytest.raises(ValueError, match="the weight of latent must be finite and not negative, got -1"):
        ElboWeights(latent=-1)
