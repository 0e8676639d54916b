from __future__ import annotations

import pytest
import torch
from torch import nn

from truelabel.networks.group_norm import LeakyGroupNorm, _is_fused


def test_on_a_cpu_it_is_torchs() -> None:
    norm = LeakyGroupNorm(2, 4, slope=0.2)
    theirs = nn.Sequential(nn.GroupNorm(2, 4), nn.LeakyReLU(0.2))
    maps = torch.randn(3, 4, 5, 5)
    assert torch.equal(norm(maps), theirs(maps))
    assert norm.state_dict().keys() == theirs[0].state_dict().keys()
    shifted = LeakyGroupNorm(2, 4, slope=0.2, shift=torch.randn(4))
    assert shifted.shift is not None
    torch.testing.assert_close(shifted(maps), theirs(maps + shifted.shift[:, None, None]))
    assert {*shifted.state_dict()} == {"weight", "bias", "shift"}
    assert "slope=0.2" in repr(norm)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_kernels_are_for_channels_last_on_a_gpu() -> None:
    norm, maps = LeakyGroupNorm(2, 4).cuda(), torch.randn(2, 4, 3, 3, device="cuda")
    last = maps.contiguous(memory_format=torch.channels_last)
    assert _is_fused(norm, last)
    assert _is_fused(norm, last.bfloat16())
    assert not _is_fused(norm, maps)
    assert not _is_fused(norm.cpu(), last.cpu())
    with torch.autocast("cuda", torch.bfloat16):
        assert norm.cuda()(last.bfloat16()).dtype == torch.bfloat16
