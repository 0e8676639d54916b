"""What a run of an experiment works on: data, what was said about it, and the truth for scoring."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import Corruption
from truelabel.data import Dataset, data_root
from truelabel.experiments.calculation import hashed
from truelabel.experiments.drawing import draw
from truelabel.experiments.material import Material, load_material
from truelabel.experiments.noises import make_noise
from truelabel.experiments.setting import Setting
from truelabel.metrics import reader_confusion
from truelabel.training.seeds import generator_of

_LAST: dict[str, Material] = {}
"""What the last run of this process worked on, by what it was made from: the next run mostly wants the same."""


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
        said_really_of_test: what real annotators said about the test examples, where that is known.
        masks: a folder in which simulated masks are kept; None draws them anew.
    """

    train: Dataset
    test: Dataset
    said: Annotations
    corruption: Corruption | None
    seed: int
    device: torch.device
    said_really_of_test: Annotations | None = None
    masks: Path | None = None

    @classmethod
    def of(
        cls, setting: Setting, seed: int, root: Path | None, device: torch.device, masks: Path | None = None
    ) -> Scene:
        """Load the data of a setting, and let the labels go wrong."""
        material = _material(setting, data_root(root), masks)
        generator = generator_of(seed, "experiment", "noise")
        if setting.noise == "given":
            if material.given is None:
                raise ValueError(f"nobody's labels are known for {setting.data}: name a noise to simulate them")
            said = some_of(material.given, generator, **dict(setting.noise_options))
            return cls(material.train, material.test, said, None, seed, device, material.test_given)
        corruption = make_noise(setting.noise, len(material.train.classes), generator, **dict(setting.noise_options))
        said = _corrupted(corruption, material.train, generator, masks)
        return cls(material.train, material.test, said, corruption, seed, device, masks=masks)

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
        """What the same annotators would have said about the test examples, or really said."""
        if self.said_really_of_test is not None:
            return self.said_really_of_test
        if self.corruption is None:
            raise ValueError("what people would have said about the test examples is not known: the noise is real")
        # A copy, for some note in every call how they erred in it; that of training is what is estimated.
        generator = generator_of(self.seed, "experiment", "test noise")
        return _corrupted(copy.copy(self.corruption), self.test, generator, self.masks)

    def resolved(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options of a method with the truth filled in; for real readers of masks, their confusion counted."""
        if "truth" not in options.values():
            return dict(options)
        truth = self._counted() if self.corruption is None and self.said.space else self.confusion
        if truth is None:
            raise ValueError("an option is the truth, which is not known for real annotators")
        return {name: truth if value == "truth" else value for name, value in options.items()}

    def _counted(self) -> Tensor:
        """``(R, K, K)``; a class that a reader never met has the row of the identity."""
        k = len(self.train.classes)
        counted = torch.from_numpy(reader_confusion(self.said, self.train.labels, k))
        return torch.where(counted.isnan(), torch.eye(k, dtype=counted.dtype), counted)


def some_of(said: Annotations, generator: torch.Generator, labels: int | None = None) -> Annotations:
    """What ``labels`` annotators of each example said, drawn at random; everybody if None.

    Example:
        >>> said = Annotations.from_matrix([[0, 1, 1], [1, -1, 0]])
        >>> some_of(said, torch.Generator().manual_seed(0), labels=1).counts.tolist()
        [1, 1]
    """
    if labels is None:
        return said
    lots = torch.rand(said.size, generator=generator, dtype=torch.double).numpy()
    order = np.lexsort((lots, said.example))
    example = said.example[order]
    rank = np.arange(said.size) - np.searchsorted(example, example)
    kept = np.sort(order[rank < labels])
    return replace(said, example=said.example[kept], annotator=said.annotator[kept], label=said.label[kept])


def _material(setting: Setting, root: Path, keep: Path | None) -> Material:
    options = dict(setting.data_options)
    key = hashed({"root": str(root.resolve()), "data": [setting.data, setting.train, setting.test], "options": options})
    if key not in _LAST:
        _LAST.clear()  # first, so that two of them are never in memory at once
        sizes = {"train": setting.train, "test": setting.test}
        _LAST[key] = load_material(setting.data, root=root, keep=keep, **sizes, **options)
    return _LAST[key]


def _corrupted(corruption: Corruption, data: Dataset, generator: torch.Generator, masks: Path | None) -> Annotations:
    inputs = torch.from_numpy(data.inputs)
    said = draw(corruption, torch.from_numpy(data.labels).long(), inputs, generator, masks)
    # Class names of the data, so that those of a stand-in without some class still count.
    return said if said.space else replace(said, classes=tuple(range(len(data.classes))))
