"""What Triton makes of our kernels for GPUs that need not be there: shared memory, registers, and what is spilled.

    python benchmarks/built_kernels.py [--capability 75 90 ...] [--json]

Kernels are compiled as the library launches them, for layers of the networks that the papers use, with a stand-in for
the driver that builds them and runs nothing. A kernel that cannot be built, or wants more than the GPU has, is named,
and the exit status is 1. Registers and spills are read with the tool that comes with Triton.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)

import torch
import triton
from torch import Tensor, nn
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

import truelabel

KIB = 1024
SHARED = {75: 64 * KIB, 80: 163 * KIB, 86: 99 * KIB, 89: 99 * KIB, 90: 227 * KIB, 100: 227 * KIB, 120: 99 * KIB}
"""Bytes that a program can have of a multiprocessor, by compute capability: Turing to Blackwell."""

READER = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
WHAT = ("shared", "registers", "spilled")
Launch = Callable[[], object]


@dataclass(frozen=True)
class Built:
    """A kernel with its constants, built.

    Attributes:
        kernel: module and name.
        shared: bytes of shared memory.
        registers: of a thread.
        spilled: bytes of a thread that did not fit into its registers.
    """

    kernel: str
    shared: int
    registers: int
    spilled: int


class BuildsOnly:
    """What Triton takes for the driver of a GPU.

    Args:
        capability: 90 for compute capability 9.0.
    """

    def __init__(self, capability: int) -> None:
        self.capability = capability
        self.built: list[Built] = []
        self.utils = self
        self.source: Any = None

    def launcher_cls(self, source: Any, metadata: Any) -> Launch:
        self.source = source
        return lambda *given, **more: None

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        function = self.source.fn.fn
        registers, spilled = _resources(binary)
        self.built.append(Built(f"{function.__module__}.{function.__name__}", shared, registers, spilled))
        return 1, 1, registers, spilled, 1024

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": SHARED[self.capability], "multiprocessor_count": 64, "warpSize": 32}

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return self.capability  # by whose number Triton keeps what it has built

    def get_current_stream(self, device: int) -> int:
        return 0


def _resources(binary: bytes) -> tuple[int, int]:
    """Registers and bytes of the stack of the kernel in a binary for a GPU."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        told = subprocess.run([READER, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", told)
    if found is None:
        raise RuntimeError(f"{READER} did not tell registers: {told}")
    return int(found[1]), int(found[2])


def kernels() -> set[str]:
    """Module and name of all kernels of the library: what is launched on a grid."""
    found = set()
    for module in pkgutil.walk_packages(truelabel.__path__, "truelabel."):
        if "_kernel" in module.name.rpartition(".")[2]:
            there = importlib.import_module(module.name)
            text = Path(str(there.__file__)).read_text()
            # What the others call is part of them.
            jitted = [name for name, value in vars(there).items() if isinstance(value, triton.JITFunction)]
            inner = {name for name in jitted if re.search(rf"(?<!def )\b{name}\(", text)}
            found |= {f"{module.name}.{name}" for name in jitted if name not in inner}
    return found


def launches() -> Iterator[tuple[str, Launch]]:
    """Everything that launches kernels, with a name, on tensors of a CPU."""
    yield from _convolutions()
    yield from _norms()
    yield from _samples()
    yield "Adam", partial(_optimise, "KernelAdam")
    yield "AdamW", partial(_optimise, "KernelAdamW")
    yield "tempered softmax of 10 classes", partial(_tempered, 10)
    yield "tempered softmax of 100 classes", partial(_tempered, 100)
    yield "trial", _double


def _convolutions() -> Iterator[tuple[str, Launch]]:
    from truelabel.networks import conv_stack

    def train(shape: tuple[int, ...], stages: list[tuple[int, int, int]]) -> None:
        made, channels = [], shape[1]
        for maps, size, pool in stages:
            weight = torch.randn(maps, channels, size, size, requires_grad=True)
            made.append(conv_stack.Stage(weight, torch.randn(maps, requires_grad=True), pool))
            channels = maps
        conv_stack._fused(torch.randn(shape, requires_grad=True), made).sum().backward()

    lenet = [(6, 5, 2), (16, 5, 2), (120, 5, 1)]
    yield "LeNet-5 on 28 x 28", partial(train, (256, 1, 28, 28), lenet)
    yield "LeNet-5 on 3 x 32 x 32", partial(train, (128, 3, 32, 32), lenet)
    yield "convolutions with many maps", partial(train, (2, 3, 7, 11), [(40, 3, 2), (50, 5, 1), (7, 3, 1)])


