"""Fashion-MNIST with instance-dependent label noise, the protocol of Yao 2021 (Table 1): ResNet-18, Adam, batch 128.

    python benchmarks/fashion_idn.py --out results/fashion_idn.jsonl [--epochs 150] [--seeds 0 1] [--workers 7]

Needs Fashion-MNIST under the data root. As in the paper: the ImageNet stem, random crops and flips, a constant rate
of 1e-3, and the clean test accuracy as mean over the last ten epochs, without selection. Unlike it, a tenth of the
training images is held out for every method, so that 54,000 train. Co-teaching, MentorNet and CausalNL are told the
true noise rate, as in the paper ("oracle"), unless --estimate. All methods get the same labels: the noise follows from
rate and seed alone, and its fingerprint is in every record.

One JSON line a run is appended as it finishes; runs that are already there are skipped. Several worker processes share
one GPU, best under NVIDIA's MPS daemon; with --minutes no run is started that would probably end too late.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import torch
from runs import Key, add_arguments, machine, run_all

from truelabel.annotations import Annotations
from truelabel.corruption import InstanceDependent
from truelabel.data import Dataset, fashion_mnist
from truelabel.learners import Learner
from truelabel.methods import get_method, learn
from truelabel.networks import resnet18
from truelabel.training import Engine, Job, TrainingConfig, clean_probs

ORACLE = ("causal-nl", "co-teaching", "mentornet")
OPTIONS: dict[str, dict[str, Any]] = {
    "forward": {"warm_up": 10},
    "reweight": {"warm_up": 10},
    "t-revision": {"warm_up": 10, "revision_epochs": 10},
}
# Network-epochs of a training of one epoch, about: what takes longest starts first.
COST = {
    "causal-nl": 3.5,
    "t-revision": 2.2,
    "co-teaching": 2.0,
    "decoupling": 2.0,
    "forward": 1.2,
    "reweight": 1.2,
    "mentornet": 1.0,
    "mixup": 1.0,
    "cross-entropy": 1.0,
}


@cache
def images(split: Literal["train", "test"], examples: int) -> Dataset:
    return fashion_mnist(split).take(np.arange(examples))


@cache
def noisy(rate: float, seed: int, examples: int) -> tuple[Annotations, float, str]:
    """The labels of a table's column, the share of them that is wrong, and a fingerprint."""
    data = images("train", examples)
    generator = torch.Generator().manual_seed(seed)
    annotations = InstanceDependent(rate, 10)(torch.from_numpy(data.labels), torch.from_numpy(data.inputs), generator)
    said = annotations.label
    return annotations, float((said != data.labels).mean()), hashlib.sha256(said.tobytes()).hexdigest()[:12]


def run(key: Key, device: str, held_out: int) -> dict[str, Any]:
    """Train one method on one set of noisy labels; the record of it."""
    torch.set_num_threads(1)
    engine = Engine(device=device)  # type: ignore[arg-type]
    where = engine.fabric("32-true").device
    data, test = images("train", key["examples"]), images("test", held_out)
    annotations, wrong, fingerprint = noisy(key["rate"], key["seed"], key["examples"])
    inputs, truth = torch.from_numpy(test.inputs).to(where), torch.from_numpy(test.labels)

    def evaluate(learner: Learner) -> dict[str, float]:
        right = clean_probs(learner, inputs, chunk=5000).argmax(-1) == truth
        return {"test_accuracy": float(right.float().mean())}

    config = TrainingConfig(
        epochs=key["epochs"], batch_size=128, learning_rate=1e-3, select="last", augment=("crop", "flip")
    )
    job = Job(
        data.inputs,
        annotations,
        lambda shape: resnet18(shape[0], stem="imagenet").to(memory_format=torch.channels_last),  # type: ignore[call-overload]
        config,
        key["seed"],
        evaluate=evaluate,
        capture=where.type == "cuda",
    )
    began = time.perf_counter()
    learned = learn(get_method(key["method"]).with_options(**key["options"]), job, engine)
    rows = learned.history.rows
    return {
        **key,
        "test_accuracy": learned.history.mean_of_last("test_accuracy", 10),
        "noisy_validation_accuracy": learned.history.mean_of_last("valid_accuracy", 10),
        "test_curve": [round(row["test_accuracy"], 4) for row in rows],
        "validation_curve": [round(row["valid_accuracy"], 4) for row in rows],
        "notes": dict(learned.notes),
        "oracle": "noise_rate" in key["options"],
        "wrong_labels": round(wrong, 4),
        "labels": fingerprint,
        "seconds": round(time.perf_counter() - began, 1),
        "seconds_an_epoch": round(float(np.median([row["seconds"] for row in rows])), 3),
        **machine(),
    }


def table(arguments: argparse.Namespace) -> list[Key]:
    """What is to be run, the longest first."""
    keys: list[Key] = []
    for seed in arguments.seeds:
        for rate in arguments.rates:
            for method in arguments.methods:
                options = {**OPTIONS.get(method, {}), **json.loads(arguments.options)}
                if method in ORACLE and not arguments.estimate:
                    options["noise_rate"] = rate
                key = {"rate": rate, "method": method, "options": options, "seed": seed}
                keys.append({**key, "epochs": arguments.epochs, "examples": arguments.examples})
    return sorted(keys, key=lambda key: -COST[key["method"]])


def summary(lines: list[dict[str, Any]]) -> None:
    """Mean and standard deviation over seeds."""
    groups: dict[str, list[float]] = {}
    for line in lines:
        name = f"IDN-{100 * line['rate']:.0f} {line['method']:14} {json.dumps(line['options'])} {line['epochs']} epochs"
        groups.setdefault(name, []).append(100 * line["test_accuracy"])
    for name, values in sorted(groups.items()):
        spread = np.std(values, ddof=1) if len(values) > 1 else float("nan")
        print(f"{name}: {np.mean(values):.2f} ± {spread:.2f} ({len(values)} seeds)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.2, 0.45])
    parser.add_argument("--methods", nargs="+", default=list(COST))
    parser.add_argument("--options", default="{}", help="further options of the methods, as JSON")
    parser.add_argument("--estimate", action="store_true", help="do not tell the noise rate")
    parser.add_argument("--examples", type=int, default=60_000)
    parser.add_argument("--test", type=int, default=10_000)
    told = parser.parse_args()
    work = partial(run, device=told.device, held_out=told.test)
    summary(run_all(table(told), work, lambda key: COST[key["method"]] * key["epochs"], told, show))


def show(line: Key) -> str:
    score = f"{line['test_accuracy']:.4f}, {line['seconds_an_epoch']} s an epoch"
    return f"{line['rate']} {line['method']:14} {line['options']} seed {line['seed']}: {score}"


if __name__ == "__main__":
    main()
