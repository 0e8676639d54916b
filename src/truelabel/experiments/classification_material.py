"""Examples with one class each: toys, digits, photographs, and what people said about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from truelabel import data
from truelabel.annotations import Annotations
from truelabel.data import Dataset
from truelabel.experiments.material_parts import Material, first
from truelabel.training.seeds import generator_of

POINTS = 1000
"""How many points a toy has in each part. Neither Yao 2021 nor Englesson 2023 says it; this is a choice."""


def moons(root: Path | None, train: int | None, test: int | None, *, noise: float = 0.1, seed: int = 0) -> Material:
    """Two moons; ``noise`` and ``seed`` are choices, for no paper gives them."""
    return Material(
        data.two_moons(train or POINTS, noise, generator_of(seed, "moons", "train")),
        data.two_moons(test or POINTS, noise, generator_of(seed, "moons", "test")),
    )


def circles(
    root: Path | None, train: int | None, test: int | None, *, noise: float = 0.1, seed: int = 0, factor: float = 0.5
) -> Material:
    """Two circles; as :func:`moons`, and ``factor`` is the radius of the inner one."""
    return Material(
        data.two_circles(train or POINTS, noise, generator_of(seed, "circles", "train"), factor=factor),
        data.two_circles(test or POINTS, noise, generator_of(seed, "circles", "test"), factor=factor),
    )


def mnist(root: Path | None, train: int | None, test: int | None) -> Material:
    """60,000 and 10,000 digits."""
    return Material(first(data.mnist("train", root), train), first(data.mnist("test", root), test))


def fashion_mnist(root: Path | None, train: int | None, test: int | None) -> Material:
    """60,000 and 10,000 pieces of clothing."""
    return Material(first(data.fashion_mnist("train", root), train), first(data.fashion_mnist("test", root), test))


def cifar10(root: Path | None, train: int | None, test: int | None) -> Material:
    """50,000 and 10,000 photographs."""
    return Material(first(data.cifar10("train", root), train), first(data.cifar10("test", root), test))


def cifar100(root: Path | None, train: int | None, test: int | None) -> Material:
    """50,000 and 10,000 photographs of the 100 fine classes."""
    return Material(first(data.cifar100("train", root), train), first(data.cifar100("test", root), test))


def svhn(root: Path | None, train: int | None, test: int | None) -> Material:
    """73,257 and 26,032 house numbers, without the "extra" part, as in Collier 2020 and Yao 2021."""
    return Material(first(data.svhn("train", root), train), first(data.svhn("test", root), test))


def cifar10n(
    root: Path | None,
    train: int | None,
    test: int | None,
    *,
    which: Literal["aggregate", "random1", "random2", "random3", "worst"] = "worst",
) -> Material:
    """CIFAR-10 with one column of human labels."""

    def said(images: Dataset) -> npt.NDArray[np.int64]:
        return data.cifar10n(which, root, images=images)

    return _with_column(data.cifar10("train", root), data.cifar10("test", root), said, train, test)


def cifar100n(root: Path | None, train: int | None, test: int | None) -> Material:
    """CIFAR-100 with what one person said of each training image."""

    def said(images: Dataset) -> npt.NDArray[np.int64]:
        return data.cifar100n("noisy", root, images=images)

    return _with_column(data.cifar100("train", root), data.cifar100("test", root), said, train, test)


def clothing1m(
    root: Path | None,
    train: int | None,
    test: int | None,
    *,
    size: int = 224,
    balanced: bool = False,
    validated: float = 0.0,
) -> Material:
    """Photographs with noisy labels to train on, with clean ones to test on.

    What the training photographs really show is not known: their labels in ``train`` are the noisy ones again, so no
    score may be taken there. At 224 x 224 all of them take 150 GB; pass ``train``, or a smaller ``size``. With
    ``balanced`` there are as many of every noisy label. ``validated`` is the share of them, at the end, that are
    photographs to validate on, with clean labels.
    """
    clean = None if train is None else round(validated * train)
    noisy = None if train is None or clean is None else train - clean
    trained = data.clothing1m("noisy_train", root, size=size, limit=noisy, balanced=balanced)
    if validated and clean != 0:
        judged = data.clothing1m("clean_val", root, size=size, limit=clean)
        both = [trained, judged]
        inputs, labels = (np.concatenate([getattr(part, name) for part in both]) for name in ("inputs", "labels"))
        trained = replace(trained, inputs=inputs, labels=labels)
    tested = data.clothing1m("clean_test", root, size=size, limit=test)
    return Material(trained, tested, one_column(trained.labels.astype(np.int64), trained))


def cardiac_views(root: Path | None, train: int | None, test: int | None) -> Material:
    """Views of the heart with the labels of all annotators."""
    trained, said = data.cardiac_views("train", root, limit=train)
    return Material(trained, data.cardiac_views("test", root, limit=test)[0], said)


def _with_column(
    trained: Dataset,
    tested: Dataset,
    said: Callable[[Dataset], npt.NDArray[np.int64]],
    train: int | None,
    test: int | None,
) -> Material:
    labels = said(trained)  # of all images, because the order of all is checked
    return Material(first(trained, train), first(tested, test), one_column(labels[:train], trained))


def one_column(labels: npt.NDArray[np.int64], of: Dataset) -> Annotations:
    """Labels ``(N,)`` as those of one annotator, with the class names of a data set."""
    given = Annotations.from_labels(labels, classes=len(of.classes))
    return Annotations(given.example, given.annotator, given.label, given.examples, given.annotators, of.classes)