def _norms() -> Iterator[tuple[str, Launch]]:
    from truelabel.networks import group_norm, norm_relu
    from truelabel.networks.batch_norm import BatchNorm2d

    def maps_of(shape: tuple[int, ...], kind: torch.dtype) -> Tensor:
        return torch.randn(shape).to(kind).contiguous(memory_format=torch.channels_last).requires_grad_()

    def batch(shape: tuple[int, ...], kind: torch.dtype, adds: bool) -> None:
        added = maps_of(shape, kind) if adds else None
        norm_relu._fused(BatchNorm2d(shape[1]), maps_of(shape, kind), added).sum().backward()

    def group(shape: tuple[int, ...], kind: torch.dtype, shifts: bool) -> None:
        shift = nn.Parameter(torch.zeros(shape[1])) if shifts else None
        norm = group_norm.LeakyGroupNorm(2, shape[1], slope=0.1, shift=shift)
        group_norm._fused(norm, maps_of(shape, kind)).sum().backward()

    for shape in ((128, 16, 32, 32), (128, 128, 8, 8), (8, 3, 64, 64)):
        for kind in (torch.float32, torch.bfloat16, torch.float16):
            for more in (False, True):
                name = f"of {' x '.join(map(str, shape))}, {str(kind).removeprefix('torch.')}"
                yield f"batch norm {name}", partial(batch, shape, kind, more)
                if shape[1] % 2 == 0:
                    yield f"group norm {name}", partial(group, shape, kind, more)


def _samples() -> Iterator[tuple[str, Launch]]:
    from truelabel.noise.sampled_softmax_kernel import label_sums

    def sum_up(classes: int, factors: int) -> None:
        loading = torch.randn(8, classes, 1 + factors)
        label_sums(loading, torch.rand(8, classes), torch.zeros(8, 1, dtype=torch.long), 1000)

    for classes, factors in ((2, 0), (10, 0), (10, 4)):
        yield f"sampled softmax, {classes} classes, {factors} factors", partial(sum_up, classes, factors)


def _optimise(kind: str) -> None:
    from truelabel.training import adam_kernel

    weights = [nn.Parameter(torch.randn(shape)) for shape in ((7,), (5000,), (120, 16, 5, 5))]
    optimizer = getattr(adam_kernel, kind)(weights, lr=1e-3)
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    optimizer.step()


def _tempered(classes: int) -> None:
    from truelabel.losses.tempered_kernel import heavy_shift

    heavy_shift(torch.rand(256, classes), 2.0, 5)


def _double() -> None:
    from truelabel.trial_kernel import doubled

    doubled(torch.ones(3))


def build(capability: int) -> tuple[list[Built], dict[str, str]]:
    """All kernels for a GPU, and why what failed did."""
    only = BuildsOnly(capability)
    driver.set_active(only)
    failed = {}
    for name, launch in launches():
        try:
            launch()
        except Exception as error:  # whatever it is, the others are to be built too
            failed[name] = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[-1]}"
    for missing in sorted(kernels() - {each.kernel for each in only.built}):
        failed[missing] = "nothing launched it"
    return only.built, failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--capability", type=int, nargs="+", default=[75, 80, 86, 90], choices=SHARED)
    parser.add_argument("--json", action="store_true")
    told = parser.parse_args()
    wrong = False
    for capability in told.capability:
        built, failed = build(capability)
        wrong |= bool(failed)
        if told.json:
            print(json.dumps({"capability": capability, "built": [asdict(each) for each in built], "failed": failed}))
            continue
        print(f"compute capability {capability / 10}: {len(built)} kernels built")
        by_name = defaultdict(list)
        for each in built:
            by_name[each.kernel.removeprefix("truelabel.")].append(each)
        for name, same in sorted(by_name.items()):
            shared, registers, spilled = (max(getattr(each, what) for each in same) for what in WHAT)
            print(f"  {name}, {len(same)}: up to {shared:,} B shared, {registers} registers, {spilled} B spilled")
        for name, why in failed.items():
            print(f"  FAILED {name}: {why}")
    sys.exit(int(wrong))


if __name__ == "__main__":
    main()
