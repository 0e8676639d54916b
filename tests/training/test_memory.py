"""Memory that is kept is not handed out zeroed a second time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from truelabel.training.memory import keep_freed_memory

FAULTS = """
import resource, sys
import torch
from truelabel.training.memory import keep_freed_memory
torch.set_num_threads(1)
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def step():
    torch.empty(16 * 2**20).fill_(1.0)
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(kind: str) -> int:
    ran = subprocess.run([sys.executable, "-c", FAULTS, kind], check=True, capture_output=True, text=True)
    return int(ran.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")
def test_pages_are_faulted_in_once() -> None:
    if not keep_freed_memory():
        pytest.skip("not glibc")
    assert faults("keep") < 50 < faults("default")


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert keep_freed_memory() is False
