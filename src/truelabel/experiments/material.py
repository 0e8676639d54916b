"""The data of the papers' experiments, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from truelabel.experiments import classification_material, segmentation_material
from truelabel.experiments.material_parts import Material, check_counts

__all__ = ["MATERIALS", "Material", "load_material"]

Loader = Callable[..., Material]
"""``(root, train, test, **options)``, each option with a default."""

MATERIALS: dict[str, Loader] = {
    "moons": classification_material.moons,
    "circles": classification_material.circles,
    "mnist": classification_material.mnist,
    "fashion-mnist": classification_material.fashion_mnist,
    "cifar10": classification_material.cifar10,
    "cifar10n": classification_material.cifar10n,
    "cifar100": classification_material.cifar100,
    "cifar100n": classification_material.cifar100n,
    "svhn": classification_material.svhn,
    "clothing1m": classification_material.clothing1m,
    "cardiac-views": classification_material.cardiac_views,
    "mnist-segmentation": segmentation_material.mnist_segmentation,
    "ms-lesions": segmentation_material.ms_lesions,
    "brats2019": segmentation_material.brats2019,
    "lidc": segmentation_material.lidc,
    "pascal-voc": segmentation_material.pascal_voc,
    "cityscapes": segmentation_material.cityscapes,
}
"""What reads each; the docstring of a loader says what it splits, and what its options mean."""


def load_material(
    name: str,
    *,
    root: Path | None = None,
    train: int | None = None,
    test: int | None = None,
    keep: Path | None = None,
    **options: Any,
) -> Material:
    """Train and test data of an experiment, split as its paper says.

    Args:
        name: a key of :data:`MATERIALS`.
        root: the data root, as in :func:`truelabel.data.data_root`.
        train: take the first so many training examples; all by default, and all where there are fewer.
        test: likewise.
        keep: a folder in which what takes minutes to work out is kept for the next time.
        **options: of this material.

    Raises:
        ValueError: if the name or an option is unknown, or a number of examples is none.
        MissingDataError: if files are not there; the message names them.

    Example:
        >>> material = load_material("moons", train=100, test=40, noise=0.2)
        >>> material.train.inputs.shape, len(material.test), material.given
        ((100, 2), 40, None)
    """
    if name not in MATERIALS:
        raise ValueError(f"material {name!r} is unknown: choose from {', '.join(MATERIALS)}")
    check_counts(train, test)
    load = MATERIALS[name]
    known = [p.name for p in inspect.signature(load).parameters.values() if p.kind is p.KEYWORD_ONLY]
    if "keep" in known:
        known.remove("keep")
        load = partial(load, keep=keep)
    for option in options:
        if option not in known:
            raise ValueError(f"option {option!r} of {name} is unknown: it takes {', '.join(known) or 'none'}")
    return load(root, train, test, **options)
