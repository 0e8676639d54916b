"""Small made-up data sets in the file layouts of the published ones, to try an experiment without its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from truelabel.checks import check_whole
from truelabel.experiments.stand_ins import cifar, idx, photographs, scenes, svhn, volumes

__all__ = ["STAND_INS", "StandIn", "write_stand_in"]


class StandIn(NamedTuple):
    """A small data set that can be made up.

    Attributes:
        write: ``(root, examples, generator)``, writes it.
        examples: how many to train on unless asked.
        options: what to pass to :func:`truelabel.experiments.material.load_material` where the sizes of the real one
            would only pad or enlarge these.
    """

    write: Callable[[Path, int, np.random.Generator], None]
    examples: int = 96
    options: Mapping[str, Any] = MappingProxyType({})


STAND_INS: dict[str, StandIn] = {
    "mnist": StandIn(idx.write_mnist),
    "fashion-mnist": StandIn(idx.write_fashion_mnist),
    "cifar10": StandIn(cifar.write_cifar10),
    "cifar10n": StandIn(cifar.write_cifar10n),
    "cifar100": StandIn(cifar.write_cifar100, 200),
    "cifar100n": StandIn(cifar.write_cifar100n, 200),
    "svhn": StandIn(svhn.write_svhn),
    "clothing1m": StandIn(photographs.write_clothing1m, options={"size": 32}),
    "cardiac-views": StandIn(photographs.write_cardiac_views),
    "mnist-segmentation": StandIn(idx.write_mnist),
    "ms-lesions": StandIn(volumes.write_ms_lesions, 10),
    "brats2019": StandIn(volumes.write_brats2019, 64, {"crop": (48, 48)}),
    "lidc": StandIn(volumes.write_lidc, 24),
    "pascal-voc": StandIn(scenes.write_pascal_voc, 24, {"size": (48, 48)}),
    "cityscapes": StandIn(scenes.write_cityscapes, 24, {"size": (32, 64)}),
}
"""One for every material that reads files; toys need none. Those of 100 classes hold more, so that none is missing."""


def write_stand_in(name: str, root: Path, examples: int | None = None, seed: int = 0) -> None:
    """Write a small made-up data set under ``root``, so that the reader of the real one reads it.

    Pictures show their class, or their mask, through noise, so that something can be learned from them; beyond that
    they have nothing to do with the real ones, and no score on them means anything.

    Args:
        name: a key of :data:`STAND_INS`.
        root: the data root to write under; it is made if it is not there.
        examples: how many to train on, about half as many to test on; at least 10. About 96 by default, fewer for
            scans and scenes.
        seed: equal seeds write equal data.

    Raises:
        ValueError: if the name is unknown.

    Example:
        >>> import pathlib, tempfile
        >>> from truelabel.data import svhn
        >>> with tempfile.TemporaryDirectory() as root:
        ...     write_stand_in("svhn", pathlib.Path(root))
        ...     svhn("train", root).inputs.shape
        (96, 3, 32, 32)
    """
    if name not in STAND_INS:
        raise ValueError(f"stand-in {name!r} is unknown: choose from {', '.join(STAND_INS)}")
    stand_in = STAND_INS[name]
    if examples is not None:
        check_whole("examples", examples, least=10)
    stand_in.write(Path(root), examples or stand_in.examples, np.random.default_rng(seed))
