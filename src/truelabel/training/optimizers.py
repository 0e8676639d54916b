"""Optimisers, and the learning rate as a function of the epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from truelabel.kernels import kernels_work
from truelabel.learners import Learner
from truelabel.training.config import TrainingConfig

MOST_TIMES_FASTER = 30.0
"""How much faster than the network noise parameters may learn unless told."""


def build_optimizer(
    learner: Learner, config: TrainingConfig, device: torch.device, steps: int
) -> torch.optim.Optimizer:
    """One optimiser for one peer; noise parameters have their own learning rate and no weight decay.

    On CUDA the learning rate is a tensor and the optimiser capturable, so that a step can be recorded in a graph.

    Args:
        learner: whose parameters are trained.
        config: for optimiser and rates.
        device: where.
        steps: of the whole training.
    """
    groups = learner.parameter_groups()
    described: list[dict[str, Any]] = [
        {"params": groups.network, "weight_decay": config.weight_decay, "base": config.learning_rate},
        {"params": groups.noise, "weight_decay": 0.0, "base": noise_rate(config, groups.noise_reach, steps)},
    ]
    described = [group for group in described if group["params"]]
    on_gpu = device.type == "cuda"
    for group in described:
        group["lr"] = torch.tensor(group["base"], device=device) if on_gpu else group["base"]
    if config.optimizer == "sgd":
        nesterov = config.momentum > 0
        # Unfused, SGD would ask the device for the value of a learning rate that is a tensor.
        return torch.optim.SGD(
            described, lr=config.learning_rate, momentum=config.momentum, nesterov=nesterov, fused=on_gpu or None
        )
    if on_gpu and (ours := _in_one_launch(config.optimizer, described)) is not None:
        return ours(described, lr=config.learning_rate, eps=config.epsilon)
    kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    return kind(described, lr=config.learning_rate, eps=config.epsilon, capturable=on_gpu, fused=on_gpu or None)


def _in_one_launch(name: str, groups: Sequence[Mapping[str, Any]]) -> Callable[..., torch.optim.Optimizer] | None:
    """Our Adam or AdamW, whose kernel fills a GPU with small networks too, where it can be had."""
    device = groups[0]["params"][0].device
    # Several processes hold gradients as slices of buckets: never tried with this kernel.
    alone = not torch.distributed.is_available() or not torch.distributed.is_initialized()
    if not alone or not kernels_work(device):
        return None
    from truelabel.training.adam_kernel import KernelAdam, KernelAdamW, updatable

    if not updatable([parameter for group in groups for parameter in group["params"]]):
        return None
    return KernelAdam if name == "adam" else KernelAdamW


def noise_rate(config: TrainingConfig, reach: float | None, steps: int) -> float:
    """The learning rate of noise parameters: as set, or such that ``steps`` steps can travel ``reach``.

    Adaptive optimisers move a number by about the rate a step, times what the schedule has left of it. In a short
    training, confusion matrices would not get from where they start to where they belong at the rate of the network,
    before that has learned the labels by heart. It is never less than that, and at most thirty times as much.

    Example:
        >>> noise_rate(TrainingConfig(learning_rate=1e-3), reach=10.0, steps=1000)
        0.01
        >>> noise_rate(TrainingConfig(learning_rate=1e-3), reach=10.0, steps=20_000)
        0.001
        >>> falling = TrainingConfig(epochs=4, learning_rate=1e-3, schedule="step", step_epochs=(2,))
        >>> round(noise_rate(falling, reach=11.0, steps=4000), 4)
        0.005
    """
    if config.noise_learning_rate is not None:
        return config.noise_learning_rate
    if reach is None or config.optimizer == "sgd":
        return config.learning_rate
    left = sum(learning_rate_factor(config, epoch) for epoch in range(config.epochs)) / config.epochs
    return min(max(reach / (steps * left), config.learning_rate), MOST_TIMES_FASTER * config.learning_rate)


def learning_rate_factor(config: TrainingConfig, epoch: int) -> float:
    """What the schedule multiplies the learning rate by in ``epoch``, counted from 0.

    Example:
        >>> config = TrainingConfig(epochs=4, schedule="step", step_epochs=(2, 3))
        >>> [round(learning_rate_factor(config, epoch), 3) for epoch in range(4)]
        [1.0, 1.0, 0.1, 0.01]
    """
    if config.schedule == "step":
        return float(config.step_factor ** sum(epoch >= at for at in config.step_epochs))
    if config.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * epoch / config.epochs))
    return 1.0


def set_learning_rate(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Fill in the learning rate of every group, in place where it is a tensor."""
    for group in optimizer.param_groups:
        value = group["base"] * factor
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(value)
        else:
            group["lr"] = value
