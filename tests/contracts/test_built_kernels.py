"""Kernels are compiled for GPUs that are not there: the interpreter takes much that the compiler does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")
ROOT = Path(__file__).parents[2]
TOOL = ROOT / "benchmarks" / "built_kernels.py"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("triton")


def run(cache: Path, *arguments: object) -> tuple[int, list[dict[str, Any]]]:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache)}
    command = [sys.executable, *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.stdout, done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("capabilities", [(75,), (86, 90)], ids=["Turing", "Ampere and Hopper"])
def test_all_kernels_are_built(capabilities: tuple[int, ...], cache: Path) -> None:
    code, told = run(cache, TOOL, "--capability", *capabilities)
    assert [(each["capability"], each["failed"]) for each in told] == [(number, {}) for number in capabilities]
    assert code == 0
    files = {path.relative_to(ROOT / "src").with_suffix("") for path in (ROOT / "src").rglob("*_kernel*.py")}
    for each in told:
        assert {built["kernel"].rpartition(".")[0] for built in each["built"]} == {".".join(f.parts) for f in files}
        assert all(0 < built["registers"] <= 255 for built in each["built"])


def test_what_a_gpu_has_no_room_for_is_named(cache: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.py"
    small.write_text(
        f"import sys; sys.path.insert(0, {str(TOOL.parent)!r}); import built_kernels as tool\n"
        "tool.SHARED[90] = 4096\n"
        "tool.launches = lambda: tool._convolutions()\n"
        "tool.main()\n"
    )
    code, (told,) = run(cache, small, "--capability", 90)
    assert code == 1
    assert told["failed"]["LeNet-5 on 28 x 28"].startswith("OutOfResources: out of resource: shared memory")
    assert told["failed"]["truelabel.trial_kernel._double"] == "nothing launched it"
