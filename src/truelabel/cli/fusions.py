"""The fusions that ``truelabel fuse`` knows by name, with options from the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from truelabel.annotations import Annotations
from truelabel.checks import check_flag
from truelabel.fusion import (
    Fused,
    dawid_skene,
    fuse_images,
    glad,
    mace,
    majority_vote,
    one_coin,
    spatial_staple,
    staple,
    vote_masks,
)

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

MASK_FUSIONS: dict[str, Callable[..., Fused]] = {
    "majority-vote": vote_masks,
    "staple": staple,
    "spatial-staple": spatial_staple,
}
"""Those of the masks of one image."""

NO_OPTIONS = ("annotations", "masks", "classes", "seed", "fabric")
"""Parameters of fusions that have an option of the command line to themselves, or none."""


@dataclass(frozen=True)
class Fusion:
    """A fusion and its options.

    Attributes:
        name: in :data:`FUSIONS`, or :data:`MASK_FUSIONS` for masks.
        options: all that it has, by name.
        seed: of what it draws.
        masks: whether it is for masks.
    """

    name: str
    options: dict[str, Any]
    seed: int
    masks: bool = False

    @classmethod
    def parse(cls, name: str, given: Mapping[str, Any], seed: int, *, masks: bool = False) -> Fusion:
        """By its name, with some options given; what is not known, or of another kind, is an error of one line."""
        known, others = (MASK_FUSIONS, FUSIONS) if masks else (FUSIONS, MASK_FUSIONS)
        if name not in known:
            what = f"{name} is for {'one label an example' if masks else 'masks'}"
            problem = what if name in others else f"there is no fusion {name!r}"
            raise ValueError(f"{problem}: choose from {', '.join(known)}")
        parameters = inspect.signature(known[name]).parameters
        options = {key: parameter.default for key, parameter in parameters.items() if key not in NO_OPTIONS}
        for key, value in given.items():
            if key not in options:
                raise ValueError(f"{name} has no option {key!r}: it has {', '.join(options)}")
            _check_kind(key, value, options[key])
        return cls(name, {**options, **given}, seed, masks)

    def __call__(self, annotations: Annotations) -> Fused:
        """One answer from many."""
        if self.masks:
            return fuse_images(annotations, partial(MASK_FUSIONS[self.name], **self.options))
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
    if default is None or isinstance(default, str):
        return
    whole = isinstance(default, int)
    if isinstance(default, bool):
        check_flag(f"option {name}", value)
    elif isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ValueError(f"option {name} must be a {'whole number' if whole else 'number'}, got {value!r}")
