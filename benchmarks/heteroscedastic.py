"""Gaussian logits in one pass, beside the sampler that one would write by hand: time and peak memory.

    python benchmarks/heteroscedastic.py [--samples 1000] [--classes 10 100 1000] [--threads 1 2]

Log likelihood of one label for each of 128 examples, forward and backward, with independent classes (rank 0) and with a
covariance of rank 10. Each case runs in a process of its own, so that peaks of memory do not mix; what is imported and
the inputs are left out. The two samplers take turns, and the fastest of their turns counts.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from truelabel.noise.sampled_softmax import GaussianLatent, log_mean_softmax_at

BATCH = 128


def by_truelabel(latent: GaussianLatent, labels: Tensor, samples: int) -> Tensor:
    return log_mean_softmax_at(latent, labels, samples)


def by_hand(latent: GaussianLatent, labels: Tensor, samples: int) -> Tensor:
    location, scale, factors = latent
    logits = location + scale * torch.randn(samples, *location.shape)
    if factors.shape[-1]:
        logits = logits + torch.einsum("nkq,mnq->mnk", factors, torch.randn(samples, len(location), factors.shape[-1]))
    log_probs = logits.log_softmax(-1).logsumexp(0) - math.log(samples)
    return log_probs.gather(-1, labels)


CASES = {"truelabel": by_truelabel, "by hand": by_hand}


def run(case: str, classes: int, rank: int, samples: int, threads: int) -> dict[str, float]:
    """In this process: best of two steps in ms, what they added to the peak of memory in MiB, and the loss."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    parts = torch.randn(BATCH, classes), functional.softplus(torch.randn(BATCH, classes))
    latent = GaussianLatent(
        *(part.requires_grad_() for part in (*parts, 0.3 * torch.randn(BATCH, classes, rank))),
    )
    labels = torch.randint(classes, (BATCH, 1))

    def step(samples: int) -> float:
        loss = -CASES[case](latent, labels, samples).mean()
        loss.backward()
        return loss.item()

    step(2)
    before, times = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for _ in range(2):
        began = time.perf_counter()
        loss = step(samples)
        times.append(time.perf_counter() - began)
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"ms": 1e3 * min(times), "mib": added, "loss": loss}


def measure(turns: int, **options: Any) -> dict[str, dict[str, float]]:
    """Both cases in turns, each turn in a process of its own."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(turns):
        for case in CASES:
            command = [sys.executable, __file__, "--only", json.dumps({"case": case, **options})]
            result = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            best[case] = min(best.get(case, result), result, key=lambda values: values["ms"])
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(run(**arguments.only)))
        return
    print(f"{'threads':>7} {'K':>5} {'rank':>4}  {'ours ms':>8} {'hand ms':>8} {'faster':>7}  ", end="")
    print(f"{'ours MiB':>8} {'hand MiB':>8} {'smaller':>7}")
    for threads in arguments.threads:
        for classes in arguments.classes:
            for rank in (0, 10):
                best = measure(arguments.turns, classes=classes, rank=rank, samples=arguments.samples, threads=threads)
                ours, theirs = best["truelabel"], best["by hand"]
                assert math.isclose(ours["loss"], theirs["loss"], rel_tol=0.02), "both estimate the same loss"
                print(
                    f"{threads:7} {classes:5} {rank:4}  {ours['ms']:8.1f} {theirs['ms']:8.1f} "
                    f"{theirs['ms'] / ours['ms']:6.1f}x  {ours['mib']:8.1f} {theirs['mib']:8.1f} "
                    f"{theirs['mib'] / max(ours['mib'], 0.1):6.0f}x",
                    flush=True,
                )


if __name__ == "__main__":
    main()
