"""What a training step costs on a GPU: eager, recorded as a CUDA graph, compiled, and shared by several trainings.

    python benchmarks/captured_step.py [--out FILE] [--sharing 8 15] [--compile] [--profile]

The steps are those of ``truelabel.training.fit`` with cross entropy on random pictures: batch by index, augmentation
for the wide network, forward, loss, backward, optimiser. An epoch is timed as its history tells it, without the first
two; nothing is held out, so no evaluation is in it. Sharing starts NVIDIA's MPS daemon if it is there, and counts
model-steps: the time of an epoch over its steps and over the trainings that ran meanwhile. ``--profile`` lists the
kernels of the recorded step, and times nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from truelabel.annotations import Annotations
from truelabel.learners import Learner
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, TrainingConfig, capture
from truelabel.training.capture import CapturedStep

LENET = TrainingConfig(batch_size=256, validation=0, select="last")
WIDE = TrainingConfig(
    batch_size=128,
    validation=0,
    select="last",
    optimizer="sgd",
    learning_rate=0.01,
    weight_decay=5e-4,
    precision="bf16-mixed",
    augment=("crop", "flip"),
)
PLAIN = replace(WIDE, optimizer="adam", learning_rate=1e-3, weight_decay=0, augment=())
UNTRIED = "captured, convolutions as cuDNN guesses"
BLOCKS_AT_ONCE = 32
"""Blocks that a multiprocessor takes at most: of Hopper, and of the A100."""
PATIENCE = 120.0
"""Seconds after which processes that share a GPU give up on each other."""

CASES: dict[str, tuple[str, tuple[int, ...], int, TrainingConfig]] = {
    "lenet-5, fp32, batch 256": ("lenet-5", (1, 28, 28), 45_000, LENET),
    "wrn-28-2, bf16, batch 128": ("wrn-28-2", (3, 32, 32), 45_000, WIDE),
    "resnet-18, bf16, batch 128": ("resnet-18", (3, 32, 32), 50_000, PLAIN),
    "collier-cnn, bf16, batch 128": ("collier-cnn", (1, 28, 28), 50_000, PLAIN),
    "wrn-28-2, fp32, batch 128": ("wrn-28-2", (3, 32, 32), 45_000, replace(WIDE, precision="32-true")),
}


def job(case: str, epochs: int, share: float = 1.0) -> Job:
    """Random bytes of the shape of a data set, and random labels."""
    network, shape, examples, config = CASES[case]
    n = int(share * examples)
    rng = np.random.default_rng(0)
    said = Annotations.from_matrix(rng.integers(0, 10, (n, 1)), classes=10)
    return Job(rng.integers(0, 256, (n, *shape), dtype=np.uint8), said, network, replace(config, epochs=epochs))


def seconds(told: Job, method: str = "cross-entropy") -> tuple[float, int]:
    """Of an epoch, the median of those after the second; and its steps."""
    history = learn(get_method(method), told, Engine()).history
    return statistics.median(row["seconds"] for row in history.rows[2:]), steps_of(told)


def steps_of(told: Job) -> int:
    return len(told.inputs) // told.config.batch_size


def shared(case: str, epochs: int, share: float, method: str, trainings: int) -> float:
    """Milliseconds a model-step when so many trainings run at once."""
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(trainings, timeout=PATIENCE), context.Queue()
    # Each makes its own data: whoever is sent more than fits in a pipe holds up the start of the next.
    given = case, epochs, share, method, barrier, queue
    workers = [context.Process(target=_share, args=given, daemon=True) for _ in range(trainings)]
    for worker in workers:
        worker.start()
    told: list[tuple[float, int] | str] = [queue.get(timeout=PATIENCE) for _ in workers]
    for worker in workers:
        worker.join()
    wrong = [each for each in told if isinstance(each, str)]
    if wrong:
        raise SystemExit(f"{len(wrong)} of {trainings} trainings failed: {wrong[0]}")
    spent, steps = zip(*told, strict=True)
    return float(1000 * statistics.median(spent) / steps[0] / trainings)


def _share(case: str, epochs: int, share: float, method: str, barrier: Any, queue: Any) -> None:
    torch.set_num_threads(1)
    met: list[int] = []

    def meet(learner: Learner) -> Mapping[str, float]:
        if not met:
            met.append(barrier.wait())
        return {}

    try:
        told = replace(job(case, epochs, share), capture=True, evaluate=meet)
        history = learn(get_method(method), told, Engine()).history
        queue.put((statistics.median(row["seconds"] for row in history.rows[2:-2]), steps_of(told)))
    except Exception as error:
        barrier.abort()
        queue.put(f"{type(error).__name__}: {error}")


def profile(told: Job, method: str, kernels: int = 40) -> None:
    """Kernels of a recorded step, by how long they hold how much of the GPU."""
    record = CapturedStep._record

    def recorded(step: CapturedStep, index: torch.Tensor) -> None:
        record(step, index)
        raise _RecordedError(step)

    with mock.patch.object(CapturedStep, "_record", recorded):
        try:
            learn(get_method(method), replace(told, capture=True), Engine())
        except _RecordedError as error:
            _profile(error.step, method, kernels)


class _RecordedError(Exception):
    """Carries a recorded step out of its training, whose tensors its traceback keeps alive."""

    def __init__(self, step: CapturedStep) -> None:
        super().__init__()
        self.step = step


def _profile(step: CapturedStep, method: str, most: int, replays: int = 5) -> None:
    graph = step.graph
    if graph is None:
        raise SystemExit("the step was not recorded")
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as seen:
        for _ in range(replays):
            graph.replay()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        seen.export_chrome_trace(f"{folder}/trace.json")
        events = json.loads(Path(folder, "trace.json").read_text())["traceEvents"]
    gpu = torch.cuda.get_device_properties()
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            told = event["args"]
            shape = f"{told.get('grid', '')} x {told.get('block', '')}"
            found.setdefault((event["name"], shape), []).append((event["dur"], held(told, gpu)))
    spent = sum(duration for each in found.values() for duration, _ in each) / replays
    filled = sum(duration * share for each in found.values() for duration, share in each) / replays
    count = sum(map(len, found.values())) / replays
    print(
        f"{method}: {count:.0f} kernels and copies a step, {spent:.0f} µs, {filled:.0f} µs by what they hold of the GPU"
    )
    for (name, shape), each in sorted(found.items(), key=lambda pair: -sum(d * share for d, share in pair[1]))[:most]:
        mean = sum(duration for duration, _ in each) / len(each)
        print(f"  {len(each) / replays:4.1f} x {mean:6.1f} µs, {each[0][1]:4.0%} held, {shape}  {name[:120]}")


def held(told: Mapping[str, Any], gpu: Any) -> float:
    """How much of the GPU nobody else can have while a kernel runs, by its threads, registers or shared memory.

    The sum of this share of durations is what a step costs at least when many share the GPU, as long as the kernels
    themselves do not get slower.
    """
    if not told.get("grid"):
        return 0.0  # a copy
    warps = -(-math.prod(told["block"]) // 32)
    registers = 32 * warps * max(8, -(-told.get("registers per thread", 0) // 8) * 8)
    shared = told.get("shared memory", 0) + 1024
    at_once = min(
        BLOCKS_AT_ONCE,
        gpu.max_threads_per_multi_processor // (32 * warps),
        gpu.regs_per_multiprocessor // registers,
        gpu.shared_memory_per_multiprocessor // shared,
    )
    fitting: int = max(1, at_once * gpu.multi_processor_count)
    blocks: int = math.prod(told["grid"])
    return min(1.0, blocks / fitting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--method", default="cross-entropy")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--share", type=float, default=1.0, help="of the examples; less for a quick look")
    parser.add_argument("--sharing", type=int, nargs="*", default=[], help="trainings at once, each in turn")
    parser.add_argument("--compile", action="store_true", help="with torch.compile too")
    parser.add_argument("--profile", action="store_true")
    told = parser.parse_args()
    lines: list[dict[str, Any]] = []

    def note(case: str, kind: str, ms: float, steps: int) -> None:
        line = {"case": case, "method": told.method, "kind": kind, "ms_a_step": round(ms, 4), "steps": steps}
        lines.append({**line, "epoch_s": round(ms * steps / 1000, 3), "torch": torch.__version__})
        print(
            f"{case}, {told.method}, {kind}: {ms:.3f} ms a model-step, {ms * steps / 1000:.2f} s an epoch", flush=True
        )

    if told.profile:
        for case in told.cases:
            profile(job(case, 1, 0.1), told.method)
        return
    if told.sharing:  # first, for processes under the daemon wait for one that uses the GPU without it
        daemon = shutil.which("nvidia-cuda-mps-control")
        if daemon:
            subprocess.run([daemon, "-d"], check=False, capture_output=True)
        case = told.cases[0]
        for trainings in told.sharing:
            ms = shared(case, 3 * told.epochs, told.share, told.method, trainings)
            note(case, f"captured, {trainings} at once", ms, steps_of(job(case, 1, told.share)))
        if daemon:
            subprocess.run([daemon], input="quit\n", text=True, check=False)
    for case in told.cases:
        kinds = {"eager": (False, False), "captured": (True, False), UNTRIED: (True, False)}
        if told.compile:
            kinds["captured and compiled"] = (True, True)
        for kind, (captured, compiled) in kinds.items():
            given = replace(job(case, told.epochs, told.share), capture=captured, compiled=compiled)
            with mock.patch.object(capture, "fastest_convolutions", nullcontext) if kind == UNTRIED else nullcontext():
                spent, steps = seconds(given, told.method)
            note(case, kind, 1000 * spent / steps, steps)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    lines = [{**line, "device": device} for line in lines]
    if told.out:
        told.out.parent.mkdir(parents=True, exist_ok=True)
        with told.out.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
