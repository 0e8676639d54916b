from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parent / "scripts" / "two_processes.py"


def test_two_processes_equal_one_with_the_same_global_batch() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert set(results) == {"cross-entropy", "two-peers"}
    for name, result in results.items():
        assert result["difference"] < 1e-6, name
        assert result["moved"] > 0.05, f"{name} did not train at all"
