"""Small data sets that need no files: two moons, two circles, and the digits inside scikit-learn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from truelabel.data.dataset import Dataset

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def two_moons(n: int, noise: float, generator: torch.Generator) -> Dataset:
    r"""Two half circles that reach into each other, :math:`n/2` points on each.

    With :math:`t \sim U(0, \pi)` class 0 is :math:`(\cos t, \sin t)` and class 1 is
    :math:`(1 - \cos t, \tfrac12 - \sin t)`; Gaussian noise is added to both coordinates.

    Args:
        n: how many points; the odd one, if any, is of class 0.
        noise: standard deviation of the noise.
        generator: a CPU generator; every draw comes from it.

    Returns:
        Inputs ``(n, 2)`` float32 in random order, classes 0 and 1.

    Example:
        >>> import torch
        >>> data = two_moons(100, 0.1, torch.Generator().manual_seed(0))
        >>> data.inputs.shape, int(data.labels.sum())
        ((100, 2), 50)
    """
    import torch

    labels, angle = _labels(n, generator), math.pi * torch.rand(n, generator=generator, dtype=torch.float64)
    circle = torch.stack([angle.cos(), angle.sin()], -1)
    shifted = torch.tensor([1.0, 0.5], dtype=torch.float64) - circle
    points = torch.where(labels[:, None] == 0, circle, shifted)
    return _noisy(points, labels, noise, generator, "two_moons")


def two_circles(n: int, noise: float, generator: torch.Generator, *, factor: float = 0.5) -> Dataset:
    """A circle of radius 1 (class 0) round one of radius ``factor`` (class 1), half of the points on each.

    Args:
        n: how many points; the odd one, if any, is of class 0.
        noise: standard deviation of the Gaussian noise on both coordinates.
        generator: a CPU generator; every draw comes from it.
        factor: radius of the inner circle, between 0 and 1.

    Returns:
        Inputs ``(n, 2)`` float32 in random order, classes 0 and 1.

    Example:
        >>> import torch
        >>> data = two_circles(100, 0.0, torch.Generator().manual_seed(0))
        >>> radius = (data.inputs**2).sum(1) ** 0.5
        >>> bool((radius[data.labels == 1] < 0.51).all())
        True
    """
    import torch

    if not 0 < factor < 1:
        raise ValueError(f"factor {factor} is not between 0 and 1: it is the radius of the inner circle")
    labels, angle = (
        _labels(n, generator),
        2 * math.pi * torch.rand(n, generator=generator, dtype=torch.float64),
    )
    radius = torch.where(labels == 0, 1.0, factor)
    points = radius[:, None] * torch.stack([angle.cos(), angle.sin()], -1)
    return _noisy(points, labels, noise, generator, "two_circles")


def digits() -> Dataset:
    """The 1,797 handwritten digits that scikit-learn carries (Alpaydin and Kaynak 1998).

    They are stored with 17 grey levels; here level v is ``round(v * 255 / 16)``, so that ``scaled()`` is
    v / 16 to within 0.002 and lies in [0, 1] as for every other picture.

    Returns:
        Inputs ``(1797, 1, 8, 8)`` uint8, classes 0 to 9.

    Example:
        >>> data = digits()
        >>> data.inputs.shape, float(data.scaled().max())
        ((1797, 1, 8, 8), 1.0)
    """
    from sklearn.datasets import load_digits

    stored = load_digits()
    images = np.rint(stored.images * (255 / 16)).astype(np.uint8)
    return Dataset(images[:, None], stored.target.astype(np.int64), tuple(range(10)), "digits")


def _labels(n: int, generator: torch.Generator) -> Tensor:
    import torch

    if n < 2:
        raise ValueError(f"n is {n}: ask for at least 2 points, one of each class")
    return torch.randperm(n, generator=generator) % 2


def _noisy(points: Tensor, labels: Tensor, noise: float, generator: torch.Generator, name: str) -> Dataset:
    import torch

    if not 0 <= noise < math.inf:
        raise ValueError(f"noise {noise} is not a standard deviation: pass a number that is 0 or larger")
    points = points + noise * torch.randn(points.shape, generator=generator, dtype=torch.float64)
    return Dataset(points.float().numpy(), labels.numpy(), (0, 1), name)
