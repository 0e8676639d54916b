"""Wrong labels found beside cleanlab's ``find_label_issues`` on the same probabilities, and time and memory.

    pip install -c requirements.lock cleanlab==2.9.0    # only this benchmark needs it
    TRUELABEL_DATA=... python benchmarks/label_errors.py [--examples 20000] [--cache FOLDER] [--skip-size]

Needs MNIST, CIFAR-10 and CIFAR-10N under the data root. Probabilities come from a LeNet-5 that is trained with cross
entropy on the wrong labels, by 5-fold cross-validation, on the first images of the training set; they are kept in the
cache, so that only the first run trains. Average precision is that of the ranking of all labels by their score, wrong
labels being what is looked for: that of cleanlab's is ``get_label_quality_scores``, by its default self-confidence and
by its normalised margin, which rank what ``find_label_issues`` returns. Precision and recall are those of the labels
that each calls wrong.

Times are those of a million examples of a hundred classes in float32, in processes of their own with one thread of
arithmetic (cleanlab's default starts processes besides, whose time counts), and memory is what the resident peak
(``ru_maxrss``) of the calling process grows by; the probabilities lie ready before it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDS = 5
CASES = ("MNIST, 10 % instance-dependent", "MNIST, 20 % instance-dependent", "CIFAR-10N aggregate", "CIFAR-10N worst")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
Array = NDArray[Any]


def labelled(case: str, examples: int) -> tuple[Array, Array, Array]:
    """Images, labels given and true labels."""
    import torch

    from truelabel import corruption, data

    if case.startswith("MNIST"):
        train = data.mnist("train").take(np.arange(examples))
        noise = corruption.InstanceDependent(int(case.split()[1]) / 100, classes=10)
        inputs, truth = torch.from_numpy(train.inputs), torch.from_numpy(train.labels)
        said = noise(truth, inputs, torch.Generator().manual_seed(0))
        return train.inputs, said.label.astype(np.int64), train.labels
    train = data.cifar10("train")
    which: Any = case.split()[-1]
    labels = data.cifar10n(which, images=train)
    return train.inputs[:examples], labels[:examples], train.labels[:examples]


def out_of_sample(inputs: Array, labels: Array, epochs: int) -> Array:
    """Probabilities ``(N, K)``, each by a network that has not seen the example."""
    from sklearn.model_selection import StratifiedKFold

    from truelabel import TrueLabelClassifier

    probs = np.empty((len(labels), int(labels.max()) + 1), np.float32)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(inputs, labels):
        network = TrueLabelClassifier(network="lenet-5", epochs=epochs, device="cpu", random_state=0)
        probs[test] = network.fit(inputs[train], labels[train]).predict_proba(inputs[test])
    return probs


def material(case: str, examples: int, cache: Path) -> tuple[Array, Array, Array]:
    """Probabilities, labels given and true labels of a case; from the cache if they are there."""
    path = cache / f"{case.replace(' ', '-').replace(',', '').replace('%', 'percent').lower()}-{examples}.npz"
    if not path.exists():
        inputs, labels, truth = labelled(case, examples)
        probs = out_of_sample(inputs, labels, 5 if case.startswith("MNIST") else 15)
        cache.mkdir(parents=True, exist_ok=True)
        np.savez(path, probs=probs, labels=labels, truth=truth)
    with np.load(path) as kept:
        return kept["probs"], kept["labels"], kept["truth"]


def ours(probs: Array, labels: Array) -> dict[str, tuple[Array, Array]]:
    """Score of being wrong and the labels called wrong, by name of the rule."""
    from truelabel import find_label_errors

    found = find_label_errors(probs, labels)
    return {"truelabel": (1 - found.quality, found.errors)}


def theirs(probs: Array, labels: Array) -> dict[str, tuple[Array, Array]]:
    issues = importlib.import_module("cleanlab.filter").find_label_issues
    scores = importlib.import_module("cleanlab.rank").get_label_quality_scores
    called = issues(labels, probs)
    ways = {"self_confidence": "cleanlab", "normalized_margin": "cleanlab, margin"}
    return {name: (1 - scores(labels, probs, method=way), called) for way, name in ways.items()}


def precision_table(examples: int, cache: Path) -> None:
    from sklearn.metrics import average_precision_score

    print("| labels | wrong | network right | rule | average precision | called wrong | precision | recall |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        probs, labels, truth = material(case, examples, cache)
        wrong, right = labels != truth, (probs.argmax(-1) == truth).mean()
        for rule, (score, called) in (ours(probs, labels) | theirs(probs, labels)).items():
            hits = (called & wrong).sum()
            print(
                f"| {case} | {wrong.mean():.1%} | {right:.1%} | {rule} | {average_precision_score(wrong, score):.4f} | "
                f"{called.sum()} | {hits / max(1, called.sum()):.1%} | {hits / wrong.sum():.1%} |",
                flush=True,
            )


def large(examples: int, classes: int) -> tuple[Array, Array]:
    """Probabilities of many classes, most of them near their class, made without much memory."""
    rng = np.random.default_rng(0)
    probs = np.empty((examples, classes), np.float32)
    labels = rng.integers(0, classes, examples)
    for first in range(0, examples, 10_000):
        part = slice(first, first + 10_000)
        rows = rng.standard_gamma(0.1, (len(labels[part]), classes)).astype(np.float32) + 1e-6
        rows[np.arange(len(rows)), labels[part]] += rng.random(len(rows), dtype=np.float32) * 8
        probs[part] = rows / rows.sum(-1, keepdims=True)
    wrong = rng.random(examples) < 0.1
    labels[wrong] = rng.integers(0, classes, int(wrong.sum()))
    return probs, labels


def measure(who: str, examples: int, classes: int) -> None:
    """In a process of its own: print seconds of processor time and MiB of memory."""
    probs, labels = large(examples, classes)
    call: Callable[[Array, Array], Any]
    if who == "truelabel":
        from truelabel import find_label_errors

        call = find_label_errors
    else:
        issues = importlib.import_module("cleanlab.filter").find_label_issues

        def call(probs: Array, labels: Array) -> Any:
            return issues(labels, probs)

    call(probs[:1000].copy(), labels[:1000].copy())
    before, began, wall = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, processor_seconds(), time.perf_counter()
    call(probs, labels)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    times = {"processor seconds": processor_seconds() - began, "seconds": time.perf_counter() - wall}
    print(json.dumps({**times, "MiB": grown}))


def processor_seconds() -> float:
    """Of this process and those that it has started."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in usage)


def size_table(examples: int, classes: int, repeats: int) -> None:
    columns = ("processor seconds", "seconds", "MiB")
    print(f"\n| {examples} x {classes} | {' | '.join(columns)} |\n|---|---|---|---|")
    for who in ("truelabel", "cleanlab"):
        command = [sys.executable, __file__, "--measure", who, "--size", str(examples), str(classes)]
        runs = []
        for _ in range(repeats):
            done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        busy, seconds, grown = (float(np.median([run[key] for run in runs])) for key in columns)
        print(f"| {who} | {busy:.2f} | {seconds:.2f} | {grown:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--cache", type=Path, default=Path("/tmp/label_errors"))
    parser.add_argument("--train-only", action="store_true", help="fill the cache and stop")
    parser.add_argument("--skip-size", action="store_true")
    parser.add_argument("--size", type=int, nargs=2, default=(1_000_000, 100))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", choices=("truelabel", "cleanlab"))
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, *arguments.size)
        return
    if arguments.train_only:
        for case in CASES:
            material(case, arguments.examples, arguments.cache)
        return
    precision_table(arguments.examples, arguments.cache)
    if not arguments.skip_size:
        size_table(arguments.size[0], arguments.size[1], arguments.repeats)


if __name__ == "__main__":
    main()
