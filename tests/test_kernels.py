from __future__ import annotations

import sys
import types
from contextlib import nullcontext

import pytest
import torch

from truelabel import kernels
from truelabel.kernels import kernels_work

GPU = torch.device("cuda")


def trial(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    """Let the trial kernel give ``answer``, or raise it; and let tensors for a GPU be made here."""

    def doubled(values: torch.Tensor) -> torch.Tensor:
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, float)
        return torch.full((3,), answer)

    module = types.ModuleType("trial_kernel")
    module.doubled = doubled  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "truelabel.trial_kernel", module)
    monkeypatch.setattr(kernels, "find_spec", lambda name: object())
    monkeypatch.setattr(kernels, "_FOUND", {})
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch, "ones", lambda count, device: torch.zeros(count) + 1)


@pytest.mark.parametrize(("answer", "works"), [(2.0, True), (1.0, False)])
def test_what_the_kernel_says_counts(monkeypatch: pytest.MonkeyPatch, answer: float, works: bool) -> None:
    trial(monkeypatch, answer)
    assert kernels_work(GPU) is works
    trial(monkeypatch, RuntimeError("tried again"))
    monkeypatch.setattr(kernels, "_FOUND", {GPU: works})
    assert kernels_work(GPU) is works, "it is tried once"


def test_without_a_compiler_it_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    trial(monkeypatch, RuntimeError("Failed to find C compiler.\nPlease specify via CC"))
    with pytest.warns(UserWarning, match=r"cannot build kernels for cuda.*: Failed to find C compiler\.$"):
        assert not kernels_work(GPU)


def test_without_triton_and_on_a_cpu_it_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not kernels_work(torch.device("cpu"))
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    assert not kernels_work(GPU)
