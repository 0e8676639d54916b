"""MNIST with five simulated annotators, the protocol of Tanno 2019 (Fig. 3, 6, 9, 10, 11).

    python benchmarks/mnist_annotators.py --out results/mnist_annotators.jsonl [--epochs 60] [--workers 14]
    python benchmarks/mnist_annotators.py --out results/mnist_annotators.jsonl --plot docs/images

Needs MNIST under the data root. As in the paper: its network, Adam 1e-3, trace weight 0.01, a tenth of the training
images held out with their noisy labels; five pairwise flippers or five hammer-spammers with skills p + N(0, 0.01); all
label every image, or one, drawn at random, labels each. Unlike it: batch 256 and 60 epochs instead of 50 and 200.
Flippers' targets are redrawn until the mean confusion is dominated by its diagonal, column by column; at p = 0.2 that
is impossible. "broken" flippers are redrawn until it is not. All methods of a column get the same labels.

A record has accuracy on the true test labels and confusion error in every epoch, and of the epoch that the held-out
noisy labels choose ("chosen") and the last. The methods that fuse first train on the majority vote, as in the paper.
One JSON line a run is appended as it finishes; runs that are already there are skipped.
"""

from __future__ import annotations

import argparse
import time
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from runs import Key, add_arguments, machine, records, run_all

from truelabel.annotations import Annotations
from truelabel.corruption import ConfusedAnnotators, hammer_spammers, pairwise_flippers, perturbed_skills
from truelabel.data import Dataset, mnist
from truelabel.learners import Learner
from truelabel.methods import get_method, learn
from truelabel.metrics import confusion_error
from truelabel.networks import build
from truelabel.training import Engine, Job, TrainingConfig, clean_probs

# What is shown -> method, its options, network-epochs of a training of one epoch.
METHODS: dict[str, tuple[str, dict[str, Any], float]] = {
    "annotator confusion": ("annotator-confusion", {}, 1.2),
    "without trace": ("annotator-confusion", {"trace": 0.0}, 1.2),
    "oracle": ("oracle-confusion", {}, 1.2),
    "generalized EM": ("generalized-em", {}, 1.0),
    "MBEM": ("mbem", {}, 1.0),
    "single confusion": ("majority-vote", {"base": "single-confusion"}, 1.1),
    "weighted doctor net": ("weighted-doctor-net", {}, 1.5),
    "soft bootstrap": ("majority-vote", {"base": "soft-bootstrap"}, 1.0),
    "vanilla": ("majority-vote", {}, 1.0),
}
ANNOTATORS = 5
LEVELS = (0.2, 0.3, 0.35, 0.5, 0.7)


@cache
def images(split: Literal["train", "test"], examples: int) -> Dataset:
    return mnist(split).take(np.arange(examples))


@cache
def crowd(group: str, level: float, dense: bool, seed: int, examples: int) -> tuple[Annotations, torch.Tensor]:
    """What five annotators said, and their true confusion."""
    generator = torch.Generator().manual_seed(seed)
    skills = perturbed_skills(level, ANNOTATORS, generator)
    if group == "hammer-spammers":
        confusion = hammer_spammers(10, skills)
    else:
        dominant = group == "flippers" and level > 0.25
        confusion = pairwise_flippers(10, skills, generator, dominant=dominant)
    annotators = ConfusedAnnotators(confusion, None if dense else (1, 1))
    said = annotators(torch.from_numpy(images("train", examples).labels), None, generator)
    return said, annotators.confusion


def network(shape: tuple[int, ...]) -> torch.nn.Module:
    """The network of the paper; a GPU convolves fastest with channels last."""
    return build("tanno-cnn", shape).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def run(key: Key, device: str) -> Key:
    """Train one method on the labels of one crowd; the record of it."""
    torch.set_num_threads(1)
    engine = Engine(device=device)  # type: ignore[arg-type]
    where = engine.fabric("32-true").device
    data, test = images("train", key["examples"]), images("test", key["test"])
    said, truth = crowd(key["group"], key["level"], key["dense"], key["seed"], key["examples"])
    inputs, labels = torch.from_numpy(test.inputs).to(where), torch.from_numpy(test.labels).to(where)

    def evaluate(learner: Learner) -> dict[str, float]:
        right = clean_probs(learner, inputs, chunk=5000).argmax(-1) == labels.cpu()
        row = {"test_accuracy": float(right.float().mean())}
        with torch.no_grad():
            learned = learner.annotator_confusion()
        if learned is not None and len(learned) == ANNOTATORS:
            row["confusion_error"] = confusion_error(learned.cpu(), truth)
        return row

    name, options, _ = METHODS[key["method"]]
    method = get_method(name).with_options(**options)
    if name == "oracle-confusion":
        method = method.with_options(confusion=truth)
    rate = 1e-3
    config = TrainingConfig(
        epochs=key["epochs"],
        batch_size=256,
        learning_rate=rate,
        noise_learning_rate=rate,
        precision=key["precision"],
    )
    job = Job(data.inputs, said, network, config, key["seed"], evaluate=evaluate, capture=where.type == "cuda")
    began = time.perf_counter()
    learned = learn(method, job, engine)
    rows, best = learned.history.rows, learned.history.best_epoch or 0
    line = {
        **key,
        "accuracy_chosen": rows[best]["test_accuracy"],
        "accuracy_last": rows[-1]["test_accuracy"],
        "accuracy_curve": [round(row["test_accuracy"], 4) for row in rows],
        "labels_right": round(float((said.label == data.labels[said.example]).mean()), 4),
        "seconds": round(time.perf_counter() - began, 1),
        **machine(),
    }
    if "confusion_error" in rows[-1]:
        line["error_chosen"], line["error_last"] = (rows[e]["confusion_error"] for e in (best, -1))
        line["error_curve"] = [round(row["confusion_error"], 5) for row in rows]
    elif learned.confusion is not None and name in ("generalized-em", "mbem"):
        line["error_chosen"] = line["error_last"] = confusion_error(learned.confusion, truth)
    return line


