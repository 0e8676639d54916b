"""The tables of ``conftest.py`` hold every public component: a forgotten one fails here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from truelabel.corruption import Corruption
from truelabel.learners import Learner
from truelabel.losses import Loss
from truelabel.methods import METHODS, Method
from truelabel.networks import NETWORKS
from truelabel.noise import NoiseModel
from truelabel.selection import Selector

PublicNames = dict[str, tuple[set[str], set[str]]]

PACKAGES = ["noise", "losses", "learners", "selection", "transforms", "fusion", "corruption"]


def components(keys: set[str]) -> set[str]:
    """Public names behind keys, which may go on with a few words about the variant."""
    return {key.split()[0] for key in keys}


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def classes_of(package: str) -> Iterator[type[Any]]:
    """Public classes that the modules of a package define, exported or not; no protocols, no abstract ones."""
    root = importlib.import_module(f"truelabel.{package}")
    for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        if "_kernel" in found.name and find_spec("triton") is None:
            continue  # for a GPU, and not to be imported without it
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            ours = inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
            if ours and not inspect.isabstract(value) and not getattr(value, "_is_protocol", False):
                yield value


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_line_or_is_no_component(package: str, public_names: PublicNames) -> None:
    keys, others = public_names[package]
    lines = components(keys)
    if package == "losses":
        lines |= {snake_case(name) for name in lines}
    exported = set(importlib.import_module(f"truelabel.{package}").__all__)
    assert exported == lines | others


@pytest.mark.parametrize(("package", "base"), [("noise", NoiseModel), ("learners", Learner), ("selection", Selector)])
def test_every_concrete_module_is_exported_and_has_a_line(
    package: str, base: type[Any], public_names: PublicNames
) -> None:
    defined = {found.__name__ for found in classes_of(package) if issubclass(found, base)}
    assert defined == components(public_names[package][0])


@pytest.mark.parametrize("package", ["losses", "transforms", "corruption"])
def test_every_callable_class_has_a_line(package: str, public_names: PublicNames) -> None:
    defined = {found.__name__ for found in classes_of(package) if "__call__" in vars(found)}
    lines, others = public_names[package]
    assert defined <= components(lines) | others


def test_every_method_is_in_the_catalogue_once() -> None:
    defined = {found for found in classes_of("methods") if issubclass(found, Method)}
    listed = [type(method) for method in METHODS.values()]
    assert defined == set(listed)
    assert len({repr(method) for method in METHODS.values()}) == len(METHODS)


def test_every_method_has_options_for_a_quick_run(method_names: set[str]) -> None:
    assert method_names == set(METHODS)


def test_every_network_has_a_shape(network_names: set[str]) -> None:
    assert network_names == set(NETWORKS)


def test_a_noise_model_is_what_its_key_says(noise_name: str, make_noise: Callable[[], NoiseModel]) -> None:
    assert type(make_noise()).__name__ == noise_name.split()[0]


def test_a_loss_is_what_its_key_says(loss_name: str, loss: Loss) -> None:
    assert type(loss).__name__ == loss_name.split()[0]


def test_a_learner_is_what_its_key_says(learner_name: str, make_learner: Callable[[], Learner]) -> None:
    assert type(make_learner()).__name__ == learner_name.split()[0]


def test_a_selector_is_what_its_key_says(selector_name: str, make_selector: Callable[[], Selector]) -> None:
    assert type(make_selector()).__name__ == selector_name.split()[0]


def test_a_transform_is_what_its_key_says(transform_name: str, make_transform: Callable[[], object]) -> None:
    assert type(make_transform()).__name__ == transform_name.split()[0]


def test_a_corruption_is_one(make_corruption: Callable[[], Corruption]) -> None:
    assert isinstance(make_corruption(), Corruption)
