"""Without a GPU the kernel runs in Triton's interpreter: see ``tests/conftest.py``."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from truelabel.noise import sampled_softmax
from truelabel.noise.sampled_softmax import GaussianLatent, log_mean_softmax_at, runs_as_one_kernel

triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402

from truelabel.noise import sampled_softmax_kernel as kernel  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
normals = kernel.normals
jit: Any = triton.jit


@jit  # type: ignore[untyped-decorator]
def write_normals(  # type: ignore[no-untyped-def]
    seed_at, out, samples, COLUMNS: tl.constexpr, PARTS: tl.constexpr, LANES: tl.constexpr
):
    """``out (U, COLUMNS, samples)``, a program for each unit and group of samples."""
    unit, lane = tl.program_id(0), tl.arange(0, LANES)
    drawn = normals(tl.load(seed_at), unit, tl.program_id(1) * LANES + lane, COLUMNS * PARTS)
    for column in tl.static_range(COLUMNS):
        for part in tl.static_range(PARTS):
            sample = (tl.program_id(1) * PARTS + part) * LANES + lane
            at = out + (unit * COLUMNS + column) * samples + sample
            tl.store(at, drawn[column * PARTS + part], mask=sample < samples)


def draws(seed: Tensor, units: int, classes: int, factors: int, samples: int) -> Tensor:
    """``(U, Q + K, M)``: the numbers that the kernel draws, those of the factors first."""
    columns = factors + classes
    out = torch.full((units, columns, samples), torch.nan, device=seed.device)
    parts = kernel.parts_of(samples, classes, factors)
    groups = math.ceil(samples / (parts * kernel.LANES))
    write_normals[units, groups](seed, out, samples, columns, parts, LANES=kernel.LANES, num_warps=kernel.WARPS)
    return out


def random_operands(units: int, classes: int, factors: int, slots: int) -> tuple[Tensor, Tensor, Tensor]:
    loading = torch.cat([2 * torch.randn(units, classes, 1), torch.randn(units, classes, factors)], -1)
    operands = loading, 3 * torch.rand(units, classes), torch.randint(classes, (units, slots))
    return tuple(operand.to(DEVICE) for operand in operands)  # type: ignore[return-value]


def reference(loading: Tensor, scale: Tensor, labels: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The definition and its gradients by autograd, in double precision."""
    factors = loading.shape[-1] - 1
    loading, scale, drawn = (part.double().requires_grad_() for part in (loading, scale, drawn))
    common = torch.cat([torch.ones_like(drawn[:, :1]), drawn[:, :factors]], 1)
    logits = loading @ common + scale.unsqueeze(-1) * drawn[:, factors:]
    log_probs = logits.log_softmax(1).logsumexp(-1) - math.log(drawn.shape[-1])
    values = log_probs.gather(1, labels)
    gradients = [
        torch.autograd.grad(values[:, slot].sum(), (loading, scale), retain_graph=True)
        for slot in range(labels.shape[1])
    ]
    to_loading, to_scale = (torch.stack(parts, 1) for parts in zip(*gradients, strict=True))
    return values.detach(), to_loading.mT, to_scale


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("factors", [0, 3])
@pytest.mark.parametrize(("classes", "samples"), [(10, 600), (3, 130), (17, 300), (1, 3)])
def test_equals_the_definition_on_the_same_draws(classes: int, samples: int, factors: int, slots: int) -> None:
    operands, seed = random_operands(3, classes, factors, slots), torch.tensor([2**62 + 5], device=DEVICE)
    ours = kernel.sums_from_seed(*operands, samples, seed)
    theirs = reference(*operands, draws(seed, 3, classes, factors, samples))
    for mine, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.double(), expected, rtol=0, atol=1e-4)


def test_distant_logits() -> None:
    loading = torch.tensor([[1e4, -1e4, 0.0, 9e3], [-1e4, -1e4, 1e4, 1e4]], device=DEVICE).unsqueeze(-1)
    scale, labels = torch.full((2, 4), 5.0, device=DEVICE), torch.arange(4, device=DEVICE).expand(2, 4)
    seed = torch.tensor([7], device=DEVICE)
    values, to_loading, to_scale = kernel.sums_from_seed(loading, scale, labels, 200, seed)
    expected = reference(loading, scale, labels, draws(seed, 2, 4, 0, 200))
    assert expected[0].min() < -1e4
    torch.testing.assert_close(values.double(), expected[0], rtol=1e-6, atol=2e-3)
    # A logit of 1e4 has 1e-3 as its last place in single precision, which enters the weights of the samples.
    for mine, precise in ((to_loading, expected[1]), (to_scale, expected[2])):
        torch.testing.assert_close(mine.double(), precise, rtol=0.01, atol=0.01)


