from __future__ import annotations

import torch
from torch import Tensor, nn

from truelabel.training import Engine
from truelabel.types import Batch


class Looks(nn.Module):
    """Notes the kinds of numbers that it is given, and that a product has."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 2)
        self.seen: list[torch.dtype] = []

    def forward(self, batch: Batch) -> Tensor:
        assert batch.soft is not None
        product: Tensor = self.head(batch.inputs)
        self.seen = [batch.inputs.dtype, batch.weights.dtype, batch.soft.dtype, product.dtype]
        return product


def test_products_are_bfloat16_and_what_goes_in_keeps_its_digits() -> None:
    fabric = Engine(device="cpu").fabric("bf16-mixed")
    looks = Looks()
    slots = torch.zeros(4, 1, dtype=torch.long)
    batch = Batch(torch.rand(4, 3), slots, slots, torch.rand(4, 1), torch.rand(4, 1, 2), torch.arange(4))
    answer = fabric.setup_module(looks)(batch)
    assert looks.seen == [torch.float32, torch.float32, torch.float32, torch.bfloat16]
    assert answer.dtype == torch.float32
