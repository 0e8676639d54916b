"""The fusions that ``truelabel fuse`` knows by name, with options from the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from truelabel.annotations import Annotations
from truelabel.fusion import Fused, dawid_skene, glad, mace, majority_vote, one_coin
from truelabel.methods import Method, get_method

FUSIONS: dict[str, Callable[..., Fused]] = {
    "majority-vote": majority_vote,
    "dawid-skene": dawid_skene,
    "one-coin": one_coin,
    "glad": glad,
    "mace": mace,
}
"""Each is also the name of a method, which trains a network on the consensus."""

NO_OPTIONS = ("annotations", "seed", "fabric")
"""Parameters of fusions that have an option of the command line to themselves, or none."""


@dataclass(frozen=True)
class Fusion:
    """A fusion and its options.

    Attributes:
        name: in :data:`FUSIONS`.
        options: all that it has, by name.
        seed: of what it draws.
    """

    name: str
    options: dict[str, Any]
    seed: int

    def __call__(self, annotations: Annotations) -> Fused:
        """One answer from many."""
        function = FUSIONS[self.name]
        seed = {"seed": self.seed} if "seed" in inspect.signature(function).parameters else {}
        return function(annotations, **self.options, **seed)


def parse_fusion(name: str, given: Mapping[str, Any], seed: int, training: bool) -> tuple[Fusion, Method]:
    """A fusion, and the method that trains a network on it; each takes the options that it knows.

    Args:
        name: in :data:`FUSIONS`.
        given: options by name.
        seed: of what the fusion draws.
        training: whether a network is trained; options of the training are unknown if not.
    """
    if name not in FUSIONS:
        raise ValueError(f"there is no fusion {name!r}: choose from {', '.join(FUSIONS)}")
    method, parameters = get_method(name), inspect.signature(FUSIONS[name]).parameters
    options = {key: parameter.default for key, parameter in parameters.items() if key not in NO_OPTIONS}
    beyond = [key for key in method.options() if key not in options]
    for key, value in given.items():
        if key in beyond and not training:
            raise ValueError(f"option {key!r} of {name} is for training: name the inputs with --data")
        if key not in options and key not in beyond:
            more = f"{', '.join(options)}, and with --data {', '.join(beyond)}"
            raise ValueError(f"{name} has no option {key!r}: it has {more}")
        if key in options:
            options[key] = _checked(key, value, options[key])
    chosen = {**options, **given}
    recipe = method.with_options(**{key: chosen[key] for key in method.options() if key in chosen})
    return Fusion(name, options, seed), recipe


def settled(method: Method, fused: Fused) -> Method:
    """The same method with the fusion already made, so that a network learns from what is written beside it.

    On its own it would draw from the seed of the run, which is another than that of the fusion.
    """

    def fuse(self: Method, annotations: Annotations, seed: int) -> Fused:
        return fused

    kind = type(f"Settled{type(method).__name__}", (type(method),), {"fuse": fuse})
    same: Method = kind(**method.options())
    return same


def _checked(name: str, value: Any, default: Any) -> Any:
    """A value of the kind of the default; what it may be beyond that, the fusion knows."""
    if isinstance(default, str):
        return value
    kind = "whole number" if isinstance(default, int) else "number"
    if isinstance(value, bool) or not isinstance(value, int if isinstance(default, int) else int | float):
        raise ValueError(f"option {name} must be a {kind}, got {value!r}")
    return value
