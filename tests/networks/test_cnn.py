from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from truelabel.networks import CollierCNN, TannoCNN
from truelabel.networks.group_norm import LeakyGroupNorm


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_tanno_parameter_counts() -> None:
    # A 3x3 convolution from a to b maps has (9 a + 1) b parameters.
    assert count(TannoCNN()) == 10 * 32 + 289 * 32 + 289 * 64 + 577 * 64
    assert count(TannoCNN(widths=(128, 128, 128, 128))) == 10 * 128 + 3 * (1153 * 128)


def test_tanno_is_invariant_to_shifts_by_its_one_pooling() -> None:
    network = TannoCNN()
    patch = torch.randn(1, 1, 6, 6, generator=torch.Generator().manual_seed(0))

    def features(shift: int) -> Tensor:
        image = torch.zeros(1, 1, 40, 40)
        image[..., 16:22, 14 + shift : 20 + shift] = patch
        with torch.no_grad():
            return network(image)

    torch.testing.assert_close(features(2), features(0), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(features(1), features(0), rtol=1e-4, atol=1e-6)


def test_tanno_receptive_field_before_pooling_is_fourteen_pixels() -> None:
    layers = TannoCNN().layers[:-2]
    image = torch.randn(1, 1, 40, 40, generator=torch.Generator().manual_seed(0)).requires_grad_()
    layers(image)[0, :, 10, 10].sum().backward()
    assert image.grad is not None
    rows = image.grad[0, 0].any(1).nonzero().flatten()
    # Two convolutions see 5 pixels, pooling makes it 6, two more convolutions of stride 2 add 8. Pooling
    # picks one of two rows, so the outermost row on each side may be missing.
    assert 14 <= int(rows[0]) <= 15
    assert 26 <= int(rows[-1]) <= 27


def test_tanno_takes_four_widths() -> None:
    with pytest.raises(ValueError, match=r"widths=\(8, 8\) of a TannoCNN must be four numbers"):
        TannoCNN(widths=(8, 8))  # type: ignore[arg-type]


def test_collier_parameter_count() -> None:
    maps = [3, 128, 128, 128, 256, 256, 256, 512, 256, 128]
    # A convolution with bias, and two numbers a map for group norm.
    expected = sum((9 * a + 1) * b + 2 * b for a, b in pairwise(maps))
    assert count(CollierCNN()) == expected


@pytest.mark.parametrize(("size", "last"), [(28, 1), (32, 2)])
def test_collier_shrinks_as_published(size: int, last: int) -> None:
    network = CollierCNN(channels=1).eval()
    pool = [layer for layer in network.layers if isinstance(layer, nn.AdaptiveAvgPool2d)]
    seen: list[torch.Size] = []
    pool[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape))
    network(torch.rand(1, 1, size, size))
    assert seen == [(1, 128, last, last)]


def test_collier_normalises_two_groups_and_drops_whole_channels() -> None:
    network = CollierCNN(channels=1).train()
    norms = [layer for layer in network.modules() if isinstance(layer, nn.GroupNorm)]
    assert [norm.num_groups for norm in norms] == [2] * 9
    maps: list[Tensor] = []
    dropout = next(layer for layer in network.layers if isinstance(layer, nn.Dropout2d))
    dropout.register_forward_hook(lambda _, inputs, output: maps.append(output))
    network(torch.rand(4, 1, 28, 28))
    dead = (maps[0] == 0).flatten(2).all(-1)
    assert not (maps[0] == 0).flatten(2).any(-1)[~dead].any()
    assert 0.15 < dead.float().mean() < 0.35


def test_collier_refuses_to_see_scale() -> None:
    # Group norm after a convolution removes the scale of the input, up to biases, which are set to zero here.
    network = CollierCNN(channels=1).eval()
    for layer in network.modules():
        if isinstance(layer, LeakyGroupNorm) and layer.shift is not None:
            nn.init.zeros_(layer.shift)
    image = torch.rand(1, 1, 28, 28, generator=torch.Generator().manual_seed(0)) * 10
    with torch.no_grad():
        torch.testing.assert_close(network(5 * image), network(image), rtol=1e-3, atol=1e-4)
