"""Loss of pixelwise confusion, beside the published loop and einsum: time, peak memory and gradients.

    python benchmarks/pixelwise.py [--threads 1] [--turns 3]

Negative log likelihood plus 0.01 times the trace, forward and backward, of eight images of 192 x 192 pixels, from what
the last convolution gives: K² maps for each reader. A tenth of the labels is missing. "published" is the way of the
released code of Zhang 2020 (a loop over readers, softplus, matrices brought to one, bmm), without its second softmax;
"einsum" takes all readers at once. Each case runs in a process of its own, so that peaks of memory do not mix; what is
imported and the inputs are left out. Times are of the CPU. The cases take turns, and the fastest turn counts. Gradients
are compared in float64 on four small images.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from truelabel.noise.instance_confusion import SaidAtPixels
from truelabel.noise.pixel_cells import FullPixelCells

TRACE = 0.01
SIZES = ((2, 4), (3, 4), (4, 5))
"""Classes and readers, as in the paper's experiments and in PEERS."""


def by_truelabel(raw: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """``raw (N, R, K², H, W)``, ``logits (N, H, W, K)``, ``labels (N, H, W, R)``."""
    classes = logits.shape[-1]
    pixels = FullPixelCells(classes)
    said = SaidAtPixels(logits.log_softmax(-1), pixels, raw.flatten(3))
    return mean_loss(said.at(labels), labels) + TRACE * said.traces().sum(1).mean()


def by_einsum(raw: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    n, readers, _, height, width = raw.shape
    classes = logits.shape[-1]
    positive = functional.softplus(raw.permute(0, 3, 4, 1, 2).reshape(n, height, width, readers, classes, classes))
    matrices = positive / positive.sum(-1, keepdim=True)
    mixed = torch.einsum("nhwk,nhwrkj->nhwrj", logits.softmax(-1), matrices).log()
    said = mixed.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    traces = matrices.diagonal(dim1=-2, dim2=-1).sum(-1).mean((1, 2))
    return mean_loss(said, labels) + TRACE * traces.sum(1).mean()


def by_published_loop(raw: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    n, readers, cells, height, width = raw.shape
    classes = logits.shape[-1]
    probs = logits.softmax(-1).reshape(n * height * width, classes, 1)
    loss = raw.new_zeros(())
    for reader in range(readers):
        matrices = functional.softplus(raw[:, reader]).view(n, cells, height * width).permute(0, 2, 1).contiguous()
        matrices = matrices.view(n * height * width, classes, classes)
        matrices = matrices / matrices.sum(-1, keepdim=True)
        mixed = torch.bmm(matrices.mT, probs).view(n, height * width, classes)
        mixed = mixed.permute(0, 2, 1).contiguous().view(n, classes, height, width)
        trace = torch.diagonal(matrices, dim1=-2, dim2=-1).sum(-1).mean()
        label = labels[..., reader]
        scores = functional.nll_loss(mixed.log(), label, ignore_index=-1, reduction="sum")
        loss = loss + scores / (n * height * width) + TRACE * trace
    return loss


def mean_loss(said: Tensor, labels: Tensor) -> Tensor:
    return -torch.where(labels >= 0, said, 0.0).sum(-1).mean()


CASES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "truelabel": by_truelabel,
    "published loop": by_published_loop,
    "einsum": by_einsum,
}


def inputs(classes: int, readers: int, images: int, size: int, kind: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    raw = torch.randn(images, readers, classes**2, size, size, dtype=kind).requires_grad_()
    logits = torch.randn(images, size, size, classes, dtype=kind).requires_grad_()
    labels = torch.randint(classes, (images, readers, size, size)).movedim(1, -1)
    return raw, logits, torch.where(torch.rand(labels.shape) < 0.1, -1, labels)


def run(case: str, classes: int, readers: int, threads: int) -> dict[str, float]:
    """In this process: best of four steps in ms, and what they added to the peak of memory in MiB."""
    torch.set_num_threads(threads)
    small = inputs(classes, readers, 1, 4, torch.float32)
    CASES[case](*small).backward()
    raw, logits, labels = inputs(classes, readers, 8, 192, torch.float32)
    before, times = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for _ in range(4):
        raw.grad = logits.grad = None
        began = time.process_time()
        CASES[case](raw, logits, labels).backward()
        times.append(time.process_time() - began)
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"ms": 1e3 * min(times), "mib": added, "gradient": raw.numel() * 4 / 2**20}


def largest_difference(case: str, classes: int, readers: int) -> float:
    """Of gradients in float64, from those of ours."""
    gradients: dict[str, tuple[Tensor, Tensor]] = {}
    for name in ("truelabel", case):
        raw, logits, labels = inputs(classes, readers, 4, 9, torch.float64)
        CASES[name](raw, logits, labels).backward()
        assert raw.grad is not None
        assert logits.grad is not None
        gradients[name] = raw.grad, logits.grad
    ours, theirs = gradients["truelabel"], gradients[case]
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(ours, theirs, strict=True))


def measure(turns: int, **options: Any) -> dict[str, dict[str, float]]:
    """All cases in turns, each turn in a process of its own."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(turns):
        for case in CASES:
            command = [sys.executable, __file__, "--only", json.dumps({"case": case, **options})]
            result = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            best[case] = min(best.get(case, result), result, key=lambda values: values["ms"])
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(run(**arguments.only)))
        return
    print(f"{'K':>2} {'R':>2} {'':>15} {'ms':>7} {'slower':>7} {'MiB':>7} {'larger':>7}  gradients differ by")
    for classes, readers in SIZES:
        best = measure(arguments.turns, classes=classes, readers=readers, threads=arguments.threads)
        ours = best["truelabel"]
        print(f"{classes:2} {readers:2} {'(gradient alone)':>15} {'':>14} {ours['gradient']:7.0f}")
        for case, values in best.items():
            print(
                f"{classes:2} {readers:2} {case:>15} {values['ms']:7.0f} {values['ms'] / ours['ms']:6.1f}x "
                f"{values['mib']:7.0f} {values['mib'] / ours['mib']:6.1f}x  "
                f"{largest_difference(case, classes, readers):.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
