from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parent / "scripts" / "kill_and_resume.py"


def digest(folder: Path, *points: str) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), *points], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    return digest(tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.parametrize(
    "points",
    [
        ["1-warm:0:2"],
        ["1-warm:1:0", "1-warm:2:3"],
        ["2-soft:0:1"],
        ["1-warm:0:before-save", "2-soft:0:before-save", "2-soft:2:2"],
        ["1-warm:1:in-write", "2-soft:0:in-write", "2-soft:1:0"],
    ],
    ids=" ".join,
)
def test_killed_and_resumed_ends_with_the_same_bits(points: list[str], tmp_path: Path, undisturbed: str) -> None:
    assert digest(tmp_path / "run", *points) == undisturbed
    finished = sorted(p.parent.name for p in (tmp_path / "run").rglob("finished.json"))
    assert finished == ["1-warm", "2-soft"]


def test_the_same_seed_gives_the_same_bits_in_another_process(tmp_path: Path, undisturbed: str) -> None:
    assert digest(tmp_path / "again") == undisturbed
