from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from truelabel.training import History, RunFolderError
from truelabel.training.checkpoint import State, load_peers, peer_tensors


def make(optimizer: str, width: int = 4) -> State:
    peers = [nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.Linear(width, 1)) for _ in range(2)]
    kinds = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, lr=0.1)}
    selector = nn.BatchNorm1d(2)
    order = torch.Generator().manual_seed(1)
    return State(peers, [kinds[optimizer](peer.parameters()) for peer in peers], selector, order, History())


def advance(state: State) -> float:
    total = 0.0
    for peer, optimizer in zip(state.peers, state.optimizers, strict=True):
        inputs = torch.rand(8, 3, generator=state.order) + 0.1 * torch.randn(8, 3)
        loss = peer(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_restored_state_goes_on_bit_by_bit(optimizer: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    state = make(optimizer)
    advance(state)
    state.history.add({"valid_accuracy": 0.5, "valid_loss": 1.0})
    state.selector(torch.rand(4, 2))
    state.save(tmp_path / "last.safetensors", {k: v.unsqueeze(0) for k, v in state.random_states().items()})
    expected = [advance(state) for _ in range(3)]
    torch.manual_seed(99)
    other = make(optimizer)
    other.load(tmp_path / "last.safetensors", rank=0, world=1)
    assert [advance(other) for _ in range(3)] == expected
    assert other.history == state.history
    for name, value in peer_tensors(state.peers).items():
        assert torch.equal(peer_tensors(other.peers)[name], value)
    for key, value in state.selector.state_dict().items():
        assert torch.equal(other.selector.state_dict()[key], value)


def test_each_process_takes_its_own_generators(tmp_path: Path) -> None:
    state = make("sgd")
    mine = state.random_states()
    other = make("sgd")
    torch.manual_seed(77)
    theirs = other.random_states()
    state.save(tmp_path / "c.safetensors", {k: torch.stack([mine[k], theirs[k]]) for k in mine})
    expected = torch.rand(2)
    state.load(tmp_path / "c.safetensors", rank=1, world=2)
    assert torch.equal(torch.rand(2), expected)
    with pytest.raises(RunFolderError, match="was written by 2 processes: resume with as many"):
        state.load(tmp_path / "c.safetensors", rank=0, world=1)


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds weights of another network"):
        load_peers(make("sgd", width=5).peers, peer_tensors(make("sgd").peers), tmp_path / "best.safetensors")
