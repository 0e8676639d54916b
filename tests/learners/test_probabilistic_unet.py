from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional

from truelabel.learners import ProbabilisticUNet
from truelabel.learners.probabilistic_unet import Combine, one_mask
from truelabel.networks import MLP, UNet
from truelabel.types import Batch

CHANNELS, CLASSES, LATENT, SPACE, SLOTS = 2, 3, 4, (5, 6), 3


def make(space: tuple[int, ...] = SPACE, **options: Any) -> ProbabilisticUNet:
    torch.manual_seed(0)
    network = UNet(CHANNELS, width=8, depth=2, dims=len(space))
    return ProbabilisticUNet(network, CLASSES, (CHANNELS, *space), LATENT, width=4, **options).double()


def batch_of(space: tuple[int, ...] = SPACE) -> Batch:
    """Four examples: all slots, one partly labelled and one empty, one slot only, none."""
    labels = torch.randint(CLASSES, (4, *space, SLOTS))
    labels[1, 2:, ..., 0] = -1
    labels[1, ..., 1] = -1
    labels[2, ..., :2] = -1
    labels[3] = -1
    weights = torch.rand(4, SLOTS, dtype=torch.double) + 0.5
    inputs = torch.randn(4, CHANNELS, *space, dtype=torch.double)
    return Batch(inputs, labels, torch.arange(SLOTS).expand(4, -1), weights, None, torch.arange(4))


def encoded(labels: Tensor) -> Tensor:
    """A mask ``(H, W)`` as channels ``(K, H, W)``, pixel by pixel."""
    channels = torch.zeros(CLASSES, *labels.shape, dtype=torch.double)
    for row in range(labels.shape[0]):
        for column in range(labels.shape[1]):
            if labels[row, column] >= 0:
                channels[labels[row, column], row, column] = 1
    return channels


def decoded(combine: Combine, features: Tensor, z: Tensor) -> Tensor:
    """Log probabilities of features ``(H, W, F)`` joined with z, copied to every pixel, by plain layers."""
    hidden = torch.cat([features, z.expand(*features.shape[:-1], -1)], -1)
    for layer in (combine.enter, *combine.layers):
        hidden = layer(hidden)
    return hidden - hidden.exp().sum(-1, keepdim=True).log()


def negative_bound(learner: ProbabilisticUNet, batch: Batch, noise: Tensor) -> Tensor:
    """Cross entropy summed over labelled pixels plus β KL, for every mask, weighted and divided by all pixels."""
    losses = torch.zeros(len(batch.inputs), dtype=torch.double)
    features = learner.network(batch.inputs)
    for n, image in enumerate(batch.inputs):
        prior = Normal(*learner.prior(image[None]))
        for s in range(batch.labels.shape[-1]):
            labels = batch.labels[n, ..., s]
            if (labels < 0).all():
                continue
            posterior = Normal(*learner.posterior(torch.cat([image, encoded(labels)])[None]))
            z = posterior.mean[0] + posterior.stddev[0] * noise[n, s]
            log_probs = decoded(learner.combine, features[n], z)
            cost = functional.nll_loss(log_probs.movedim(-1, 0)[None], labels[None], ignore_index=-1, reduction="sum")
            divergence = kl_divergence(posterior, prior).sum()
            losses[n] += batch.weights[n, s] * (cost + learner.beta * divergence) / labels.numel()
    return losses


@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_the_loss_is_the_bound_of_whole_masks(beta: float) -> None:
    learner, batch = make(masks="all", beta=beta).train(), batch_of()
    torch.manual_seed(5)
    step = learner(batch)
    torch.manual_seed(5)
    expected = negative_bound(learner, batch, torch.randn(4, SLOTS, LATENT, dtype=torch.double))
    torch.testing.assert_close(step.losses, expected)
    assert step.losses[3] == 0
    assert torch.equal(step.surprise, step.losses)
    assert step.penalty == 0


def test_the_loss_of_one_mask_has_the_expectation_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batch_of()
    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)  # only the choice of the mask is random
    learner = make(masks="all").train()
    with torch.no_grad():
        expected = learner(batch).losses
        learner.masks = "one"
        drawn = torch.stack([learner(batch).losses for _ in range(200)])
    spread = drawn.std(0) / math.sqrt(200)
    assert ((drawn.mean(0) - expected).abs() <= 4 * spread + 1e-9).all()
    assert (spread[:2] > 0).all(), "masks differ, or nothing is tested"


