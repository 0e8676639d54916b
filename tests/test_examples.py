from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import truelabel

QUICK = {"moons.py": ["--seeds", "1", "--epochs", "3", "--oracle"]}
"""Arguments that make a long example short."""

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_some() -> None:
    assert {path.name for path in EXAMPLES} >= {"many_annotators.py", "moons.py", "noisy_digits.py", "own_loop.py"}


@pytest.mark.long
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.name)
def test_it_runs_without_a_warning(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # The script runs in another folder, where a relative path leads nowhere.
    monkeypatch.setenv("PYTHONPATH", str(Path(truelabel.__file__).parents[1]))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), *QUICK.get(script.name, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "right" in done.stdout or "accuracy" in done.stdout
