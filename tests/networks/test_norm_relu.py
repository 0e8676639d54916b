from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from truelabel.networks.batch_norm import BatchNorm2d
from truelabel.networks.norm_relu import is_fused, norm_relu


def test_on_a_cpu_it_is_torchs() -> None:
    ours, theirs = BatchNorm2d(3), nn.BatchNorm2d(3)
    maps, added = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5)
    assert torch.equal(norm_relu(ours, maps), theirs(maps).relu())
    assert torch.equal(norm_relu(ours, maps, added), (theirs(maps) + added).relu())
    assert torch.equal(norm_relu(ours.eval(), maps), theirs.eval()(maps).relu())


def test_what_several_processes_share_keeps_its_relu() -> None:
    shared = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(BatchNorm2d(3))).eval()[0]
    assert isinstance(shared, nn.SyncBatchNorm)
    assert norm_relu(shared, torch.randn(2, 3, 4, 4)).min() == 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_kernels_are_for_training_with_channels_last_on_a_gpu() -> None:
    norm, maps = BatchNorm2d(4).cuda(), torch.randn(2, 4, 3, 3, device="cuda")
    last = maps.contiguous(memory_format=torch.channels_last)
    assert is_fused(norm, last)
    assert is_fused(norm, last, last)
    assert not is_fused(norm, maps)
    assert not is_fused(norm, last, maps)
    assert not is_fused(norm, last, last.bfloat16())
    assert not is_fused(norm.eval(), last)
    handle = norm.train().register_forward_hook(lambda *given: None)
    assert not is_fused(norm, last)
    handle.remove()
    assert is_fused(norm, last)
    assert not is_fused(norm.cpu(), maps.cpu())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_block_under_autocast_learns_as_torchs_would() -> None:
    torch.manual_seed(0)
    norm, conv = BatchNorm2d(16).cuda(), nn.Conv2d(16, 16, 3, padding=1).cuda()
    maps = torch.randn(8, 16, 8, 8, device="cuda").contiguous(memory_format=torch.channels_last)
    gradients = []
    for last in (True, False):
        inputs = maps if last else maps.contiguous()
        norm.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            hidden = conv(inputs)
            assert is_fused(norm, hidden) == last
            out = norm_relu(norm, hidden, hidden)
        functional.mse_loss(out.float(), maps).backward()
        assert norm.weight.grad is not None
        gradients.append(norm.weight.grad.clone())
    assert (gradients[0] - gradients[1]).norm() < 2e-2 * gradients[1].norm()
