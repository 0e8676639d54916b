"""Our Adam and AdamW against those of torch, in Triton's interpreter where there is no GPU."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from truelabel.training import History
from truelabel.training.capture import CapturedStep
from truelabel.training.checkpoint import State
from truelabel.training.optimizers import set_learning_rate

pytest.importorskip("triton")

from truelabel.training import adam_kernel, optimizers
from truelabel.training.adam_kernel import KernelAdam, KernelAdamW, updatable

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PAIRS = [(KernelAdam, torch.optim.Adam), (KernelAdamW, torch.optim.AdamW)]
both_kinds = pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=["adam", "adamw"])
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def weights() -> list[nn.Parameter]:
    """The same random parameters at every call; the last two are channels last, the very last with one channel."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(), (1,), (7,), (1024,), (5000,), (8, 3, 5, 5), (6, 1, 5, 5)]
    drawn = [torch.randn(shape, generator=generator) for shape in shapes]
    drawn[-2:] = [values.contiguous(memory_format=torch.channels_last) for values in drawn[-2:]]
    return [nn.Parameter(values.to(DEVICE)) for values in drawn]


def built(kind: Any, parameters: Sequence[nn.Parameter]) -> Any:
    groups = [
        {"params": parameters[:4], "weight_decay": 0.1, "base": 0.01},
        {"params": parameters[4:], "weight_decay": 0.0, "base": 0.03, "betas": (0.8, 0.99), "eps": 1e-6},
    ]
    for group in groups:
        group["lr"] = torch.tensor(group["base"], device=DEVICE)
    options = {} if kind in (KernelAdam, KernelAdamW) else {"capturable": DEVICE.type == "cuda"}
    return kind(groups, **options)


def gradients(number: int) -> list[Tensor]:
    """Of all parameters, in the usual order whatever theirs is, over six orders of magnitude."""
    generator = torch.Generator().manual_seed(100 + number)
    return [10.0 ** (i - 3) * torch.randn(p.shape, generator=generator).to(DEVICE) for i, p in enumerate(weights())]


def train(parameters: Sequence[nn.Parameter], optimizer: Any, steps: range, lacking: Sequence[int] = ()) -> None:
    """Steps with changing rates, of which some have no gradient for the parameters ``lacking``."""
    for number in steps:
        set_learning_rate(optimizer, 1 / (1 + number))
        for i, (parameter, gradient) in enumerate(zip(parameters, gradients(number), strict=True)):
            parameter.grad = None if i in lacking and number % 3 == 0 else gradient
        optimizer.step()


