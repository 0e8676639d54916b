"""The U-Net for images and volumes of any size."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.networks.network import Network


class UNet(Network):
    """A U-Net with strided convolutions down and linear interpolation up, after the code of Zhang 2020.

    A block is 3x3 convolution without bias, affine instance norm and PReLU, twice. Level 0 has ``width``
    maps, every next one twice as many at half the size, and the deepest as many as the one above it. Going
    up, the maps are interpolated to the size of the skip, concatenated with it, and put through a block.

    Differs from the code: it upsamples the deepest maps once more and concatenates them, cropped, with
    themselves; this step is left out. Maps of odd size are interpolated to the size of the skip, instead of
    twice theirs and cropped.

    Args:
        channels: C of the images.
        width: maps of level 0, and F.
        depth: levels; the image is halved ``depth - 1`` times and must keep more than one pixel.
        dims: 2 for images, 3 for volumes.

    Shapes: ``(N, C, H, W) -> (N, H, W, width)``, or ``(N, C, D, H, W) -> (N, D, H, W, width)``.

    Example:
        >>> import torch
        >>> UNet(channels=4)(torch.rand(2, 4, 21, 30)).shape
        torch.Size([2, 21, 30, 16])
    """

    def __init__(self, channels: int = 1, width: int = 16, depth: int = 4, dims: int = 2) -> None:
        super().__init__()
        if dims not in _LAYERS:
            raise ValueError(f"dims={dims} of a U-Net must be 2 (images) or 3 (volumes)")
        for name, value in (("width", width), ("depth", depth)):
            if value < 1:
                raise ValueError(f"{name}={value} of a U-Net must be at least 1")
        self.features = width
        self.mode = "bilinear" if dims == 2 else "trilinear"
        widths = [width * 2**level for level in range(depth - 1)]
        widths.append(widths[-1] if widths else width)
        self.down = nn.ModuleList([block(channels, width, stride=1, dims=dims)])
        self.up = nn.ModuleList()
        for level in range(1, depth):
            self.down.append(block(widths[level - 1], widths[level], stride=2, dims=dims))
        for level in reversed(range(depth - 1)):
            # What comes up has as many maps as the skip: each step up leaves the width of the level above it.
            self.up.append(block(2 * widths[level], widths[max(level - 1, 0)], stride=1, dims=dims))

    def forward(self, inputs: Tensor) -> Tensor:
        space = inputs.shape[2:]
        depth = len(self.down)
        if max(space) <= 2 ** (depth - 1):
            size = " x ".join(map(str, space))
            raise ValueError(f"inputs of {size} pixels shrink to one in a U-Net of depth {depth}: lower depth")
        maps = inputs
        skips = []
        for block in self.down:
            maps = block(maps)
            skips.append(maps)
        skips.pop()
        for block in self.up:
            skip = skips.pop()
            # Corners stay put, as in the published code; on odd sizes every value then stays on its pixel.
            maps = functional.interpolate(maps, size=skip.shape[2:], mode=self.mode, align_corners=True)
            maps = block(torch.cat((skip, maps), 1))
        return maps.movedim(1, -1)


_LAYERS: dict[int, tuple[type[nn.Conv2d | nn.Conv3d], type[nn.InstanceNorm2d | nn.InstanceNorm3d]]] = {
    2: (nn.Conv2d, nn.InstanceNorm2d),
    3: (nn.Conv3d, nn.InstanceNorm3d),
}


def block(channels: int, width: int, stride: int, dims: int) -> nn.Sequential:
    conv, norm = _LAYERS[dims]
    return nn.Sequential(
        conv(channels, width, 3, stride, padding=1, bias=False),
        norm(width, affine=True),
        nn.PReLU(),
        conv(width, width, 3, padding=1, bias=False),
        norm(width, affine=True),
        nn.PReLU(),
    )
