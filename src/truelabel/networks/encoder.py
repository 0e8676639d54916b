"""From an image or a volume to a Gaussian: the encoders of latent-variable models of segmentation (Kohl 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from truelabel.precision import at_least_single

SMALLEST_SCALE = 1e-3
MOST_WIDTHS = 6
"""Maps grow with the levels up to so many times those of the first."""

_LAYERS: dict[int, tuple[type[nn.Conv2d | nn.Conv3d], Callable[..., Tensor]]] = {
    2: (nn.Conv2d, functional.avg_pool2d),
    3: (nn.Conv3d, functional.avg_pool3d),
}


class Gaussian(NamedTuple):
    """Independent normal numbers.

    Attributes:
        mean: ``(..., J)``.
        scale: ``(..., J)``, standard deviations.

    Example:
        >>> import torch
        >>> wide, narrow = Gaussian(torch.zeros(2), torch.ones(2)), Gaussian(torch.ones(2), torch.ones(2) / 2)
        >>> narrow.divergence_from(wide)
        tensor(1.6363)
    """

    mean: Tensor
    scale: Tensor

    def at(self, noise: Tensor) -> Tensor:
        """The draw that standard normal ``noise (..., J)`` stands for."""
        return self.mean + self.scale * noise

    def divergence_from(self, other: Gaussian) -> Tensor:
        r"""Kullback–Leibler divergence of this from another, summed over J: ``(...)``.

        .. math:: \sum_j \log \frac{\tau_j}{\sigma_j} + \frac{\sigma_j^2 + (\mu_j - \theta_j)^2}{2 \tau_j^2} - \tfrac12
                  \quad \text{for } N(\mu, \sigma^2) \text{ from } N(\theta, \tau^2)
        """
        ratio, shift = self.scale / other.scale, (self.mean - other.mean) / other.scale
        return ((ratio**2 + shift**2 - 1) / 2 - ratio.log()).sum(-1)


class GaussianEncoder(nn.Module):
    """Convolutions, a mean over the whole image, and a linear layer to mean and scale of J numbers.

    Each level has 3x3 convolutions with ReLU, at half the size of the level before, and ``width * min(2**level, 6)``
    maps. These are not normalised, so that their mean over the image tells how much of it is what.

    Differs from the published code of Kohl 2018: two convolutions a level instead of three, four levels instead of
    seven, and scales are softplus + 1e-3 instead of an exponential, which overflows on inputs far from unit scale.

    Args:
        channels: C of what comes in.
        latent: J.
        dims: 2 for images, 3 for volumes.
        width: maps of the first level.
        depth: levels.

    Shapes: ``(N, C, *space)`` to mean and scale ``(N, J)``.

    Example:
        >>> import torch
        >>> GaussianEncoder(channels=3, latent=6)(torch.rand(2, 3, 21, 30)).mean.shape
        torch.Size([2, 6])
    """

    def __init__(self, channels: int, latent: int, dims: int = 2, *, width: int = 16, depth: int = 4) -> None:
        super().__init__()
        if dims not in _LAYERS:
            raise ValueError(f"dims={dims} of an encoder must be 2 (images) or 3 (volumes)")
        conv, self.halve = _LAYERS[dims]
        self.levels = nn.ModuleList()
        for level in range(depth):
            maps = width * min(2**level, MOST_WIDTHS)
            pair = conv(channels, maps, 3, padding=1), conv(maps, maps, 3, padding=1)
            for layer in pair:
                # Without normalisation torch's own start would shrink what passes by a factor at every layer.
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            self.levels.append(nn.Sequential(pair[0], nn.ReLU(), pair[1], nn.ReLU()))
            channels = maps
        self.head = nn.Linear(channels, 2 * latent)

    def forward(self, images: Tensor) -> Gaussian:
        maps = images
        for number, level in enumerate(self.levels):
            if number:
                # A side of one pixel stays.
                maps = self.halve(maps, [min(2, side) for side in maps.shape[2:]], ceil_mode=True)
            maps = level(maps)
        mean, raw = at_least_single(self.head(maps.flatten(2).mean(-1))).chunk(2, -1)
        return Gaussian(mean, functional.softplus(raw) + SMALLEST_SCALE)

    def __call__(self, images: Tensor) -> Gaussian:
        gaussian: Gaussian = super().__call__(images)
        return gaussian
