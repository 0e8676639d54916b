"""Asymmetric label noise: some classes are mistaken for one look-alike each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

MNIST_MAP: Mapping[int, int] = MappingProxyType({7: 1, 2: 7, 5: 6, 6: 5, 3: 8})
"""7 → 1, 2 → 7, 5 ↔ 6, 3 → 8 (Patrini 2017; Sec. 5 of Englesson 2023)."""

CIFAR10_MAP: Mapping[int, int] = MappingProxyType({2: 0, 3: 5, 5: 3, 4: 7, 9: 1})
"""Bird → airplane, cat ↔ dog, deer → horse, truck → automobile (Patrini 2017).

The text of Englesson 2023 leaves out the truck, its code does not.
"""

CIFAR100_MAP: Mapping[int, int] = MappingProxyType({k: (k + 1) % 100 for k in range(100)})
"""Every class → the next one, the last → the first (Sec. 5 of Englesson 2023)."""


def asymmetric(classes: int, rate: float, mapping: Mapping[int, int]) -> Tensor:
    r"""A transition that turns a class into one other with probability η.

    .. math:: T[k, k] = 1 - \eta, \quad T[k, m(k)] = \eta \quad \text{for the classes } k \text{ that } m \text{ names}

    All other classes keep their labels. The share of wrong labels is thus η times the share of examples of the classes
    named; from η = 1/2 on, the labels of a named class cannot tell it from its look-alike.

    Args:
        classes: K.
        rate: η in [0, 1].
        mapping: class → the class that it is mistaken for: :data:`MNIST_MAP`, :data:`CIFAR10_MAP`,
            :data:`CIFAR100_MAP` or one's own.

    Returns:
        ``(K, K)``, ``[true, observed]``.

    Example:
        >>> asymmetric(3, 0.4, {2: 0})
        tensor([[1.0000, 0.0000, 0.0000],
                [0.0000, 1.0000, 0.0000],
                [0.4000, 0.0000, 0.6000]], dtype=torch.float64)
    """
    if classes < 2:
        raise ValueError(f"classes must be at least 2, got {classes}")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must lie in [0, 1], got {rate}")
    _check_mapping(classes, mapping)
    confusion = torch.eye(classes, dtype=torch.double)
    true, observed = list(mapping), list(mapping.values())
    confusion[true, true] = 1 - rate
    confusion[true, observed] = rate
    return confusion


def _check_mapping(classes: int, mapping: Mapping[int, int]) -> None:
    if not mapping:
        raise ValueError("mapping names no class: pass the classes that are mistaken, such as {2: 0}")
    for true, observed in mapping.items():
        if true not in range(classes) or observed not in range(classes):
            raise ValueError(f"mapping has {true!r}: {observed!r}, but classes are 0..{classes - 1}")
        if true == observed:
            raise ValueError(f"mapping turns class {true} into itself: leave it out")
