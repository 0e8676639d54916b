from __future__ import annotations

import pytest
import torch
from torch import nn

from truelabel.networks.conditional import (
    ImageDecoder,
    ImageEncoder,
    VectorDecoder,
    VectorEncoder,
    decoder,
    encoder,
)

SIZES = [(1, 28, 28), (3, 32, 32), (1, 8, 8), (3, 17, 40), (2, 16, 31), (1, 1, 3)]


@pytest.mark.parametrize("shape", SIZES)
def test_an_image_of_any_size_goes_in_and_comes_out(shape: tuple[int, int, int]) -> None:
    images, classes = torch.rand(4, *shape), torch.rand(4, 5)
    assert ImageEncoder(shape, 5, 7)(images, classes).shape == (4, 7)
    made = ImageDecoder(shape, 5, 3)(classes, torch.randn(4, 3))
    assert made.shape == images.shape
    assert made.min() >= 0
    assert made.max() <= 1


def layers(module: nn.Module, kind: type[nn.Module]) -> list[nn.Module]:
    return [layer for layer in module.modules() if isinstance(layer, kind)]


def test_the_encoder_has_the_papers_sizes() -> None:
    net = ImageEncoder((1, 28, 28), 10, 50)
    assert net.embed_class.out_features == 784
    assert net.embed_image.kernel_size == (1, 1)
    maps = [(layer.in_channels, layer.out_channels) for layer in net.layers if isinstance(layer, nn.Conv2d)]
    assert maps == [(2, 32), (32, 64), (64, 128), (128, 256)]
    last = net.layers[-1]
    assert isinstance(last, nn.Linear)
    assert (last.in_features, last.out_features) == (256 * 4, 50)


def test_the_decoder_has_the_papers_sizes() -> None:
    seen: list[tuple[int, ...]] = []
    net = ImageDecoder((1, 28, 28), 10, 25)
    for layer in layers(net, nn.ConvTranspose2d):
        layer.register_forward_hook(lambda layer, given, made: seen.append(tuple(made.shape[1:])))
    net(torch.rand(2, 10), torch.randn(2, 25))
    assert net.enter.in_features == 35
    assert seen == [(128, 4, 4), (64, 8, 8), (32, 16, 16), (32, 31, 31)]
    last = net.layers[-1]
    assert isinstance(last, nn.Conv2d)
    assert last.kernel_size == (4, 4)
    wide = ImageDecoder((3, 32, 32), 10, 25).layers[-1]
    assert isinstance(wide, nn.Conv2d)
    assert (wide.kernel_size, wide.padding) == ((3, 3), (1, 1))


@pytest.mark.parametrize("shape", [(1, 12, 12), (5,)])
def test_every_part_of_the_input_matters_and_every_parameter_learns(shape: tuple[int, ...]) -> None:
    inputs, classes = torch.rand(6, *shape, requires_grad=True), torch.rand(6, 4, requires_grad=True)
    latent = torch.randn(6, 2, requires_grad=True)
    for net, out in (
        (read := encoder(shape, 4, 3), read(inputs, classes)),
        (write := decoder(shape, 4, 2), write(classes, latent)),
    ):
        (out * torch.randn_like(out)).sum().backward()
        for name, parameter in net.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name
    for given in (inputs, classes, latent):
        assert given.grad is not None
        assert given.grad.flatten(1).any(1).all()


def test_the_shape_decides() -> None:
    assert isinstance(encoder((1, 4, 4), 2, 3), ImageEncoder)
    assert isinstance(encoder((7,), 2, 3), VectorEncoder)
    assert isinstance(decoder((1, 4, 4), 2, 3), ImageDecoder)
    made = decoder((7, 2), 2, 3)
    assert isinstance(made, VectorDecoder)
    assert made(torch.rand(5, 2), torch.rand(5, 3)).shape == (5, 7, 2)
