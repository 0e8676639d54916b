"""What can be imported from where, at what cost, and how it is documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import truelabel

PACKAGES = sorted(module.name for module in pkgutil.iter_modules(truelabel.__path__) if module.ispkg)
WITH_EXAMPLES = ("corruption", "data", "fusion", "losses", "metrics", "networks", "noise", "quality")
"""Packages whose every public function and class shows how it is used."""


def exported(package: str) -> list[str]:
    return list(getattr(importlib.import_module(f"truelabel.{package}"), "__all__", []))


def order(name: str) -> tuple[int, list[tuple[int, int, str]]]:
    """Constants, then classes, then functions, each by name with numbers by size: as ruff sorts ``__all__``."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    parts = re.findall(r"\d+|\D+", name)
    return kind, [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def test_every_name_promised_can_be_had_and_no_other() -> None:
    for name in truelabel.__all__:
        value = getattr(truelabel, name)
        home = f"truelabel.{name}" if isinstance(value, ModuleType) else getattr(value, "__module__", "truelabel")
        assert home.startswith("truelabel")
    assert dir(truelabel) == sorted(truelabel.__all__)
    assert list(truelabel.__all__) == sorted(truelabel.__all__, key=order)
    with pytest.raises(AttributeError, match="module 'truelabel' has no attribute 'nope'"):
        truelabel.nope  # noqa: B018
    names: dict[str, Any] = {}
    exec("from truelabel import *", names)
    assert set(truelabel.__all__) <= names.keys()


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(truelabel.__file__).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name for node in ast.walk(guarded[0]) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen | {"__version__"} == set(truelabel.__all__)


def test_the_version_is_that_of_the_project() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{truelabel.__version__}"\n' in text


SCRIPT = """
import sys
import truelabel
heavy = ("torch", "sklearn", "scipy", "pyarrow", "lightning_fabric", "numpy", "rich")
print(*[name for name in heavy if name in sys.modules])
"""


def test_importing_it_is_cheap() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize("package", PACKAGES)
def test_exports_of_every_package_are_sorted_and_there(package: str) -> None:
    module = importlib.import_module(f"truelabel.{package}")
    assert module.__doc__
    names = exported(package)
    assert names == sorted(set(names), key=order)
    for name in names:
        assert hasattr(module, name), name
    imported = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("truelabel.")
        for alias in node.names
    }
    assert set(names) == imported


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_public_is_documented(package: str) -> None:
    module = importlib.import_module(f"truelabel.{package}")
    for name in exported(package):
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, name
            # A data class without a docstring gets its signature for one.
            assert not value.__doc__.startswith(f"{name}("), name
        if inspect.isclass(value):
            for method in [m for n, m in vars(value).items() if inspect.isfunction(m) and not n.startswith("_")]:
                inherited = any(method.__name__ in vars(base) for base in value.__mro__[1:])
                # What is abstract is explained by the class, whose docstring is the contract.
                abstract = getattr(method, "__isabstractmethod__", False)
                assert method.__doc__ or inherited or abstract, f"{name}.{method.__name__}"


def components() -> list[Any]:
    found: list[Any] = [truelabel.Annotations, truelabel.TrueLabelClassifier]
    for package in WITH_EXAMPLES:
        module = importlib.import_module(f"truelabel.{package}")
        found += [getattr(module, name) for name in exported(package)]
    # An error is not something that users make, and constants and types show themselves.
    return [
        value
        for value in found
        if inspect.isfunction(value) or (isinstance(value, type) and not issubclass(value, Exception))
    ]


@pytest.mark.parametrize("component", components(), ids=lambda value: f"{value.__module__}.{value.__name__}")
def test_everything_that_users_call_has_an_example(component: Any) -> None:
    assert ">>>" in (component.__doc__ or "")


@pytest.mark.parametrize("name", ["from_matrix", "from_labels", "from_table", "from_masks"])
def test_every_way_to_make_annotations_has_an_example(name: str) -> None:
    assert ">>>" in (getattr(truelabel.Annotations, name).__doc__ or "")