def test_a_mask_is_drawn_with_its_weight() -> None:
    batch = batch_of()
    many = Batch(*(None if values is None else values.repeat_interleave(2000, 0) for values in batch))  # type: ignore[arg-type]
    soft = torch.rand(*many.labels.shape, CLASSES)
    one = one_mask(many._replace(soft=soft))
    assert one.labels.shape == (8000, *SPACE, 1)
    assert one.soft is not None
    slot = one.annotators[:, 0]
    for n in range(8000):
        assert torch.equal(one.labels[n, ..., 0], many.labels[n, ..., slot[n]])
        assert torch.equal(one.soft[n, ..., 0, :], soft[n, ..., slot[n], :])
    given = torch.tensor([[1.0, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0]])
    share = batch.weights * given
    torch.testing.assert_close(one.weights.view(4, 2000), share.sum(1, keepdim=True).expand(-1, 2000))
    often = functional.one_hot(slot, SLOTS).view(4, 2000, SLOTS).double().mean(1)
    torch.testing.assert_close(often[:3], share[:3] / share[:3].sum(1, keepdim=True), atol=0.05, rtol=0)


def test_soft_targets_are_shown_to_the_posterior() -> None:
    learner, batch = make(masks="all").train(), batch_of()
    sure = batch._replace(soft=functional.one_hot(batch.labels.clamp_min(0), CLASSES).double())
    losses = []
    for each in (batch, sure):
        torch.manual_seed(5)
        losses.append(learner(each).losses)
    torch.testing.assert_close(losses[1], losses[0])
    unsure = batch._replace(soft=torch.full((*batch.labels.shape, CLASSES), 1 / CLASSES, dtype=torch.double))
    first, second = learner.posterior_of(sure).mean, learner.posterior_of(unsure).mean
    assert not torch.allclose(first[0], second[0])
    torch.testing.assert_close(first[3], second[3])


@pytest.mark.parametrize("samples", [999, 1000])
def test_the_answer_is_the_mean_over_the_prior(samples: int) -> None:
    learner, inputs = make(samples=samples).eval(), batch_of().inputs[:2]
    with torch.no_grad():
        prediction = learner.predict(inputs)
        drawn = learner.sample(inputs, 2000, torch.Generator().manual_seed(1)).exp()
    spread = drawn.std(0) * (1 / math.sqrt(999) + 1 / math.sqrt(2000))
    assert (spread > 1e-4).all(), "draws differ, or nothing is tested"
    assert ((prediction.clean.exp() - drawn.mean(0)).abs() <= 4 * spread).all()


