"""How numbers lie in memory, and how they are multiplied, where that makes training faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from lightning_fabric import Fabric
from torch import nn

from truelabel.learners import Learner
from truelabel.networks import Adapted
from truelabel.training.config import TrainingConfig
from truelabel.training.data import TrainingSet


def memory_format(
    fabric: Fabric, config: TrainingConfig, data: TrainingSet, peers: Sequence[Learner]
) -> torch.memory_format:
    """Channels last for pictures in mixed precision, where convolutions are then faster; those of a U-Net not on a CPU.

    Not for modules of users, which may take the usual order for granted (``view``).
    """
    pictures = config.precision == "bf16-mixed" and data.inputs.dim() == 4
    faster = fabric.device.type == "cuda" or not data.annotations.space
    foreign = any(isinstance(part, Adapted) for peer in peers for part in peer.modules())
    return torch.channels_last if pictures and faster and not foreign else torch.contiguous_format


@contextmanager
def tensor_cores(device: torch.device) -> Iterator[None]:
    """Products of float32 matrices in TF32 on a GPU, as torch has convolutions anyway; and as before afterwards.

    Only where nothing else was said.
    """
    try:
        precise = device.type == "cuda" and torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # torch refuses to tell whoever has said it in its newer words
        precise = False
    if precise:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        if precise:
            torch.set_float32_matmul_precision("highest")


def laid_out(module: nn.Module, layout: torch.memory_format) -> nn.Module:
    turned: nn.Module = module.to(memory_format=layout)  # type: ignore[call-overload]  # torch does not declare it
    return turned
