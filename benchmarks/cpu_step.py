"""What a training step costs on a CPU: as it is, with memory kept between steps, and in bfloat16.

    python benchmarks/cpu_step.py [--out FILE] [--cases NAME ...] [--steps 12]

The steps are those of ``truelabel.training.fit`` with cross entropy on random pictures, on one thread. Every figure is
the CPU time of an epoch after the first, over its steps, in a process of its own; kinds take turns three times and the
least counts. What memory does depends on the C library (glibc), what bfloat16 does on the processor (AVX512-BF16, AMX).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from truelabel.annotations import Annotations
from truelabel.learners import Learner
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, TrainingConfig
from truelabel.training.memory import keep_freed_memory

CASES: dict[str, tuple[tuple[int, ...], int]] = {
    "lenet-5": ((1, 28, 28), 256),
    "tanno-cnn": ((3, 32, 32), 128),
    "wrn-28-2": ((3, 32, 32), 64),
    "resnet-18": ((3, 32, 32), 64),
    "unet": ((1, 128, 128), 8),
}
KINDS: dict[str, tuple[bool, Any]] = {
    "float32": (False, "32-true"),
    "float32, memory kept": (True, "32-true"),
    "bfloat16": (False, "bf16-mixed"),
    "bfloat16, memory kept": (True, "bf16-mixed"),
}


def job(network: str, steps: int) -> Job:
    """Random pictures with random labels, or masks for a U-Net."""
    shape, batch = CASES[network]
    rng = np.random.default_rng(0)
    n = steps * batch
    space = shape[1:] if network == "unet" else ()
    labels = rng.integers(0, 2 if space else 10, (n, 1, *space))
    said = Annotations.from_masks(labels, classes=2) if space else Annotations.from_matrix(labels, classes=10)
    config = TrainingConfig(epochs=3, batch_size=batch, validation=0, select="last")
    return Job(rng.random((n, *shape), dtype=np.float32), said, network, config)


def measure(network: str, kind: str, steps: int) -> float:
    """Milliseconds of the CPU a step."""
    kept, precision = KINDS[kind]
    torch.set_num_threads(1)
    if kept and not keep_freed_memory():
        raise SystemExit("the C library has no such setting: leave out what keeps memory")
    ends: list[float] = []

    def clock(learner: Learner) -> Mapping[str, float]:
        ends.append(time.process_time())
        return {}

    told = job(network, steps)
    told = replace(told, config=replace(told.config, precision=precision), evaluate=clock)
    learn(get_method("cross-entropy"), told, Engine(device="cpu"))
    return 1000 * (ends[-1] - ends[0]) / (len(ends) - 1) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--steps", type=int, default=12, help="of an epoch")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.one:
        print(measure(told.one[0], told.one[1], told.steps))
        return
    lines = []
    for case in told.cases:
        best = dict.fromkeys(told.kinds, float("inf"))
        for _ in range(told.turns):
            for kind in told.kinds:
                command = [sys.executable, __file__, "--one", case, kind, "--steps", str(told.steps)]
                ran = subprocess.run(command, check=True, capture_output=True, text=True)
                best[kind] = min(best[kind], float(ran.stdout))
        base = best[told.kinds[0]]
        print(f"{case}: " + "; ".join(f"{kind} {ms:.1f} ms, {base / ms:.2f}x" for kind, ms in best.items()), flush=True)
        lines += [{"case": case, "kind": kind, "ms_a_step": round(ms, 2)} for kind, ms in best.items()]
    if told.out:
        told.out.parent.mkdir(parents=True, exist_ok=True)
        with told.out.open("a") as file:
            file.writelines(json.dumps({**line, "torch": torch.__version__}) + "\n" for line in lines)


if __name__ == "__main__":
    main()