@pytest.mark.parametrize("samples", [1, 5])
def test_uncertainty_is_that_of_the_draws_behind_the_answer(samples: int) -> None:
    learner, inputs = make(samples=samples).eval(), batch_of().inputs
    features, prior = learner.network(inputs), learner.prior(inputs)
    half = torch.randn(-(-samples // 2), LATENT, generator=torch.Generator().manual_seed(20180)).double()
    noise = torch.cat([half, -half])[:samples]
    found = learner.uncertainty(inputs)
    torch.testing.assert_close(found.probs, learner.predict(inputs).clean.exp())
    for n in range(4):
        drawn = torch.stack([decoded(learner.combine, features[n], prior.mean[n] + prior.scale[n] * z) for z in noise])
        torch.testing.assert_close(found.variance[n], drawn.exp().var(0, correction=0))
    torch.testing.assert_close(found.entropy, torch.distributions.Categorical(found.probs).entropy())
    assert found.sampled
    assert found.variance.any() == (samples > 1)
    assert not found.variance.requires_grad


def test_uncertainty_is_that_of_the_prior() -> None:
    learner, inputs = make(samples=1000).eval(), batch_of().inputs[:2]
    found = learner.uncertainty(inputs)
    with torch.no_grad():
        drawn = learner.sample(inputs, 2000, torch.Generator().manual_seed(1)).exp()
    assert found.variance.max() > 0.005
    torch.testing.assert_close(found.variance, drawn.var(0), rtol=0.25, atol=0.002)


def test_draws_are_those_of_the_prior() -> None:
    learner, inputs = make().eval(), batch_of().inputs
    features = learner.network(inputs)
    prior = learner.prior(inputs)
    noise = torch.randn(3, LATENT, generator=torch.Generator().manual_seed(7)).double()
    drawn = learner.sample(inputs, 3, torch.Generator().manual_seed(7))
    for m in range(3):
        for n in range(4):
            z = prior.mean[n] + prior.scale[n] * noise[m]
            torch.testing.assert_close(drawn[m, n], decoded(learner.combine, features[n], z))
    part = learner.sample(inputs[:2], 3, torch.Generator().manual_seed(7))
    torch.testing.assert_close(part, drawn[:, :2])


def test_a_few_draws_are_balanced() -> None:
    # Where classes depend on the sign of one number, pairs of opposite sign have exactly one half of each.
    learner = make(samples=2).eval()
    with torch.no_grad():
        learner.prior.head.weight.zero_()
        learner.prior.head.bias.zero_()
        for layer in (learner.combine.enter, *learner.combine.layers):
            if isinstance(layer, nn.Linear):
                layer.weight.zero_()
        learner.combine.enter.weight[:2, -1] = torch.tensor([1.0, -1.0])
        for layer in list(learner.combine.layers)[1:-1]:
            if isinstance(layer, nn.Linear):
                layer.weight[:2, :2] = torch.eye(2)
        last = learner.combine.layers[-1]
        assert isinstance(last, nn.Linear)
        last.weight[:2, :2] = 1e4 * torch.eye(2)
        probs = learner.predict(batch_of().inputs).clean.exp()
    torch.testing.assert_close(probs, torch.tensor([0.5, 0.5, 0.0]).double().expand_as(probs))


def test_evaluation_shows_no_label_to_the_posterior() -> None:
    learner, batch = make().eval(), batch_of()
    clean = learner.predict(batch.inputs).clean
    expected = torch.zeros(4, dtype=torch.double)
    for n in range(4):
        for s in range(SLOTS):
            labels = batch.labels[n, ..., s]
            cost = functional.nll_loss(clean[n].movedim(-1, 0)[None], labels[None], ignore_index=-1, reduction="sum")
            expected[n] += batch.weights[n, s] * cost / labels.numel()
    torch.testing.assert_close(learner(batch).losses, expected)


def test_the_class_named_in_training_does_not_know_the_labels() -> None:
    learner, batch = make(masks="all").train(), batch_of()
    other = batch._replace(labels=(batch.labels + 1) % CLASSES)
    assert torch.equal(learner(batch).predicted, learner(other).predicted)


def test_to_the_model_all_readers_are_one() -> None:
    learner, batch = make().eval(), batch_of()
    prediction = learner.predict(batch.inputs, batch.annotators)
    assert torch.equal(prediction.clean, learner.predict(batch.inputs).clean)
    assert torch.equal(prediction.noisy.all(), prediction.clean.unsqueeze(-2))


@pytest.mark.parametrize("masks", ["one", "all"])
def test_volumes(masks: Any) -> None:
    space = (3, 5, 4)
    learner, batch = make(space, masks=masks).train(), batch_of(space)
    step = learner(batch)
    step.losses.sum().backward()
    assert step.predicted.shape == (4, *space)
    assert all(p.grad is not None and p.grad.isfinite().all() and p.grad.any() for p in learner.parameters())
    learner.eval()
    assert learner.predict(batch.inputs).clean.shape == (4, *space, CLASSES)
    assert learner.sample(batch.inputs, 2).shape == (2, 4, *space, CLASSES)
    assert learner.uncertainty(batch.inputs).entropy.shape == (4, *space)


def test_mixed_precision_sums_draws_in_full() -> None:
    learner, batch = make().float(), batch_of()
    inputs = batch.inputs.float()
    with torch.autocast("cpu", torch.bfloat16):
        step = learner.train()(batch._replace(inputs=inputs, weights=batch.weights.float()))
        clean = learner.eval().predict(inputs).clean
        found = learner.uncertainty(inputs)
    assert step.losses.dtype == clean.dtype == found.variance.dtype == torch.float32
    torch.testing.assert_close(found.probs, clean.exp())
    torch.testing.assert_close(clean.exp().sum(-1), torch.ones(4, *SPACE))


def discs(count: int, generator: torch.Generator, side: int = 12) -> tuple[Tensor, Tensor]:
    """Images of a disc, and two readers' masks: all of it, and its left half."""
    centre = 4 + (side - 8) * torch.rand(count, 2, 1, 1, generator=generator)
    row, column = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    disc = (row - centre[:, 0]) ** 2 + (column - centre[:, 1]) ** 2 < 3.5**2
    noise = 0.2 * torch.randn(count, side, side, generator=generator)
    masks = torch.stack([disc, disc & (column < centre[:, 1])], -1)
    return (disc + noise).unsqueeze(1), masks


def distance(first: Tensor, second: Tensor) -> Tensor:
    """One minus intersection over union of masks ``(..., H, W)``."""
    both, either = (first & second).sum((-2, -1)), (first | second).sum((-2, -1))
    return 1 - torch.where(either == 0, 1.0, both / either)


def energy(drawn: Tensor, masks: Tensor) -> Tensor:
    """Generalised energy distance between draws ``(M, N, H, W)`` and masks ``(R, N, H, W)``: ``(N,)``."""

    def apart(first: Tensor, second: Tensor) -> Tensor:
        return distance(first.unsqueeze(1), second.unsqueeze(0)).mean((0, 1))

    return 2 * apart(drawn, masks) - apart(drawn, drawn) - apart(masks, masks)


@pytest.mark.long
def test_draws_show_both_readers() -> None:
    generator = torch.Generator().manual_seed(0)
    images, masks = discs(48, generator)
    torch.manual_seed(0)
    network = UNet(1, width=8, depth=2)
    learner = ProbabilisticUNet(network, 2, (1, 12, 12), latent=2, masks="all", width=8, layers=2).train()
    optimizer = torch.optim.Adam(learner.parameters(), 5e-3)
    who, weights = torch.tensor([[0, 1]]).expand(8, -1), torch.ones(8, 2)
    for _ in range(150):
        index = torch.randperm(48)[:8]
        optimizer.zero_grad()
        learner(Batch(images[index], masks[index].long(), who, weights, None, index)).losses.mean().backward()
        optimizer.step()
    new, said = discs(16, generator)
    with torch.no_grad():
        drawn = learner.eval().sample(new, 20, generator).argmax(-1).bool()
    whole, half = said.unbind(-1)
    # The distance obeys the triangle inequality, so that no single mask is nearer to both than half their distance.
    best_single = distance(whole, half).mean() / 2
    assert energy(drawn, said.movedim(-1, 0)).mean() < 0.5 * best_single
    right = whole & ~half
    filled = (drawn & right).sum((-2, -1)) / right.sum((-2, -1))
    assert (filled > 0.8).float().mean() > 0.1
    assert (filled < 0.2).float().mean() > 0.1


def test_a_network_without_pixels_is_refused() -> None:
    learner = ProbabilisticUNet(MLP(60, width=8), CLASSES, (CHANNELS, *SPACE)).double()
    with pytest.raises(ValueError, match=r"the network gives features \(4, 8\) for images \(4, 2, 5, 6\): .* 'unet'"):
        learner.predict(batch_of().inputs)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"masks": "some"}, "masks must be one of one, all, got 'some'"),
        ({"beta": -1.0}, "beta must be a number of at least 0, got -1.0"),
        ({"samples": 0}, "samples must be a whole number of at least 1, got 0"),
        ({"layers": 0}, "layers must be a whole number of at least 1, got 0"),
        ({"space": (5,)}, r"shape must be \(C, H, W\) or \(C, D, H, W\), got \(2, 5\)"),
    ],
)
def test_wrong_options_are_refused(option: dict[str, Any], message: str) -> None:
    space = option.pop("space", SPACE)
    with pytest.raises(ValueError, match=message):
        ProbabilisticUNet(UNet(CHANNELS, width=8, depth=2), CLASSES, (CHANNELS, *space), **option)
