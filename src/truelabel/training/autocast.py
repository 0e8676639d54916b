"""Mixed precision that leaves what goes into a learner as it is."""

from __future__ import annotations

from typing import Any

from lightning_fabric.plugins.precision import MixedPrecision


class Autocast(MixedPrecision):
    """Products in bfloat16, of batches that keep their digits.

    Lightning's own would cast all of a batch: the weights of its labels, soft targets and the picture that a decoder is
    compared with too, which are no factors of a product.

    Args:
        device: kind of device, "cpu" or "cuda".

    Example:
        >>> import torch
        >>> Autocast("cpu").convert_input(torch.zeros(2)).dtype
        torch.float32
    """

    def __init__(self, device: str) -> None:
        super().__init__("bf16-mixed", device)

    def convert_input(self, data: Any) -> Any:
        """As it is."""
        return data
