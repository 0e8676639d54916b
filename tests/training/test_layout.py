from __future__ import annotations

import torch

from truelabel.training.layout import laid_out, tensor_cores


def test_precision_of_products_is_left_as_it_was() -> None:
    before = torch.get_float32_matmul_precision()
    with tensor_cores(torch.device("cuda")):
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before == "highest"
    with tensor_cores(torch.device("cpu")):
        assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("medium")
    try:
        with tensor_cores(torch.device("cuda")):
            assert torch.get_float32_matmul_precision() == "medium"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_weights_of_convolutions_are_laid_out_like_pictures() -> None:
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 2))
    turned = laid_out(network, torch.channels_last)
    assert turned[0].weight.is_contiguous(memory_format=torch.channels_last)  # type: ignore[index]
    assert turned[1].weight.is_contiguous()  # type: ignore[index]
