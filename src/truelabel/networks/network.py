"""What a network is to the rest of the library, and how any other torch module becomes one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer


class Network(nn.Module, ABC):
    """A module that turns inputs into features, with the feature axis last and without a class head.

    The noise model owns every head, so a network ends at its last features: ``(N, F)`` if an example gets one
    class, ``(N, H, W, F)`` or ``(N, D, H, W, F)`` if each pixel gets one. A step may be captured in a CUDA
    graph: ``forward`` may branch on shapes, but neither on values nor through ``.item()``.

    Attributes:
        features: F, the length of the last axis of what ``forward`` returns.

    Example:
        >>> import torch
        >>> class Mean(Network):
        ...     features = 3
        ...     def forward(self, inputs):
        ...         return inputs.mean((-2, -1))
        >>> Mean()(torch.ones(2, 3, 8, 8)).shape
        torch.Size([2, 3])
    """

    features: int

    @abstractmethod
    def forward(self, inputs: Tensor) -> Tensor:
        """Features of ``inputs (N, ...)``: ``(N, F)`` or ``(N, *space, F)``."""

    if TYPE_CHECKING:

        def __call__(self, inputs: Tensor) -> Tensor: ...


class Adapted(Network):
    """Any module whose output is ``(N, F)`` or ``(N, F, *space)``, seen as a :class:`Network`.

    Args:
        module: what computes the features.
        features: F, the length of axis 1 of its output.
        pooled: whether the output is ``(N, F, 1, ..., 1)`` and stands for ``(N, F)``.

    Example:
        >>> import torch
        >>> Adapted(torch.nn.Conv2d(1, 4, 3), features=4)(torch.zeros(2, 1, 8, 8)).shape
        torch.Size([2, 6, 6, 4])
    """

    def __init__(self, module: nn.Module, features: int, *, pooled: bool = False) -> None:
        super().__init__()
        self.module = module
        self.features = features
        self.pooled = pooled

    def forward(self, inputs: Tensor) -> Tensor:
        values = _tensor(self.module, self.module(inputs))
        return values.flatten(1) if self.pooled else values.movedim(1, -1)


def adapt(module: nn.Module, example: Tensor) -> Network:
    """A :class:`Network` around any module, found out by running it once on ``example``.

    The trial runs in evaluation mode without gradients; the module's training flags and buffers and torch's
    random state are afterwards as before. The module itself is wrapped, not copied.

    Args:
        module: returns ``(N, F)``, ``(N, F, *space)``, or a mapping whose ``"out"`` is one of these, as
            torchvision's segmentation models do. ``(N, F, 1, 1)`` from larger images is a pooled trunk and
            becomes ``(N, F)``.
        example: ``(1, ...)``, one input; it is moved to the module's device.

    Raises:
        TypeError: if ``module`` is no module or returns no floating-point tensor.
        ValueError: if it cannot take ``example`` or returns another shape.

    Example:
        >>> import torch
        >>> network = adapt(torch.nn.Linear(5, 7), torch.zeros(1, 5))
        >>> network.features, network(torch.zeros(3, 5)).shape
        (7, torch.Size([3, 7]))
    """
    if isinstance(module, Network):
        return module
    if not isinstance(module, nn.Module):
        raise TypeError(f"a network must be a torch.nn.Module, got {type(module).__name__}")
    name, given = type(module).__name__, tuple(example.shape)
    device = next((parameter.device for parameter in module.parameters()), example.device)
    with _untouched(module):
        try:
            returned = module(example.to(device))
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"network {name} cannot take inputs of shape {given}: {reason}") from error
    values = _tensor(module, returned)
    shape = tuple(values.shape)
    if not values.is_floating_point():
        raise TypeError(f"network {name} returned {values.dtype}: want floating-point features")
    if len(shape) < 2 or shape[0] != 1:
        raise ValueError(
            f"network {name} returned shape {shape} for inputs of shape {given}: want (1, F) or (1, F, *space)"
        )
    pooled = len(shape) > 2 and max(shape[2:]) == 1 and max(given[2:], default=1) > 1
    return Adapted(module, shape[1], pooled=pooled)


def _tensor(module: nn.Module, returned: object) -> Tensor:
    if isinstance(returned, Mapping) and "out" in returned:
        returned = returned["out"]
    if isinstance(returned, Tensor):
        return returned
    what = type(returned).__name__
    if isinstance(returned, Mapping):
        what += f" with keys {', '.join(map(repr, returned))}"
    raise TypeError(
        f"network {type(module).__name__} returned {what}: want a tensor (N, F) or (N, F, *space), "
        "or a mapping with key 'out'"
    )


@contextmanager
def _untouched(module: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients, after which flags, buffers and random states are as they were."""
    flags = [(part, part.training) for part in module.modules()]
    # An uninitialised buffer of a lazy module has no value to keep: the trial run is what gives it a shape.
    buffers = [
        (part, name, buffer, buffer.clone())
        for part in module.modules()
        for name, buffer in part.named_buffers(recurse=False)
        if not isinstance(buffer, UninitializedBuffer)
    ]
    devices = {parameter.device for parameter in module.parameters() if parameter.is_cuda}
    with torch.random.fork_rng(devices=list(devices)), torch.no_grad():
        try:
            module.eval()
            yield
        finally:
            for part, training in flags:
                part.training = training
            for part, name, buffer, before in buffers:
                setattr(part, name, buffer.copy_(before))
