"""One of several processes that fuse labels together: ``fuse_share.py FOLDER RANK WORLD``.

Reads ``labels.npy`` in the folder, fuses its share by every fusion, and writes what it finds to ``RANK.npz``. The
processes meet through a file in the folder, so that no port has to be free.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning_fabric.strategies.ddp import DDPStrategy

from truelabel import Annotations, fusion

FUSIONS = ("majority_vote", "dawid_skene", "one_coin", "glad", "mace")


def main(folder: Path, rank: int, world: int) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)}
    strategy = DDPStrategy(cluster_environment=TorchElasticEnvironment())
    fabric = Fabric(accelerator="cpu", devices=world, strategy=strategy)
    fabric.launch()
    everything = Annotations.from_matrix(np.load(folder / "labels.npy"), classes=3)
    # Shares of unequal size, consecutive and in order.
    bounds = np.linspace(0, 1, world + 1) ** 2 * len(everything.examples)
    share = everything.take(np.arange(round(bounds[rank]), round(bounds[rank + 1])))
    found = {}
    for name in FUSIONS:
        fused = getattr(fusion, name)(share, fabric=fabric)
        for field in ("posterior", "labels", "confusion", "prior", "history"):
            found[f"{name} {field}"] = np.asarray(getattr(fused, field))
    names = [f"{rank}-{r}" for r in range(len(share.annotators))]
    try:
        fusion.dawid_skene(Annotations.from_matrix(share.matrix(), classes=3, annotators=names), fabric=fabric)
    except ValueError as error:
        found["refused"] = np.array(str(error))
    np.savez(folder / f"{rank}.npz", **found)  # type: ignore[arg-type]
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
