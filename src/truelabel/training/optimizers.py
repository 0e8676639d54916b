"""Optimisers, and the learning rate as a function of the epoch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from truelabel.learners import Learner
from truelabel.training.config import TrainingConfig


def build_optimizer(learner: Learner, config: TrainingConfig, device: torch.device) -> torch.optim.Optimizer:
    """One optimiser for one peer; noise parameters have their own learning rate and no weight decay.

    On CUDA the learning rate is a tensor and the optimiser capturable, so that a step can be recorded in a graph.
    """
    groups = learner.parameter_groups()
    described: list[dict[str, Any]] = [
        {"params": groups.network, "weight_decay": config.weight_decay, "base": config.learning_rate},
        {"params": groups.noise, "weight_decay": 0.0, "base": config.noise_learning_rate or config.learning_rate},
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
    kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    return kind(described, lr=config.learning_rate, capturable=on_gpu, fused=on_gpu or None)


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
