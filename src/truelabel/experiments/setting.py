"""One training of an experiment, frozen: what its result depends on, and the hash that names it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from truelabel.checks import check_whole
from truelabel.experiments.calculation import hashed
from truelabel.training import TrainingConfig

Options = Mapping[str, Any]
"""Plain values by name: whatever JSON can hold."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything that the result of a run depends on, but for its seed.

    Attributes:
        data: name in :data:`~truelabel.experiments.material.MATERIALS`.
        method: name in the catalogue of methods.
        training: how it is trained.
        noise: name in :data:`~truelabel.experiments.noises.NOISES`, or "given" for what people really said.
        network: name in the catalogue of networks.
        data_options: of the data, such as the noise of pictures.
        noise_options: such as a rate.
        options: of the method. The value "truth" stands for the confusion matrices that the noise really has.
        train: how many training examples are used; all if None.
        test: how many test examples; all if None.
        measures: names in :data:`~truelabel.experiments.measures.MEASURES`: taken of what was learned.
        curves: likewise, after every epoch.
        average: the score is the mean over this many epochs at the end (Yao 2021: ten), not of the weights kept.

    Example:
        >>> setting = Setting(data="mnist", method="cross-entropy", training=TrainingConfig(epochs=100))
        >>> setting.identity(seed=0) == setting.with_options(q=0.7).identity(seed=0)
        False
    """

    data: str
    method: str
    training: TrainingConfig
    noise: str = "given"
    network: str = "auto"
    data_options: Options = field(default_factory=dict)
    noise_options: Options = field(default_factory=dict)
    options: Options = field(default_factory=dict)
    train: int | None = None
    test: int | None = None
    measures: tuple[str, ...] = ("accuracy",)
    curves: tuple[str, ...] = ()
    average: int = 1

    def __post_init__(self) -> None:
        check_whole("average", self.average)
        for name in ("train", "test"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))
        if not self.measures and not self.curves:
            raise ValueError("a setting without measures and curves has no result: name at least one")

    def with_options(self, **options: Any) -> Setting:
        """The same with further options of the method."""
        return replace(self, options={**self.options, **options})

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["training"] = self.training.to_json()
        out: dict[str, Any] = json.loads(json.dumps(plain))
        return out

    def identity(self, seed: int) -> str:
        """Sixteen hexadecimal digits that name the run of this setting with a seed, on every machine the same."""
        return hashed({**self.to_json(), "seed": seed})
