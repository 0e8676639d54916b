from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import truelabel.data

HEAVY = (
    "PIL", "narwhals", "nibabel", "pandas", "polars", "pyarrow", "scipy", "skimage", "sklearn", "tifffile", "torch",
)  # fmt: skip
LATER = {"TextFeatures"}
"""What is loaded when it is asked for, since it is a class of scikit-learn."""

SCRIPT = f"""
import sys, types
package = types.ModuleType("truelabel")
package.__path__ = [sys.argv[1]]
sys.modules["truelabel"] = package  # the package's own imports do not count here
import truelabel.data
print(*[name for name in {HEAVY} if name in sys.modules])
"""


def test_exports_are_complete_and_documented() -> None:
    names = truelabel.data.__all__
    public = {
        name
        for name, value in vars(truelabel.data).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert sorted(names) == sorted(public | LATER | {"exchange"})  # a package of its own
    with pytest.raises(AttributeError, match="module 'truelabel.data' has no attribute 'nothing'"):
        getattr(truelabel.data, "nothing")  # noqa: B009
    for name in names:
        value = getattr(truelabel.data, name)
        if callable(value):
            assert value.__doc__, name
            assert value.__module__.startswith("truelabel.data."), name


def test_importing_needs_numpy_only() -> None:
    package = Path(truelabel.data.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(package)], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
