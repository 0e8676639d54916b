"""The recorded step: its bookkeeping with a pretended graph, its arithmetic on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from truelabel.training.capture import WARM_UP, CapturedStep

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class Tape:
    """Pretends to be a CUDA graph: what runs while it records has no effect, and is run by each replay."""

    def __init__(self) -> None:
        self.recorded: list[Callable[[], None]] = []
        self.recording = False
        self.recordings = 0

    def replay(self) -> None:
        assert not self.recording
        for work in self.recorded:
            work()


class Side:
    """Pretends to be a stream."""

    def wait_stream(self, other: Side) -> None:
        assert isinstance(other, Side)


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> Tape:
    """The graph that the next captured step makes."""
    made = Tape()

    @contextmanager
    def graph(given: Tape) -> Iterator[None]:
        assert given is made
        made.recording = True
        made.recordings += 1
        yield
        made.recording = False

    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: made)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "Stream", Side)
    monkeypatch.setattr(torch.cuda, "current_stream", Side)
    monkeypatch.setattr(torch.cuda, "stream", lambda side: nullcontext())
    monkeypatch.setattr(torch.cuda, "set_stream", lambda side: None)
    monkeypatch.setattr(torch.cuda, "default_generators", ())
    return made


def test_every_index_is_trained_on_once_and_recording_trains_on_none(tape: Tape) -> None:
    trained: list[list[int]] = []
    cleared: list[int] = []

    def step(index: Tensor) -> None:
        def work() -> None:
            trained.append(index.tolist())

        if tape.recording:
            tape.recorded.append(work)
        else:
            work()

    captured = CapturedStep(step, lambda: cleared.append(len(trained)))
    batches = torch.arange(21).view(7, 3)
    for count, batch in enumerate(batches):
        captured(batch)
        assert trained == batches[: count + 1].tolist()
        assert tape.recordings == (count >= WARM_UP)
    # Gradients are cleared before each eager step and once for the recording; replays overwrite them.
    assert cleared == list(range(WARM_UP + 1))
    assert torch.equal(batches, torch.arange(21).view(7, 3)), "the index given is copied, never written to"


def test_what_cannot_be_recorded_runs_eagerly_and_says_so(tape: Tape) -> None:
    trained: list[list[int]] = []

    def step(index: Tensor) -> None:
        if tape.recording:
            tape.recording = False
            raise RuntimeError("operation not permitted when stream is capturing\nand more")
        trained.append(index.tolist())

    captured = CapturedStep(step, lambda: None)
    batches = torch.arange(21).view(7, 3)
    for batch in batches[:WARM_UP]:
        captured(batch)
    with pytest.warns(UserWarning, match="runs eagerly: operation not permitted when stream is capturing$"):
        captured(batches[WARM_UP])
    for batch in batches[WARM_UP + 1 :]:
        captured(batch)
    assert trained == batches.tolist()
    assert tape.recordings == 1


@pytest.mark.parametrize("before", [False, True])
def test_cudnn_chooses_by_trying_where_shapes_are_met_and_recorded(
    tape: Tape, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", before)
    tried: list[bool] = []
    captured = CapturedStep(lambda index: tried.append(torch.backends.cudnn.benchmark), lambda: None)
    for _ in range(WARM_UP + 2):
        captured(torch.zeros(1))
        assert torch.backends.cudnn.benchmark is before
    assert tried == [True] * (WARM_UP + 1), "the warm-up and one recording"


def regression(device: torch.device) -> tuple[nn.Linear, Callable[[Tensor], None], Callable[[], None]]:
    """A tiny linear model on fixed data, with a step and a way to clear its gradients."""
    torch.manual_seed(0)
    inputs, targets = torch.randn(64, 5, device=device), torch.randn(64, 2, device=device)
    model = nn.Linear(5, 2).to(device)
    options: dict[str, Any] = {"lr": 0.05, "capturable": device.type == "cuda"}
    optimizer = torch.optim.Adam(model.parameters(), **options)

    def step(index: Tensor) -> None:
        loss = (model(inputs[index]) - targets[index]).square().mean()
        loss.backward()
        optimizer.step()

    return model, step, optimizer.zero_grad


@on_gpu
def test_captured_and_eager_steps_agree() -> None:
    device = torch.device("cuda")
    model, step, clear = regression(device)
    reference, eager, eager_clear = regression(device)
    captured = CapturedStep(step, clear)
    start = [parameter.detach().clone() for parameter in model.parameters()]
    for number in range(20):
        index = torch.randperm(64, generator=torch.Generator().manual_seed(number))[:16].to(device)
        captured(index)
        eager_clear()
        eager(index)
        for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    assert all((now - before).abs().max() > 0.1 for now, before in zip(model.parameters(), start, strict=True))


@on_gpu
def test_a_recorded_step_draws_fresh_random_numbers() -> None:
    seen = torch.zeros(8, device="cuda")
    place = torch.zeros((), dtype=torch.long, device="cuda")

    def step(index: Tensor) -> None:
        seen.index_copy_(0, place.unsqueeze(0), torch.rand(1, device="cuda"))
        place.add_(1)

    captured = CapturedStep(step, lambda: None)
    for _ in range(8):
        captured(torch.zeros(1, dtype=torch.long, device="cuda"))
    assert len(seen.unique()) == 8


@on_gpu
def test_a_step_that_asks_the_device_runs_eagerly_after_a_failed_recording() -> None:
    seen: list[float] = []

    def step(index: Tensor) -> None:
        seen.append((index.float().mean() + torch.rand((), device="cuda")).item())

    captured, index = CapturedStep(step, lambda: None), torch.zeros(4, dtype=torch.long, device="cuda")
    for _ in range(WARM_UP):
        captured(index)
    with pytest.warns(UserWarning, match="runs eagerly"):
        captured(index)
    captured(index)
    assert len(set(seen)) == WARM_UP + 2
