from __future__ import annotations

import pytest
import torch
from lightning_fabric import Fabric

from truelabel.training import Engine


def test_wrong_engines_are_named() -> None:
    with pytest.raises(ValueError, match="device must be one of auto, cpu, cuda, mps, got 'tpu'"):
        Engine(device="tpu")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="processes must be at least 1, got 0"):
        Engine(processes=0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_one_line() -> None:
    with pytest.raises(ValueError, match="device 'cuda' with 1 processes is not to be had here"):
        Engine(device="cuda").fabric("32-true")


def test_one_process_works_here() -> None:
    seen: list[int] = []
    Engine(device="cpu").run("32-true", lambda fabric: seen.append(fabric.world_size))
    assert seen == [1]


def test_precision_reaches_the_engine() -> None:
    fabric: Fabric = Engine(device="cpu").fabric("bf16-mixed")
    with fabric.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_is_not_there_is_told_before_anything_is_started() -> None:
    Engine(device="cpu").check()
    Engine().check()
    with pytest.raises(ValueError, match="device 'cuda' is not to be had here: PyTorch sees none; use 'cpu'"):
        Engine(device="cuda").check()
