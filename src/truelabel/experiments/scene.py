"""What a run of an experiment works on: data, what was said about it, and the truth for scoring."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import Corruption
from truelabel.data import Dataset
from truelabel.experiments.material import load_material
from truelabel.experiments.noises import make_noise
from truelabel.experiments.setting import Setting
from truelabel.training.seeds import generator_of


@dataclass(frozen=True, eq=False)
class Scene:
    """Data with labels that went wrong.

    Attributes:
        train: training examples with their true labels.
        test: likewise.
        said: what annotators said about the training examples.
        corruption: how it was simulated; None for what people really said.
        seed: of the noise.
        device: where test inputs are held.
    """

    train: Dataset
    test: Dataset
    said: Annotations
    corruption: Corruption | None
    seed: int
    device: torch.device

    @classmethod
    def of(cls, setting: Setting, seed: int, root: Path | None, device: torch.device) -> Scene:
        """Load the data of a setting, and let the labels go wrong."""
        material = load_material(
            setting.data, root=root, train=setting.train, test=setting.test, **dict(setting.data_options)
        )
        if setting.noise == "given":
            if material.given is None:
                raise ValueError(f"nobody's labels are known for {setting.data}: name a noise to simulate them")
            return cls(material.train, material.test, material.given, None, seed, device)
        generator = generator_of(seed, "experiment", "noise")
        corruption = make_noise(setting.noise, len(material.train.classes), generator, **dict(setting.noise_options))
        said = _corrupted(corruption, material.train, generator)
        return cls(material.train, material.test, said, corruption, seed, device)

    @property
    def confusion(self) -> Tensor | None:
        """``(R, K, K)``, how annotators really err, where that was simulated."""
        return None if self.corruption is None else self.corruption.confusion

    @cached_property
    def test_inputs(self) -> Tensor:
        """``(N, ...)`` on the device."""
        return torch.from_numpy(self.test.inputs).to(self.device)

    @cached_property
    def test_labels(self) -> Tensor:
        """``(N,)`` or ``(N, *space)``, true, on the CPU."""
        return torch.from_numpy(self.test.labels).long()

    @cached_property
    def said_of_test(self) -> Annotations:
        """What the same annotators would have said about the test examples."""
        if self.corruption is None:
            raise ValueError("what people would have said about the test examples is not known: the noise is real")
        # A copy, for some note in every call how they erred in it; that of training is what is estimated.
        return _corrupted(copy.copy(self.corruption), self.test, generator_of(self.seed, "experiment", "test noise"))

    def resolved(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options of a method with the truth filled in."""
        if "truth" in options.values() and self.confusion is None:
            raise ValueError("an option is the truth, which is not known for real annotators")
        return {name: self.confusion if value == "truth" else value for name, value in options.items()}


def _corrupted(corruption: Corruption, data: Dataset, generator: torch.Generator) -> Annotations:
    inputs = torch.from_numpy(data.inputs)
    said = corruption(torch.from_numpy(data.labels).long(), inputs, generator)
    # Class names of the data, so that those of a stand-in without some class still count.
    return said if said.space else replace(said, classes=tuple(range(len(data.classes))))
