"""The fusions that ``truelabel fuse`` knows by name, with options from the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truelabel.annotations import Annotations
from truelabel.fusion import Fused, dawid_skene, glad, mace, majority_vote, one_coin

if TYPE_CHECKING:
    from truelabel.methods import Method

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

    @classmethod
    def parse(cls, name: str, given: Mapping[str, Any], seed: int) -> Fusion:
        """By its name, with some options given; what is not known, or of another kind, is an error of one line."""
        if name not in FUSIONS:
            raise ValueError(f"there is no fusion {name!r}: choose from {', '.join(FUSIONS)}")
        parameters = inspect.signature(FUSIONS[name]).parameters
        options = {key: parameter.default for key, parameter in parameters.items() if key not in NO_OPTIONS}
        for key, value in given.items():
            if key not in options:
                raise ValueError(f"{name} has no option {key!r}: it has {', '.join(options)}")
            _check_kind(key, value, options[key])
        return cls(name, {**options, **given}, seed)

    def __call__(self, annotations: Annotations) -> Fused:
        """One answer from many."""
        function = FUSIONS[self.name]
        seed = {"seed": self.seed} if "seed" in inspect.signature(function).parameters else {}
        return function(annotations, **self.options, **seed)


def parse_training(name: str, given: Mapping[str, Any], seed: int) -> tuple[Fusion, Method]:
    """A fusion, and the method that trains a network on it; each takes the options that it knows."""
    from truelabel.methods import get_method

    fusion = Fusion.parse(name, {}, seed)
    method = get_method(name)
    beyond = [key for key in method.options() if key not in fusion.options]
    fusion = Fusion.parse(name, {key: value for key, value in given.items() if key not in beyond}, seed)
    chosen = {**fusion.options, **given}
    return fusion, method.with_options(**{key: chosen[key] for key in method.options() if key in chosen})


def settled(method: Method, fused: Fused) -> Method:
    """The same method with the fusion already made, so that a network learns from what is written beside it.

    On its own it would draw from the seed of the run, which is another than that of the fusion.
    """

    def fuse(self: Method, annotations: Annotations, seed: int) -> Fused:
        return fused

    kind = type(f"Settled{type(method).__name__}", (type(method),), {"fuse": fuse})
    same: Method = kind(**method.options())
    return same


def _check_kind(name: str, value: Any, default: Any) -> None:
    """Meet what is no number where one is wanted; what it may be beyond that, the fusion knows."""
    if isinstance(default, str):
        return
    whole = isinstance(default, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ValueError(f"option {name} must be a {'whole number' if whole else 'number'}, got {value!r}")