def assert_same(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        # Sums of numbers of both signs are as exact as the numbers, not as the sums.
        largest = other.abs().max().item() if other.numel() else 0.0
        torch.testing.assert_close(one, other, atol=1e-6 * largest, rtol=1e-5)


def assert_same_state(ours: torch.optim.Optimizer, theirs: torch.optim.Optimizer) -> None:
    mine, other = ours.state_dict()["state"], theirs.state_dict()["state"]
    assert mine.keys() == other.keys()
    for i, entries in mine.items():
        assert entries.keys() == other[i].keys()
        for key, value in entries.items():
            assert value.dtype == other[i][key].dtype
            assert value.shape == other[i][key].shape
            assert_same([value], [other[i][key]])


@both_kinds
def test_steps_are_those_of_torch(ours: Any, theirs: Any) -> None:
    mine, other = weights(), weights()
    optimizer, reference = built(ours, mine), built(theirs, other)
    for number in range(20):
        train(mine, optimizer, range(number, number + 1), lacking=(2, 5))
        train(other, reference, range(number, number + 1), lacking=(2, 5))
        assert_same(mine, other)
        assert_same_state(optimizer, reference)
    assert all((now - before).abs().max() > 0.003 for now, before in zip(mine, weights(), strict=True))


def test_a_parameter_that_never_has_a_gradient_gets_no_state() -> None:
    mine = weights()
    optimizer = built(KernelAdam, mine)
    optimizer.step()
    for parameter in mine[1:]:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert list(optimizer.state) == mine[1:]
    assert torch.equal(mine[0], weights()[0])


@both_kinds
@pytest.mark.parametrize("turn", ["to ours", "to theirs"])
def test_a_state_moves_to_torch_and_back(ours: Any, theirs: Any, turn: str) -> None:
    mine, other = weights(), weights()
    first, second = (theirs, ours) if turn == "to ours" else (ours, theirs)
    before, reference = built(first, mine), built(theirs, other)
    train(mine, before, range(5))
    train(other, reference, range(10))
    after = built(second, mine)
    after.load_state_dict(copy.deepcopy(before.state_dict()))
    train(mine, after, range(5, 10))
    assert_same(mine, other)
    assert_same_state(after, reference)


@both_kinds
def test_a_state_of_an_optimizer_with_rates_and_counts_on_the_host_is_taken_up(ours: Any, theirs: Any) -> None:
    mine, other = weights(), weights()
    reference = theirs(other, lr=0.01, weight_decay=0.1, capturable=False)
    for parameters in (mine, other):
        for parameter, gradient in zip(parameters, gradients(0), strict=True):
            parameter.grad = gradient
    reference.step()
    with torch.no_grad():
        for parameter, value in zip(mine, other, strict=True):
            parameter.copy_(value)
    optimizer = ours(mine, lr=0.5)
    state = copy.deepcopy(reference.state_dict())
    for entries in state["state"].values():
        entries["exp_avg"] = entries["exp_avg"].contiguous()
    optimizer.load_state_dict(state)
    optimizer.step()
    reference.step()
    assert_same(mine, other)
    assert optimizer.param_groups[0]["lr"].device == mine[0].device
    assert all(entries["step"].device == p.device for p, entries in optimizer.state.items())


@both_kinds
def test_a_checkpoint_goes_on_bit_by_bit(ours: Any, theirs: Any, tmp_path: Path) -> None:
    def state(kind: Any) -> State:
        peer = nn.ParameterList(weights())
        return State([peer], [built(kind, list(peer))], nn.Identity(), torch.Generator(), History())

    written, read, plain = state(ours), state(ours), state(theirs)
    train(list(written.peers[0].parameters()), written.optimizers[0], range(4))
    path = tmp_path / "last.safetensors"
    written.save(path, {name: value.unsqueeze(0) for name, value in written.random_states().items()})
    read.load(path, rank=0, world=1)
    plain.load(path, rank=0, world=1)
    for each in (written, read, plain):
        train(list(each.peers[0].parameters()), each.optimizers[0], range(4, 8))
    pairs = zip(written.peers[0].parameters(), read.peers[0].parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    assert_same(list(written.peers[0].parameters()), list(plain.peers[0].parameters()))
    assert_same_state(written.optimizers[0], plain.optimizers[0])


def test_more_gradients_than_a_launch_may_have_need_more_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adam_kernel, "MOST", 3)
    mine, other = weights(), weights()
    optimizer = built(KernelAdam, mine)
    train(mine, optimizer, range(3))
    train(other, built(torch.optim.Adam, other), range(3))
    assert_same(mine, other)
    assert len(optimizer._tables[1]) == 3


def test_tables_stay_on_the_device_until_an_address_or_a_constant_changes() -> None:
    mine = weights()
    optimizer = built(KernelAdam, mine)
    train(mine, optimizer, range(1))
    tables = optimizer._tables[1]
    train(mine, optimizer, range(1, 3))
    assert optimizer._tables[1] is tables
    optimizer.param_groups[0]["weight_decay"] = 0.2
    train(mine, optimizer, range(3, 4))
    changed = optimizer._tables[1]
    assert changed is not tables
    mine[4].data = mine[4].data.clone()
    train(mine, optimizer, range(4, 5))
    assert optimizer._tables[1] is not changed


def test_gradients_and_parameters_at_odd_addresses() -> None:
    memory = torch.arange(2 * 3001, device=DEVICE) / 1000
    before = memory.clone()
    mine = nn.Parameter(memory[1:3001])
    other = nn.Parameter(mine.detach().clone())
    mine.grad = memory[3002:]
    other.grad = mine.grad.clone()
    assert mine.data_ptr() % 16
    assert mine.grad.data_ptr() % 16
    KernelAdam([mine], lr=0.1).step()
    torch.optim.Adam([other], lr=0.1).step()
    assert_same([mine], [other])
    assert torch.equal(memory[[0, 3001]], before[[0, 3001]])
    assert torch.equal(memory[3002:], other.grad)


def test_a_copy_goes_its_own_way() -> None:
    mine = weights()
    optimizer = built(KernelAdam, mine)
    train(mine, optimizer, range(2))
    parameters, other = copy.deepcopy((mine, optimizer))
    before = [parameter.clone() for parameter in mine]
    train(parameters, other, range(2, 4))
    assert all(torch.equal(now, then) for now, then in zip(mine, before, strict=True))
    train(mine, optimizer, range(2, 4))
    assert all(torch.equal(now, then) for now, then in zip(mine, parameters, strict=True))


def test_autograd_notices_that_a_parameter_has_changed() -> None:
    parameter = nn.Parameter(torch.ones(3, device=DEVICE))
    loss = parameter.square().sum()
    loss.backward(retain_graph=True)
    KernelAdam([parameter]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_cannot_be_updated_is_refused() -> None:
    wide = torch.ones(4, 4, device=DEVICE)
    assert updatable([wide, wide.t(), wide[:, :1].contiguous()])
    assert updatable([torch.ones(0, device=DEVICE)])
    assert not updatable([wide, wide.double()])
    assert not updatable([wide[:, :2]])
    assert not updatable([wide[:1].expand(4, 4)])
    assert not updatable([wide, wide.to("meta")])
    with pytest.raises(ValueError, match="params must be float32, dense"):
        KernelAdam([nn.Parameter(wide.double())])
    with pytest.raises(ValueError, match="amsgrad is not supported"):
        KernelAdam([{"params": [nn.Parameter(wide)], "amsgrad": True}])
    optimizer = KernelAdam([nn.Parameter(wide)])
    with pytest.raises(ValueError, match="maximize is not supported"):
        optimizer.load_state_dict(torch.optim.Adam([nn.Parameter(wide)], maximize=True).state_dict())


def test_empty_parameters_and_closures() -> None:
    empty, full = nn.Parameter(torch.ones(0, device=DEVICE)), nn.Parameter(torch.ones(2, device=DEVICE))
    optimizer = KernelAdamW([empty])
    empty.grad = torch.ones_like(empty)
    optimizer.step()
    assert optimizer.state[empty]["step"] == 1
    optimizer = KernelAdamW([empty, full], lr=0.1)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = full.sum() + empty.sum()
        loss.backward()
        return loss

    assert optimizer.step(closure) == 2
    assert full.max() < 1


def test_it_is_chosen_where_kernels_work_and_parameters_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(name: str, kind: torch.dtype = torch.float32) -> Any:
        return optimizers._in_one_launch(name, [{"params": [nn.Parameter(torch.ones(3, dtype=kind))]}])

    assert chosen("adam") is None, "nothing works on a CPU"
    monkeypatch.setattr(optimizers, "kernels_work", lambda device: True)
    assert chosen("adam") is KernelAdam
    assert chosen("adamw") is KernelAdamW
    assert chosen("adam", torch.float64) is None


@on_gpu
@both_kinds
def test_a_recorded_step_is_that_of_torch(ours: Any, theirs: Any) -> None:
    data = torch.randn(64, 300, device=DEVICE)

    def regression(kind: Any) -> tuple[nn.Module, Any, CapturedStep]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(300, 70), nn.Tanh(), nn.Linear(70, 3)).to(DEVICE)
        optimizer = built(kind, [*model.parameters(), nn.Parameter(torch.ones(2, device=DEVICE))])

        def step(index: Tensor) -> None:
            model(data[index]).square().mean().backward()
            optimizer.step()

        return model, optimizer, CapturedStep(step, optimizer.zero_grad)

    model, optimizer, captured = regression(ours)
    reference, other, eager = regression(theirs)
    for number in range(20):
        for each in (optimizer, other):
            set_learning_rate(each, 1 / (1 + number))
        index = torch.randperm(64, generator=torch.Generator().manual_seed(number))[:16].to(DEVICE)
        captured(index)
        eager.clear()
        eager.step(index)
        for one, two in zip(model.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(one, two, atol=1e-4, rtol=1e-3)
    assert captured.graph is not None
    assert optimizer.state[next(model.parameters())]["step"] == 20
    assert optimizer._captured == [optimizer._tables[1]], "the graph reads what the warm-up had sent"
