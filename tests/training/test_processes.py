from __future__ import annotations

import torch
from lightning_fabric import Fabric

from truelabel.training.processes import gather


def test_one_process_is_a_row_without_gradient(fabric: Fabric) -> None:
    values = torch.ones(2, 3, requires_grad=True)
    assert gather(fabric, values).shape == (1, 2, 3)
    assert not gather(fabric, values).requires_grad