def table(told: argparse.Namespace) -> list[Key]:
    """What is to be run."""
    shared = {"epochs": told.epochs, "examples": told.examples, "test": told.test, "precision": told.precision}
    return [
        {"group": group, "level": level, "dense": labels == "dense", "method": method, "seed": seed, **shared}
        for seed in told.seeds
        for labels in told.labels
        for group in told.groups
        for level in told.levels
        for method in told.methods
    ]


def show(line: Key) -> str:
    error = f", error {100 * line['error_last']:.2f}e-2" if "error_last" in line else ""
    kind = "dense" if line["dense"] else "one label"
    return (
        f"{line['group']} {line['level']} {kind} {line['method']} seed {line['seed']}: "
        f"chosen {line['accuracy_chosen']:.4f}, last {line['accuracy_last']:.4f}{error}"
    )


def plot(lines: list[Key], folder: Path) -> None:
    """Accuracy and confusion error of the last epoch against the mean skill, as in the paper's figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for group in ("flippers", "hammer-spammers"):
        columns = {f"{group}, five labels an image": (group, True), f"{group}, one label an image": (group, False)}
        draw(lines, columns, list(METHODS), folder / f"mnist_{group}.png")
    columns = {f"{group}, one label an image": (group, False) for group in ("flippers", "hammer-spammers")}
    draw(lines, columns, ["annotator confusion", "without trace"], folder / "mnist_trace.png")


def draw(lines: list[Key], columns: dict[str, tuple[str, bool]], methods: list[str], path: Path) -> None:
    """One column of pictures for each group and kind of labels, a line for each method."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(columns), figsize=(11, 7.5), sharex=True, layout="constrained")
    for column, (title, (group, dense)) in enumerate(columns.items()):
        for number, name in enumerate(methods):
            chosen = [r for r in lines if (r["group"], r["dense"], r["method"], r["seed"]) == (group, dense, name, 0)]
            chosen.sort(key=lambda r: r["level"])
            for row, score in ((0, "accuracy_last"), (1, "error_last")):
                points = [(r["level"], 100 * r[score]) for r in chosen if r.get(score, 0) > 0]
                style = {"lw": 2.5, "zorder": 3} if number == 0 else {"lw": 1.2}
                if points:
                    axes[row][column].plot(*zip(*points, strict=True), marker="o", ms=4, label=name, **style)
        axes[0][column].set_title(title)
        axes[0][column].set_ylabel("test accuracy, %")
        axes[1][column].set_ylabel("confusion error, 1e-2")
        axes[1][column].set_yscale("log")
        axes[1][column].set_xlabel("mean skill p")
        for row in (0, 1):
            axes[row][column].grid(alpha=0.3)
    axes[0][-1].legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--groups", nargs="+", default=["flippers", "hammer-spammers"], help="or broken")
    parser.add_argument("--levels", type=float, nargs="+", default=list(LEVELS))
    parser.add_argument("--labels", nargs="+", default=["one", "dense"], help="labels an image: one, dense")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--precision", default="bf16-mixed")
    parser.add_argument("--examples", type=int, default=60_000)
    parser.add_argument("--test", type=int, default=10_000)
    parser.add_argument("--plot", type=Path, help="only draw what the file holds, into this folder")
    told = parser.parse_args()
    if told.plot:
        plot(records(told.out), told.plot)
        return
    work = partial(run, device=told.device)
    run_all(table(told), work, lambda key: METHODS[key["method"]][2] * key["epochs"], told, show)


if __name__ == "__main__":
    main()
