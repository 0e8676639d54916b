"""How labels of an experiment go wrong, by name: an explicit dict from name to corruption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations, label_type
from truelabel.corruption import (
    CIFAR10_MAP,
    CIFAR100_MAP,
    MNIST_MAP,
    BlocksDropped,
    ConfusedAnnotators,
    Corruption,
    EdgeAdded,
    EdgeRemoved,
    InstanceDependent,
    MaskReaders,
    asymmetric,
    cifar10_annotators,
    class_dependent,
    digit_readers,
    hammer_spammers,
    lesion_readers,
    pairwise_flippers,
    perturbed_skills,
    symmetric,
    tumour_readers,
)
from truelabel.training.seeds import generator_of
from truelabel.types import MISSING

MAPS = {"mnist": MNIST_MAP, "cifar10": CIFAR10_MAP, "cifar100": CIFAR100_MAP}
"""Which class is taken for which under asymmetric noise."""

Labels = int | None
"""Annotators who label an example; all if None."""


def _none(classes: int, generator: torch.Generator) -> Corruption:
    return ConfusedAnnotators(torch.eye(classes))


class _TrueMasks:
    """One reader who draws every mask as it is, void included."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.confusion = torch.eye(classes, dtype=torch.double).unsqueeze(0)

    def __call__(self, labels: Tensor, inputs: Tensor | None, generator: torch.Generator) -> Annotations:
        # Not Annotations.from_masks, which codes every pixel: thousands of streets would not fit into memory.
        label = labels.numpy().astype(label_type(self.classes))
        drawn = np.flatnonzero((label != MISSING).reshape(len(label), -1).any(1)).astype(np.int32)
        nobody_else = np.zeros(len(drawn), np.int32)
        names = tuple(range(self.classes))
        return Annotations(drawn, nobody_else, label[drawn], np.arange(len(label)), np.arange(1), names)


def _true_masks(classes: int, generator: torch.Generator) -> Corruption:
    return _TrueMasks(classes)


def _symmetric(classes: int, generator: torch.Generator, *, rate: float) -> Corruption:
    return ConfusedAnnotators(symmetric(classes, rate))


def _asymmetric(classes: int, generator: torch.Generator, *, rate: float, which: str) -> Corruption:
    # Stand-ins may have fewer classes than the data that they stand for.
    pairs = {true: said for true, said in dict(MAPS[which]).items() if max(true, said) < classes}
    return ConfusedAnnotators(asymmetric(classes, rate, pairs))


def _by_class(classes: int, generator: torch.Generator, *, rates: Sequence[float]) -> Corruption:
    return ConfusedAnnotators(class_dependent(rates))


def _by_instance(classes: int, generator: torch.Generator, *, rate: float) -> Corruption:
    return InstanceDependent(rate, classes)


def _flippers(
    classes: int,
    generator: torch.Generator,
    *,
    skill: float,
    annotators: int = 5,
    labels: Labels = None,
    dominant: bool | None = None,
) -> Corruption:
    skills = perturbed_skills(skill, annotators, generator)
    return ConfusedAnnotators(pairwise_flippers(classes, skills, generator, dominant=dominant), labels)


def _hammer_spammers(
    classes: int, generator: torch.Generator, *, skill: float, annotators: int = 5, labels: Labels = None
) -> Corruption:
    return ConfusedAnnotators(hammer_spammers(classes, perturbed_skills(skill, annotators, generator)), labels)


class DrawnOnce:
    """The labels of a corruption drawn with a seed of their own: the same in runs with different seeds.

    Table 1 of Tanno 2019 varies the start of the network only. Train and test examples get other draws as long as they
    differ in number.

    Args:
        corruption: what draws them.
        draw: the seed.
    """

    def __init__(self, corruption: Corruption, draw: int) -> None:
        self.corruption, self.draw, self.confusion = corruption, draw, corruption.confusion

    def __call__(self, labels: Tensor, inputs: Tensor | None, generator: torch.Generator) -> Annotations:
        return self.corruption(labels, inputs, generator_of(self.draw, "experiment", f"labels of {len(labels)}"))


def _four(classes: int, generator: torch.Generator, *, labels: Labels = None, draw: int | None = None) -> Corruption:
    annotators = ConfusedAnnotators(cifar10_annotators(), labels)
    return annotators if draw is None else DrawnOnce(annotators, draw)


def _digit_readers(classes: int, generator: torch.Generator, *, labels: Labels = None, **amounts: float) -> Corruption:
    return digit_readers(labels_per_example=labels, **amounts)


def _lesion_readers(
    classes: int, generator: torch.Generator, *, labels: Labels = None, strength: float = 1.0, period: int = 200
) -> Corruption:
    """The group of Zhang 2020, who err ``strength`` times as much; the wrong one misses half of every ``period``."""
    group = lesion_readers(labels_per_example=labels)
    readers = {
        **group.readers,
        "over": EdgeAdded(strength),
        "under": EdgeRemoved(2 * strength),
        "wrong": BlocksDropped(min(period, period / 2 * strength), period),
    }
    return MaskReaders(readers, group.classes, labels)


def _tumour_readers(classes: int, generator: torch.Generator, *, labels: Labels = None) -> Corruption:
    return tumour_readers(labels_per_example=labels)


NOISES: dict[str, Callable[..., Corruption]] = {
    "none": _none,
    "true-masks": _true_masks,
    "symmetric": _symmetric,
    "asymmetric": _asymmetric,
    "by-class": _by_class,
    "by-instance": _by_instance,
    "flippers": _flippers,
    "hammer-spammers": _hammer_spammers,
    "cifar10-annotators": _four,
    "digit-readers": _digit_readers,
    "lesion-readers": _lesion_readers,
    "tumour-readers": _tumour_readers,
}


def make_noise(name: str, classes: int, generator: torch.Generator, **options: Any) -> Corruption:
    """The corruption of that name.

    Args:
        name: in :data:`NOISES`.
        classes: K.
        generator: for skills and targets that are drawn.
        options: such as the rate.

    Example:
        >>> make_noise("symmetric", 10, torch.Generator(), rate=0.4).confusion[0, 0, :2]
        tensor([0.6400, 0.0400], dtype=torch.float64)
    """
    if name not in NOISES:
        raise ValueError(f"there is no noise {name!r}: choose from given, {', '.join(NOISES)}")
    return NOISES[name](classes, generator, **options)
