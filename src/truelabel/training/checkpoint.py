"""The state of a training between two epochs, complete enough to go on bit by bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from truelabel.training.files import RunFolderError, read_tensors, write_tensors
from truelabel.training.history import History


@dataclass
class State:
    """Everything that training changes; tensors live in the objects themselves.

    Attributes:
        peers: the learners, unwrapped.
        optimizers: one a peer.
        selector: its buffers.
        order: the CPU generator of the order of examples, the same on every process.
        history: rows of the epochs finished.
    """

    peers: Sequence[nn.Module]
    optimizers: Sequence[torch.optim.Optimizer]
    selector: nn.Module
    order: torch.Generator
    history: History

    def save(self, path: Path, random_states: Mapping[str, Tensor]) -> None:
        """Write weights, optimisers, selector, generators (``random_states``, all processes) and history."""
        tensors = peer_tensors(self.peers) | dict(random_states)
        tensors |= {f"selector.{name}": value for name, value in self.selector.state_dict().items()}
        for m, optimizer in enumerate(self.optimizers):
            for i, entries in optimizer.state_dict()["state"].items():
                tensors |= {f"optimizer.{m}.{i}.{key}": value for key, value in entries.items() if value is not None}
        write_tensors(path, tensors, asdict(self.history))

    def load(self, path: Path, rank: int, world: int) -> None:
        """Take up what :meth:`save` wrote."""
        tensors, note = read_tensors(path)
        load_peers(self.peers, tensors, path)
        self.selector.load_state_dict(_under("selector.", tensors))
        for m, optimizer in enumerate(self.optimizers):
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in _under(f"optimizer.{m}.", tensors).items():
                i, key = name.split(".", 1)
                state.setdefault(int(i), {})[key] = value
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
            _as_parameters_lie(optimizer)
        states = {name: tensors[f"generator.{name}"] for name in self._generator_states()}
        if any(len(value) != world for value in states.values()):
            raise RunFolderError(f"{path} was written by {len(states['step'])} processes: resume with as many")
        # Cloned, because torch reads a state from an aligned address or not at all (it may even crash).
        mine = {name: value[rank].clone() for name, value in states.items()}
        self.order.set_state(mine["order"])
        set_default_states(mine, self.device)
        self.history.rows, self.history.best_epoch = note["rows"], note["best_epoch"]

    @property
    def device(self) -> torch.device:
        """Where the peers live."""
        return next(p.device for peer in self.peers for p in peer.parameters())

    def random_states(self) -> dict[str, Tensor]:
        """States of all generators of this process, by name."""
        return {f"generator.{name}": state for name, state in self._generator_states().items()}

    def _generator_states(self) -> dict[str, Tensor]:
        return {"order": self.order.get_state(), **default_states(self.device)}


def peer_tensors(peers: Sequence[nn.Module]) -> dict[str, Tensor]:
    """Weights and buffers of all peers by name."""
    return {f"peer.{m}.{name}": value for m, peer in enumerate(peers) for name, value in peer.state_dict().items()}


def load_peers(peers: Sequence[nn.Module], tensors: Mapping[str, Tensor], path: Path) -> None:
    """Fill peers with weights from a file, or say in one line that they do not fit."""
    try:
        for m, peer in enumerate(peers):
            peer.load_state_dict(_under(f"peer.{m}.", tensors))
    except RuntimeError as error:
        raise RunFolderError(f"{path} holds weights of another network: use another folder, or delete it") from error


def default_states(device: torch.device) -> dict[str, Tensor]:
    """States of torch's default generators that a step on ``device`` draws from."""
    states = {"step": torch.get_rng_state()}
    if device.type == "cuda":
        states["step-cuda"] = torch.cuda.get_rng_state(device)
    return states


def set_default_states(states: Mapping[str, Tensor], device: torch.device) -> None:
    """Put back what :func:`default_states` read."""
    torch.set_rng_state(states["step"])
    if "step-cuda" in states:
        torch.cuda.set_rng_state(states["step-cuda"], device)


def _as_parameters_lie(optimizer: torch.optim.Optimizer) -> None:
    """Averages in the memory format of their parameters, as fused optimisers want them."""
    for parameter, entries in optimizer.state.items():
        for key, value in entries.items():
            if isinstance(value, Tensor) and value.shape == parameter.shape:
                entries[key] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)


def _under(prefix: str, tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
