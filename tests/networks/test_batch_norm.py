from __future__ import annotations

import torch
from torch import nn

from truelabel.networks import NETWORKS, build
from truelabel.networks.batch_norm import BatchNorm2d


def test_it_is_torchs_but_for_the_count() -> None:
    ours, theirs = BatchNorm2d(3), nn.BatchNorm2d(3)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in (ours.weight, ours.bias):
            weight.normal_(generator=generator)
    theirs.load_state_dict(ours.state_dict())
    for _ in range(3):
        maps = 2 * torch.randn(4, 3, 5, 6, generator=generator) + 1
        assert torch.equal(ours(maps), theirs(maps))
    assert torch.equal(ours.eval()(maps), theirs.eval()(maps))
    differ = {name for name, value in ours.state_dict().items() if not torch.equal(value, theirs.state_dict()[name])}
    assert differ == {"num_batches_tracked"}
    assert theirs.running_mean is not None
    assert theirs.running_mean.abs().min() > 0


def test_several_processes_on_gpus_still_find_it() -> None:
    assert isinstance(nn.SyncBatchNorm.convert_sync_batchnorm(BatchNorm2d(3)), nn.SyncBatchNorm)


def test_no_network_of_ours_counts() -> None:
    for name in NETWORKS:
        if name not in ("mlp", "auto"):
            shape = (3, 32, 32) if name.startswith(("wrn", "resnet")) else (1, 32, 32)
            kinds = {type(module) for module in build(name, shape).modules() if isinstance(module, nn.BatchNorm2d)}
            assert kinds <= {BatchNorm2d}, name