def test_draws_are_standard_normal_and_independent() -> None:
    units, samples = 4, 6000
    drawn = draws(kernel.draw_seed(torch.device(DEVICE)), units, 3, 2, samples).double()
    places = torch.linspace(-3, 3, 13, dtype=torch.double, device=DEVICE)
    expected = torch.special.ndtr(places)
    observed = (drawn.flatten().unsqueeze(-1) <= places).double().mean(0)
    error = (expected * (1 - expected) / drawn.numel()).sqrt()
    assert ((observed - expected).abs() < 4.5 * error).all()
    assert abs(drawn.mean()) < 4.5 / drawn.numel() ** 0.5
    assert abs(drawn.var() - 1) < 4.5 * (2 / drawn.numel()) ** 0.5

    streams = drawn.flatten(0, 1)
    for shift in (0, 1, kernel.LANES):
        correlation = streams[:, : samples - shift] @ streams[:, shift:].T / samples
        if shift == 0:
            correlation.fill_diagonal_(0)
        assert correlation.abs().max() < 5 / samples**0.5
    sizes = streams.square() - 1
    correlation = (sizes @ sizes.T / samples).fill_diagonal_(0)
    assert correlation.abs().max() < 5 * 2 / samples**0.5
    assert streams.flatten().unique().numel() > 0.99 * streams.numel()


def test_two_calls_draw_differently_and_a_seed_repeats_them() -> None:
    operands = random_operands(2, 3, 1, 1)
    torch.manual_seed(1)
    first, second = kernel.label_sums(*operands, 20), kernel.label_sums(*operands, 20)
    torch.manual_seed(1)
    again = kernel.label_sums(*operands, 20)
    assert not torch.isclose(first[0], second[0]).any()
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


def test_gradients_arrive_where_the_torch_way_puts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    location, scale, factors = torch.randn(2, 1, 3), torch.rand(2, 1, 3), torch.randn(2, 1, 3, 1)
    latent = GaussianLatent(*(part.to(DEVICE).requires_grad_() for part in (location, scale, factors)))
    labels = torch.randint(3, (2, 1, 2), device=DEVICE)
    ways = []
    for decision in (True, False):
        monkeypatch.setattr(sampled_softmax, "runs_as_one_kernel", lambda *_, decision=decision: decision)
        values = log_mean_softmax_at(latent, labels, 10_000)
        weighted = values * torch.arange(1.0, 3.0, device=DEVICE)
        ways.append((values, *torch.autograd.grad(weighted.sum(), latent)))
    for ours, theirs in zip(*ways, strict=True):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.15)


def test_when_the_kernel_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def decide(classes: int = 10, factors: int = 4, normal: Any = Tensor.normal_, **options: Any) -> bool:
        with FakeTensorMode():
            loading = torch.empty(7, classes, 1 + factors, **options)
            return runs_as_one_kernel(loading, torch.empty(7, classes, **options), normal)

    monkeypatch.setattr(sampled_softmax, "kernels_work", lambda device: device.type == "cuda")
    assert decide(device="cuda")
    assert decide(classes=64, factors=0, device="cuda")
    assert not decide(classes=65, factors=0, device="cuda")
    assert not decide(factors=40, device="cuda")
    assert not decide(device="cpu")
    assert not decide(device="cuda", dtype=torch.float64)
    assert not decide(device="cuda", normal=lambda empty: empty.normal_())
    monkeypatch.setattr(sampled_softmax, "kernels_work", lambda device: False)
    assert not decide(device="cuda")


@needs_gpu
@pytest.mark.parametrize("factors", [0, 4])
def test_a_captured_graph_draws_anew(factors: int) -> None:
    operands = random_operands(64, 10, factors, 1)
    kernel.label_sums(*operands, 1000)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = kernel.label_sums(*operands, 1000)
    graph.replay()
    first = [value.clone() for value in captured]
    graph.replay()
    assert not torch.isclose(captured[0], first[0], rtol=0).all()
    torch.testing.assert_close(captured[0].exp(), first[0].exp(), rtol=0, atol=0.1)


@needs_gpu
@pytest.mark.parametrize(("classes", "factors"), [(2, 0), (10, 0), (10, 4), (20, 2), (64, 0)])
def test_agrees_with_the_torch_way(classes: int, factors: int) -> None:
    loading, scale, _ = random_operands(6, classes, factors, 1)
    labels = torch.arange(classes, device=DEVICE).expand(6, classes)
    latent = GaussianLatent(loading[..., 0].contiguous(), scale, loading[..., 1:].contiguous())
    ours = log_mean_softmax_at(latent, labels, 200_000)
    theirs = log_mean_softmax_at(latent, labels, 200_000, lambda empty: empty.normal_())
    torch.testing.assert_close(ours.exp(), theirs.exp(), rtol=0, atol=0.01)
