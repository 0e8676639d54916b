"""Toys for segmentation that need no files: bright discs in pictures, bright spheres in volumes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from truelabel.checks import check_whole
from truelabel.data.dataset import Dataset
from truelabel.data.seeds import generator_of

if TYPE_CHECKING:
    import torch

_INSIDE, _OUTSIDE = 0.75, 0.25


def discs(
    count: int,
    size: tuple[int, int] = (32, 32),
    *,
    most: int = 2,
    noise: float = 0.15,
    seed: int | torch.Generator = 0,
) -> Dataset:
    """Pictures with one to ``most`` bright discs each.

    Radii are drawn evenly from 1/8 to 1/4 of the shorter side, centres so that each disc lies inside. The picture is
    0.75 on a disc and 0.25 elsewhere, plus Gaussian noise.

    Args:
        count: how many pictures.
        size: ``(H, W)``, at least 8 each.
        most: the most discs a picture may have; they may overlap.
        noise: standard deviation of the noise.
        seed: a number, or a CPU generator that every draw comes from.

    Returns:
        Inputs ``(count, 1, H, W)`` float32, masks ``(count, H, W)`` int16, classes ``background`` and ``disc``.

    Example:
        >>> data = discs(4, (16, 24))
        >>> data.inputs.shape, data.labels.shape, data.classes
        ((4, 1, 16, 24), (4, 16, 24), ('background', 'disc'))
    """
    return _balls("disc", count, size, most, noise, seed)


def spheres(
    count: int,
    size: tuple[int, int, int] = (24, 24, 24),
    *,
    most: int = 2,
    noise: float = 0.15,
    seed: int | torch.Generator = 0,
) -> Dataset:
    """Volumes with one to ``most`` bright spheres each: :func:`discs` in three dimensions.

    Args:
        count: how many volumes.
        size: ``(D, H, W)``, at least 8 each.
        most: the most spheres a volume may have; they may overlap.
        noise: standard deviation of the noise.
        seed: a number, or a CPU generator that every draw comes from.

    Returns:
        Inputs ``(count, 1, D, H, W)`` float32, masks ``(count, D, H, W)`` int16, classes ``background`` and ``sphere``.

    Example:
        >>> data = spheres(2, (16, 16, 16))
        >>> data.inputs.shape, data.labels.shape
        ((2, 1, 16, 16, 16), (2, 16, 16, 16))
    """
    return _balls("sphere", count, size, most, noise, seed)


def _balls(
    name: str, count: int, size: tuple[int, ...], most: int, noise: float, seed: int | torch.Generator
) -> Dataset:
    import torch

    axes = {"disc": 2, "sphere": 3}[name]
    check_whole("count", count)
    check_whole("most", most)
    if len(size) != axes or min(size) < 8:
        raise ValueError(f"size {size!r} does not fit: pass {axes} numbers of at least 8")
    if not 0 <= noise < math.inf:
        raise ValueError(f"noise {noise} is not a standard deviation: pass a number that is 0 or larger")
    generator = generator_of(seed)
    side, extent = min(size), torch.tensor(size, dtype=torch.float64)
    number = torch.randint(1, most + 1, (count,), generator=generator)
    radius = side * (1 + torch.rand(count, most, generator=generator, dtype=torch.float64)) / 8
    place = torch.rand(count, most, axes, generator=generator, dtype=torch.float64)
    centre = radius[..., None] + place * (extent - 1 - 2 * radius[..., None])
    mask = torch.zeros(count, *size, dtype=torch.bool)
    for ball in range(most):  # one after the other, for all at once would need that much more memory
        squared = torch.zeros(count, *size, dtype=torch.float64)
        for axis, length in enumerate(size):
            offset = torch.arange(length) - centre[:, ball, axis, None]
            squared += offset.square().view(count, *[length if other == axis else 1 for other in range(axes)])
        here = (squared <= radius[:, ball].square().view(count, *[1] * axes)) & (ball < number).view(count, *[1] * axes)
        mask |= here
    image = torch.where(mask, _INSIDE, _OUTSIDE).float()
    image += noise * torch.randn(count, *size, generator=generator)
    return Dataset(image[:, None].numpy(), mask.short().numpy(), ("background", name), f"{name}s")
