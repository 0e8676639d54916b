"""Batch norm that does not count its batches."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class BatchNorm2d(nn.BatchNorm2d):
    """torch's own, without the count of batches, which nothing reads while the momentum is a number.

    On a GPU that count is a kernel for every layer and step. Its buffer stays, so that states fit torch's.

    Args:
        num_features: C.

    Shapes: ``(N, C, H, W) -> (N, C, H, W)``.

    Example:
        >>> import torch
        >>> norm = BatchNorm2d(3)
        >>> norm(torch.rand(2, 3, 4, 4)).shape, norm.num_batches_tracked.item()
        (torch.Size([2, 3, 4, 4]), 0)
    """

    def __init__(self, num_features: int) -> None:
        super().__init__(num_features)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  # as torch names it
        assert self.momentum is not None
        return functional.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.eps,
        )
