"""A training step on tensors without values: what it could not do there, it could not do in a CUDA graph either."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from truelabel.learners import Learner
from truelabel.selection import KeepAll, Selector
from truelabel.training import Engine, TrainingSet
from truelabel.training.divergence import FiniteWatch
from truelabel.training.step import step_loss
from truelabel.transforms import Transform

META = torch.device("meta")
MADE_ON_THE_HOST = (torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy)
LACKING: dict[Any, Callable[[Tensor], Tensor]] = {torch.ops.aten._sample_dirichlet.default: torch.empty_like}
"""What torch has for GPUs, but not for tensors without values, and what comes of it there."""


class HostTrafficError(RuntimeError):
    """A step sent something from the CPU to the device."""


class _Constants(TorchFunctionMode):
    """Refuses numbers of Python that become a tensor of the device."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in MADE_ON_THE_HOST and isinstance(made, Tensor) and made.device == META:
            raise HostTrafficError(f"torch.{func.__name__} makes a tensor of the device from values of the CPU")
        return made


class _Copies(TorchDispatchMode):
    """Refuses copies from the CPU to the device. (Those the other way fail by themselves: there is nothing to copy.)"""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in LACKING:
            return LACKING[func](args[0])
        made = func(*args, **(kwargs or {}))
        given = [value.device.type for value in args if isinstance(value, Tensor)]
        if func.overloadpacket in (torch.ops.aten._to_copy, torch.ops.aten.copy_) and "cpu" in given:
            target = made if isinstance(made, Tensor) else args[0]
            if target.device == META:
                raise HostTrafficError(f"{func} copies from the CPU to the device")
        return made


def ghost_step(
    peers: Sequence[Learner],
    data: TrainingSet,
    batch_size: int,
    selector: Selector | None = None,
    transforms: Sequence[Transform] = (),
) -> None:
    """What ``fit`` does in a step, but for the optimiser, with copies of everything on the meta device.

    Raises:
        HostTrafficError, RuntimeError, NotImplementedError: at what a CUDA graph cannot record.
    """
    ghosts = [copy.deepcopy(peer).to(META).train() for peer in peers]
    told = copy.deepcopy(selector or KeepAll()).to(META)
    soft = None if data.soft is None else data.soft[:-1]
    held = TrainingSet(data.inputs, data.annotations, weights=data.weights[:-1], soft=soft, device=META)
    progress, watch = torch.zeros((), device=META), FiniteWatch(META)
    index = torch.zeros(min(batch_size, len(held)), dtype=torch.long, device=META)
    for ghost in ghosts:
        ghost.progress = progress
    fabric = Engine(device="cpu").fabric("32-true")
    with _Constants(), _Copies():
        batch = held.batch(index)
        for transform in transforms:
            batch = transform(batch)
        loss = step_loss(fabric, ghosts, batch, told, progress)
        watch.see(loss)
        loss.total.backward()
    for ghost in ghosts:
        lacking = [name for name, value in ghost.named_parameters() if value.requires_grad and value.grad is None]
        assert not lacking, f"no gradient in this step: {lacking}"
