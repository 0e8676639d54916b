from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from truelabel.noise import sampled_softmax
from truelabel.noise.sampled_softmax import (
    Draws,
    GaussianLatent,
    log_mean_softmax,
    log_mean_softmax_at,
    softmax_variance,
)

CLASSES = 4


@pytest.fixture(params=[12, 100, 2**18], ids=["one sample a tile", "some samples a tile", "one tile"])
def tile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sampled_softmax, "TILE_ON_CPU", request.param)
    return int(request.param)


def assert_exact(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def random_latent(units: tuple[int, ...], factors: int, classes: int = CLASSES) -> GaussianLatent:
    parts = (
        2 * torch.randn(*units, classes, dtype=torch.double),
        3 * torch.rand(*units, classes, dtype=torch.double),
        torch.randn(*units, classes, factors, dtype=torch.double),
    )
    return GaussianLatent(*(part.requires_grad_() for part in parts))


def random_draws(factors: int, samples: int, *space: int, classes: int = CLASSES) -> Draws:
    return Draws(*(torch.randn(rows, samples, *space, dtype=torch.double) for rows in (factors, classes)))


def log_mean(logits: Tensor) -> Tensor:
    """The definition: ``logits (M, ..., K)`` to ``(..., K)``."""
    return logits.softmax(-1).mean(0).log()


def gradients(value: Tensor, latent: GaussianLatent) -> tuple[Tensor, ...]:
    weight = torch.rand(value.shape, generator=torch.Generator().manual_seed(3), dtype=value.dtype)
    return torch.autograd.grad((weight * value).sum(), latent)


class Recorder:
    """Standard normal numbers, remembered as the tiles ``(n, rows, c)`` that they filled."""

    def __init__(self) -> None:
        self.tiles: list[Tensor] = []

    def __call__(self, empty: Tensor) -> Tensor:
        self.tiles.append(empty.normal_().clone())
        return empty

    def noise(self, tiles: list[Tensor], samples: int) -> Tensor:
        """``(units, rows, M)``: blocks of units follow each other, and within each the chunks of samples."""
        blocks: list[list[Tensor]] = [[]]
        for drawn in tiles:
            if sum(part.shape[-1] for part in blocks[-1]) == samples:
                blocks.append([])
            blocks[-1].append(drawn)
        return torch.cat([torch.cat(block, -1) for block in blocks])


@pytest.mark.parametrize("factors", [0, 3])
@pytest.mark.parametrize("slots", [1, 2])
def test_one_pass_equals_the_definition_on_the_same_draws(tile: int, factors: int, slots: int) -> None:
    units, samples, recorder = (3, 2), 17, Recorder()
    latent, labels = random_latent(units, factors), torch.randint(CLASSES, (*units, slots))
    values = log_mean_softmax_at(latent, labels, samples, recorder)
    assert len(recorder.tiles) > 2 or tile > 12

    step = 2 if factors else 1
    own = recorder.noise(recorder.tiles[::step], samples).view(*units, CLASSES, samples)
    drawn = recorder.noise(recorder.tiles[1::2], samples) if factors else own[:0]
    common = drawn.reshape(*units, factors, samples)
    logits = latent.location + (latent.scale.unsqueeze(-1) * own + latent.factors @ common).movedim(-1, 0)
    expected = log_mean(logits).gather(-1, labels)
    assert_exact(values, expected)
    for ours, theirs in zip(gradients(values, latent), gradients(expected, latent), strict=True):
        assert_exact(ours, theirs)


@pytest.mark.parametrize("factors", [0, 3])
def test_two_passes_equal_the_definition_on_the_same_draws(tile: int, factors: int) -> None:
    latent, draws = random_latent((3, 2), factors), random_draws(factors, 17)
    values = log_mean_softmax(latent, draws)
    logits = latent.location + torch.einsum("...kq,qm->m...k", latent.factors, draws.common)
    expected = log_mean(logits + torch.einsum("...k,km->m...k", latent.scale, draws.own))
    assert_exact(values, expected)
    for ours, theirs in zip(gradients(values, latent), gradients(expected, latent), strict=True):
        assert_exact(ours, theirs)


def repeatable() -> Callable[[Tensor], Tensor]:
    generator = torch.Generator().manual_seed(5)
    return lambda empty: empty.normal_(generator=generator)


@pytest.mark.parametrize("factors", [0, 2])
def test_gradcheck(tile: int, factors: int) -> None:
    latent, draws, labels = random_latent((2,), factors), random_draws(factors, 5), torch.tensor([[0, 3], [2, 2]])
    assert torch.autograd.gradcheck(
        lambda *parts: log_mean_softmax_at(GaussianLatent(*parts), labels, 5, repeatable()), tuple(latent)
    )
    assert torch.autograd.gradcheck(lambda *parts: log_mean_softmax(GaussianLatent(*parts), draws), tuple(latent))


def test_fresh_draws_have_the_low_rank_covariance() -> None:
    # With one sample the values are logits up to a constant; differences from class 0 show their covariance.
    latent = random_latent((), 2)
    covariance = latent.factors @ latent.factors.mT + latent.scale.square().diag()
    contrast = torch.eye(CLASSES, dtype=torch.double)[1:] - torch.eye(CLASSES, dtype=torch.double)[0]
    many = GaussianLatent(*(part.detach().expand(200_000, *part.shape) for part in latent))
    labels = torch.arange(CLASSES).expand(200_000, CLASSES)
    logits = log_mean_softmax_at(many, labels, 1) @ contrast.T
    torch.testing.assert_close(logits.mean(0), contrast @ latent.location, rtol=0, atol=0.05)
    torch.testing.assert_close(logits.T.cov(), contrast @ covariance @ contrast.T, rtol=0.02, atol=0.1)


def test_draws_of_units_are_independent() -> None:
    twice = GaussianLatent(torch.zeros(50_000, 2), torch.ones(50_000, 2), torch.ones(50_000, 2, 1))
    values = log_mean_softmax_at(twice, torch.zeros(50_000, 1, dtype=torch.long), 1).view(2, -1)
    assert values.corrcoef()[0, 1].abs() < 0.03


@pytest.mark.parametrize("factors", [0, 2])
def test_fresh_draws_agree_with_shared_draws_on_average(factors: int) -> None:
    latent, labels = random_latent((3,), factors), torch.arange(CLASSES).expand(3, CLASSES)
    one = log_mean_softmax_at(latent, labels, 200_000)
    two = log_mean_softmax(latent, random_draws(factors, 200_000))
    torch.testing.assert_close(one.exp(), two.exp(), rtol=0, atol=0.01)


def test_tiny_probabilities_are_exact_in_single_precision(tile: int) -> None:
    location = torch.tensor([[1e4, -1e4, 0.0, 9e3], [-1e4, -1e4, 1e4, 1e4]])
    scale, factors = torch.full((2, 4), 5.0), torch.zeros(2, 4, 0)
    labels = torch.arange(4).expand(2, 4)
    recorder = Recorder()
    latent = GaussianLatent(location.clone().requires_grad_(), scale.clone().requires_grad_(), factors)
    one = log_mean_softmax_at(latent, labels, 7, recorder)
    own = recorder.noise(recorder.tiles, 7).movedim(-1, 0).double()
    precise = location.double().requires_grad_(), scale.double().requires_grad_()
    expected = (precise[0] + precise[1] * own).log_softmax(-1).logsumexp(0) - torch.tensor(7.0).log()
    assert expected.min() < -1e4
    torch.testing.assert_close(one.double(), expected, rtol=1e-6, atol=1e-3)
    ours = torch.autograd.grad(one.sum(), latent[:2])
    theirs = torch.autograd.grad(expected.sum(), precise)
    for single, double in zip(ours, theirs, strict=True):
        torch.testing.assert_close(single.double(), double, rtol=0.01, atol=0.01)

    draws = Draws(torch.zeros(0, 7), own[:, 0].T.float())
    two = log_mean_softmax(latent, draws)
    torch.testing.assert_close(two[0].double(), expected[0], rtol=1e-6, atol=1e-3)
    assert all(part.isfinite().all() for part in torch.autograd.grad(two.sum(), latent[:2]))


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation returned."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else [result]:
            if isinstance(value, Tensor):
                self.elements = max(self.elements, value.numel())
        return result


@pytest.mark.parametrize("factors", [0, 3])
def test_memory_does_not_grow_with_samples(monkeypatch: pytest.MonkeyPatch, factors: int) -> None:
    monkeypatch.setattr(sampled_softmax, "TILE_ON_CPU", 1024)
    latent, labels = random_latent((20,), factors), torch.randint(CLASSES, (20, 2))

    def one(samples: int) -> Tensor:
        return log_mean_softmax_at(latent, labels, samples)

    def two(samples: int) -> Tensor:
        return log_mean_softmax(latent, draws)

    for function in (one, two):
        peaks = []
        for samples in (1024, 4096):
            draws = random_draws(factors, samples)
            with Largest() as largest:
                function(samples).sum().backward()
            peaks.append(largest.elements)
        # The shared draws themselves are (Q + 1 + K, M); every other tensor is a tile.
        allowed = 1024 * CLASSES if function is one else 4096 * (1 + max(factors, CLASSES))
        assert peaks[1] <= allowed < 20 * CLASSES * 4096
        if function is one:
            assert peaks[0] == peaks[1]


def bilinear(image: Tensor, times: int) -> Tensor:
    """``(H, W)`` enlarged by the textbook formula, a pixel at a time; pixel centres lie at half integers."""

    def neighbours(place: int, side: int) -> list[tuple[int, float]]:
        position = min(max((place + 0.5) / times - 0.5, 0.0), side - 1.0)
        low = int(position)
        return [(low, 1 - (position - low)), (min(low + 1, side - 1), position - low)]

    height, width = image.shape
    rows = []
    for i in range(times * height):
        for j in range(times * width):
            near = [(a, b, p * q) for a, p in neighbours(i, height) for b, q in neighbours(j, width)]
            rows.append(sum(share * image[a, b] for a, b, share in near))
    return torch.stack([torch.as_tensor(row) for row in rows]).view(times * height, times * width)


@pytest.mark.parametrize("factors", [0, 2])
def test_sampled_logits_are_enlarged_before_the_softmax(tile: int, factors: int) -> None:
    units, samples, times = (2, 2, 3), 3, 2
    latent, draws = random_latent(units, factors), random_draws(factors, samples, 2, 3)
    values = log_mean_softmax(latent, draws, upsample=times)
    drawn = []
    for m in range(samples):
        logits = latent.location + latent.scale * draws.own[:, m].movedim(0, -1)
        logits = logits + torch.einsum("nhwkq,qhw->nhwk", latent.factors, draws.common[:, m])
        large = [torch.stack([bilinear(logits[n, ..., k], times) for k in range(CLASSES)], -1) for n in range(2)]
        drawn.append(torch.stack(large))
    expected = log_mean(torch.stack(drawn))
    assert values.shape == (2, 4, 6, CLASSES)
    assert_exact(values, expected)
    for ours, theirs in zip(gradients(values, latent), gradients(expected, latent), strict=True):
        assert_exact(ours, theirs)


@pytest.mark.parametrize("upsample", [1, 2])
def test_variance_over_draws(tile: int, upsample: int) -> None:
    latent = GaussianLatent(*(part.detach() for part in random_latent((2, 2, 3), 2)))
    draws = random_draws(2, 9, 2, 3) if upsample > 1 else random_draws(2, 9)
    singles = [Draws(draws.common[:, m : m + 1], draws.own[:, m : m + 1]) for m in range(9)]
    probs = torch.stack([log_mean_softmax(latent, single, upsample).exp() for single in singles])
    variance = softmax_variance(latent, draws, log_mean_softmax(latent, draws, upsample).exp(), upsample)
    assert_exact(variance, probs.var(0, correction=0))


def test_autocast_leaves_full_precision() -> None:
    latent = GaussianLatent(*(part.detach().float().requires_grad_() for part in random_latent((5,), 2)))
    draws, labels = Draws(*(part.float() for part in random_draws(2, 50))), torch.randint(CLASSES, (5, 1))

    def both() -> tuple[Tensor, ...]:
        one = log_mean_softmax_at(latent, labels, 50, repeatable())
        two = log_mean_softmax(latent, draws)
        return one, two, *gradients(one, latent), *gradients(two, latent)

    expected = both()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = both()
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(mixed, expected, strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("factors", [0, 2])
def test_a_cuda_graph_draws_anew(factors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_softmax, "TILE_ELSEWHERE", 1000)
    latent = GaussianLatent(*(part.detach().cuda().requires_grad_() for part in random_latent((5,), factors)))
    labels, draws = torch.randint(CLASSES, (5, 2)).cuda(), Draws(*(part.cuda() for part in random_draws(factors, 300)))

    def step() -> tuple[Tensor, ...]:
        one, two = log_mean_softmax_at(latent, labels, 5000), log_mean_softmax(latent, draws)
        grads = torch.autograd.grad(one.sum() + two.sum(), latent)
        return one.detach(), two.detach(), *grads

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        expected = step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    graph.replay()
    first = [value.clone() for value in captured]
    graph.replay()
    assert not torch.equal(captured[0], first[0])
    for ours, theirs in zip(captured, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.3)
