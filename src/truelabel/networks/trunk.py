"""A few blocks on top of features: what a head looks at that wants more than one pixel of them."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.networks.network import Network
from truelabel.networks.unet import block


class Trunk(Network):
    """Blocks of the U-Net on features, for every pixel to see its neighbours; a perceptron where there are none.

    Args:
        features: F, of what comes in and of what goes out.
        blocks: how many; each is two 3x3 convolutions with instance norm and PReLU.
        dims: 2 for images, 3 for volumes; 0 for examples without space, whose blocks are linear layers with PReLU.

    Shapes: ``(*U, F) -> (*U, F)``.

    Example:
        >>> import torch
        >>> Trunk(8, blocks=1, dims=2)(torch.rand(2, 5, 7, 8)).shape
        torch.Size([2, 5, 7, 8])
    """

    def __init__(self, features: int, blocks: int = 2, dims: int = 2) -> None:
        super().__init__()
        if dims not in (0, 2, 3):
            raise ValueError(f"dims={dims} of a trunk must be 0 (no space), 2 (images) or 3 (volumes)")
        if blocks < 1:
            raise ValueError(f"blocks={blocks} of a trunk must be at least 1")
        self.features, self.dims = features, dims
        made = [
            block(features, features, stride=1, dims=dims)
            if dims
            else nn.Sequential(nn.Linear(features, features), nn.PReLU())
            for _ in range(blocks)
        ]
        self.blocks = nn.Sequential(*made)

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.dims:
            flat: Tensor = self.blocks(inputs)
            return flat
        maps: Tensor = self.blocks(inputs.movedim(-1, 1))
        return maps.movedim(1, -1)
