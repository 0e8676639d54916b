"""Lower layers never import upper ones, and every file has its tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import truelabel

SOURCE = Path(truelabel.__file__).parent
TESTS = Path(__file__).parent

LAYERS = [
    "atomic",
    "checks",
    "precision",
    "trial_kernel",
    "kernels",
    "types",
    "frames",
    "coding",
    "wide",
    "slots",
    "decisions",
    "annotations",
    "data",
    "corruption",
    "networks",
    "losses",
    "noise",
    "learners",
    "selection",
    "transforms",
    "fusion",
    "training",
    "methods",
    "metrics",
    "quality",
    "estimators",
    "experiments",
    "report",
    "cli",
]
"""From the bottom up: each may import itself and what stands before it."""

FILES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
MODULES = [path for path in FILES if path.stem not in ("__init__", "__main__")]


def layer(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and layer of every import of this library in a file: at the top, in functions, for type checkers."""
    for node in ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            root, _, rest = target.partition(".")
            if root == "truelabel":
                yield node.lineno, _home(rest.partition(".")[0])


def _home(name: str) -> str:
    """The layer of a name that stands in ``truelabel`` itself."""
    homes = {"Annotations": "annotations", "__version__": "types", "find_label_errors": "quality"}
    return homes.get(name, "estimators" if name.startswith("TrueLabel") else name)


def test_every_part_has_a_place() -> None:
    parts = {layer(path) for path in FILES} - {"__init__", "__main__"}
    assert parts <= set(LAYERS), "give the new part a place in LAYERS"


@pytest.mark.parametrize("path", [p for p in FILES if layer(p) in LAYERS], ids=str)
def test_no_file_imports_an_upper_layer(path: Path) -> None:
    height = LAYERS.index(layer(path))
    upward = [f"{path}:{line} imports {other}" for line, other in imports(path) if LAYERS.index(other) > height]
    assert upward == []


def test_the_check_sees_imports_wherever_they_stand() -> None:
    seen = {other for _, other in imports(Path("cli", "train.py"))}
    assert {"cli", "estimators", "methods"} <= seen
    assert {other for _, other in imports(Path("cli", "sources.py"))} >= {"annotations", "data", "frames", "training"}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_every_file_has_a_test_of_its_own(path: Path) -> None:
    assert list(TESTS.rglob(f"test_{path.stem}.py")), f"write tests/{path.parent}/test_{path.stem}.py"
