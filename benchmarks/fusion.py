"""Fusion of tables of labels: time, memory and accuracy beside crowd-kit, on simulated and on real people.

    python benchmarks/fusion.py [--cases A B C] [--data FOLDER]    # crowd-kit 1.4.2 from PyPI must be installed
    python benchmarks/fusion.py --growth                           # a hundred thousand to a hundred million labels

CPU time of one thread. Each measurement runs in a process of its own, after a warm-up on a few labels; a time is the
median of several calls, and that of an iteration is (whole call - call of one iteration) / (iterations - 1), both from
data that lie ready: integer Annotations, a data frame with columns task, worker and label. Memory is the peak of
resident memory during the first call, less that before it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

K = 10
CASES = {"A": (10_000, 100, 10), "B": (100_000, 200, 10), "C": (100_000, 1_000, 5)}
"""Examples, annotators, labels an example."""

GLAD_CASE = (1_000, 50, 10)
GROWTH = (10**5, 10**6, 10**7, 10**8)
PEOPLE = {"rte": "truth.csv", "bluebird": "truth.csv", "sentiment": "train.csv", "labelme": "gold_train.csv"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Arrays = dict[str, NDArray[Any]]


def simulate(examples: int, annotators: int, each: int, seed: int = 0) -> Arrays:
    """Annotators of unequal skill, who also differ in what they say when they are wrong."""
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.3, 0.9, annotators)
    confusion = skill[:, None, None] * np.eye(K) + (1 - skill)[:, None, None] * rng.dirichlet(
        np.ones(K), (annotators, K)
    )
    truth = rng.integers(0, K, examples)
    example = np.repeat(np.arange(examples, dtype=np.int32), each)
    annotator = some_annotators(rng, examples, annotators, each)
    draw = rng.random((len(example), 1))
    label = (confusion.cumsum(-1)[annotator, truth[example]] < draw).sum(-1).clip(max=K - 1).astype(np.int16)
    return {"example": example, "annotator": annotator, "label": label, "truth": truth, "confusion": confusion}


def some_annotators(rng: np.random.Generator, examples: int, annotators: int, each: int) -> NDArray[np.int32]:
    chosen = rng.integers(0, annotators - each + 1, (examples, each), dtype=np.int32)
    chosen.sort(axis=1)
    chosen += np.arange(each, dtype=np.int32)
    return chosen.ravel()


def one_coin_labels(labels: int, annotators: int = 1_000, each: int = 10) -> tuple[Arrays, NDArray[np.int16]]:
    """Many labels, made piece by piece so that making them takes less memory than fusing them."""
    rng = np.random.default_rng(0)
    examples = labels // each
    truth = rng.integers(0, K, examples, dtype=np.int16)
    skill = rng.uniform(0.3, 0.9, annotators).astype(np.float32)
    annotator, label = some_annotators(rng, examples, annotators, each), np.empty(labels, np.int16)
    for first in range(0, examples, 10**6):
        piece = slice(first * each, min(first + 10**6, examples) * each)
        right = rng.random(piece.stop - piece.start, dtype=np.float32) < skill[annotator[piece]]
        guess = rng.integers(0, K, len(right), dtype=np.int16)
        label[piece] = np.where(right, np.repeat(truth[first : first + 10**6], each), guess)
    example = np.repeat(np.arange(examples, dtype=np.int32), each)
    return {"example": example, "annotator": annotator, "label": label}, truth


def as_annotations(arrays: Arrays, examples: int, annotators: int) -> Any:
    from truelabel import Annotations

    return Annotations(
        arrays["example"],
        arrays["annotator"],
        arrays["label"],
        np.arange(examples),
        np.arange(annotators),
        tuple(range(K)),
    )


def as_frame(arrays: Arrays) -> Any:
    import pandas as pd

    names = {"task": "example", "worker": "annotator", "label": "label"}
    return pd.DataFrame({name: arrays[column].astype(np.int64) for name, column in names.items()})


def ours(method: str, arrays: Arrays, **options: Any) -> Callable[[], Any]:
    from truelabel import fusion

    size = int(arrays["example"].max()) + 1, int(arrays["annotator"].max()) + 1
    data = as_annotations(arrays, *size)
    return lambda: getattr(fusion, method.replace("-", "_"))(data, **options)


def theirs(method: str, arrays: Arrays, **options: Any) -> Callable[[], Any]:
    from crowdkit import aggregation

    names = {"dawid-skene": "DawidSkene", "one-coin": "OneCoinDawidSkene", "glad": "GLAD", "mace": "MACE"}
    data = as_frame(arrays)
    return lambda: getattr(aggregation, names.get(method, "MajorityVote"))(**options).fit(data)


def few_iterations(peer: str, count: int) -> dict[str, Any]:
    return {"max_iterations": count} if peer == "truelabel" else {"n_iter": count}


def fixed_iterations(peer: str, method: str) -> dict[str, Any]:
    """MACE of crowd-kit has no other stopping rule than 50 iterations."""
    if method != "mace":
        return {}
    return {"restarts": 1, "tolerance": 0.0} if peer == "truelabel" else {"n_restarts": 1}


def measure(peer: str, method: str, path: Path, repeats: int) -> dict[str, Any]:
    """In this process: seconds, iterations, memory, accuracy and confusion error of one method on one case."""
    warnings.simplefilter("ignore")
    build = ours if peer == "truelabel" else theirs
    build(method, simulate(20, 5, 3), **fixed_iterations(peer, method))()
    with np.load(path) as stored:
        arrays = dict(stored)
    options = fixed_iterations(peer, method) | (few_iterations(peer, 50) if method == "mace" else {})
    call = build(method, arrays, **options)
    before = reset_peak()
    result = call()
    memory = (peak() - before) / 1024
    seconds = median_seconds(call, repeats)
    history = getattr(result, "history", getattr(result, "loss_history_", ()))
    iterations = 50 if (peer, method) == ("crowd-kit", "mace") else len(history)
    found = {"total": seconds, "iterations": iterations, "mib": memory, **score(result, arrays)}
    if iterations > 1:
        first = median_seconds(build(method, arrays, **(options | few_iterations(peer, 1))), repeats)
        found["iteration"] = (seconds - first) / (iterations - 1)
    return found


def median_seconds(call: Callable[[], Any], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return statistics.median(seconds)


def reset_peak() -> int:
    """Forget the peak of memory so far (Linux only); KiB in use now."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory_line("VmRSS")


def peak() -> int:
    return memory_line("VmHWM")


def memory_line(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def score(result: Any, arrays: Arrays) -> dict[str, float]:
    """Percent right, and the confusion error of Tanno 2019 where there is one."""
    from truelabel.metrics import confusion_error

    if hasattr(result, "posterior"):
        labels, confusion = result.labels, result.confusion
    else:
        labels = result.labels_.sort_index().to_numpy()
        confusion = their_confusion(result, arrays["confusion"].shape[0])
    found = {"accuracy": 100 * float((labels == arrays["truth"]).mean())}
    if confusion is not None and hasattr(result, "loss_history_") | bool(getattr(result, "history", ())):
        found["confusion_error"] = confusion_error(confusion, arrays["confusion"])
    return found


def their_confusion(result: Any, annotators: int) -> NDArray[np.float64] | None:
    errors = getattr(result, "errors_", None)
    if errors is None or len(errors.columns) != K:
        return None
    cells = np.zeros((annotators, K, K))
    frame = errors.reset_index()
    cells[frame["worker"], frame["label"]] = frame[sorted(errors.columns)].to_numpy()
    return cells.swapaxes(1, 2)


def apart(*arguments: str) -> dict[str, Any]:
    """Run this file in a process of its own, with one thread."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def side_by_side(case: str, size: tuple[int, int, int], methods: tuple[str, ...], folder: Path) -> None:
    path = folder / f"{case}.npz"
    np.savez(path, **simulate(*size))  # type: ignore[arg-type]
    print(f"\n{case}: {size[0]:,} examples x {size[1]:,} annotators x {size[2]} labels, K = {K}")
    for method in methods:
        results = {}
        for peer, repeats in (("truelabel", 7), ("crowd-kit", 3)):
            fewer = 1 if peer == "crowd-kit" and method in ("glad", "mace") else repeats
            results[peer] = apart("--measure", peer, method, str(path), str(fewer))
            print(f"  {method:13} {peer:10} {row(results[peer])}")
        print(f"  {method:13} {'ratio':10} {ratios(results['truelabel'], results['crowd-kit'])}")


def ratios(we: dict[str, Any], they: dict[str, Any]) -> str:
    each = f"{they['iteration'] / we['iteration']:.0f}x per iteration, " if "iteration" in we else ""
    return f"{each}{they['total'] / we['total']:.0f}x in total, {they['mib'] / we['mib']:.1f}x memory"


def row(result: dict[str, Any]) -> str:
    each = f"{1000 * result['iteration']:9.2f} ms/iteration" if "iteration" in result else " " * 22
    error = f"{result['confusion_error']:.4f}" if "confusion_error" in result else ""
    return (
        f"{each} {result['iterations']:4d} iterations {result['total']:8.3f} s {result['mib']:7.1f} MiB "
        f"{result['accuracy']:6.2f}% right {error}"
    )


def people(folder: Path) -> None:
    """Real annotators: percent right, and whether the evidence ever fell."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    from truelabel import Annotations, fusion

    print(
        "\nreal people, % right dawid_skene  crowd-kit  crowd-kit, 300 iterations"
        " | one_coin   glad   mace  majority_vote"
    )
    for name, gold in PEOPLE.items():
        with (folder / name / gold).open(encoding="utf-8") as lines:
            truth = np.array([int(line["label"]) for line in csv.DictReader(lines)])
        annotations = Annotations.from_table(folder / name / "answers.csv")
        frame = pd.read_csv(folder / name / "answers.csv").rename(columns={"annotator": "worker"})
        fused = {f: getattr(fusion, f)(annotations) for f in ("dawid_skene", "one_coin", "glad", "mace")}
        fused["majority_vote"] = fusion.majority_vote(annotations, ties="lowest")
        right = {f: 100 * (result.labels == truth).mean() for f, result in fused.items()}
        falls = [
            f for f, result in fused.items() if (np.diff(result.history) < -1e-9 * abs(result.evidence or 0)).any()
        ]
        by_default, to_the_end = (
            100 * (DawidSkene(**options).fit_predict(frame).sort_index().to_numpy() == truth).mean()
            for options in ({}, {"n_iter": 300, "tol": -1.0})
        )
        print(
            f"{name:20} {right['dawid_skene']:11.2f} {by_default:10.2f} {to_the_end:26.2f} | {right['one_coin']:8.2f} "
            f"{right['glad']:6.2f} {right['mace']:6.2f} {right['majority_vote']:14.2f}  "
            f"evidence {'never falls' if not falls else 'FALLS: ' + ', '.join(falls)}"
        )


def grow(labels: int) -> dict[str, Any]:
    from truelabel import fusion

    ours("dawid-skene", simulate(20, 5, 3))()
    arrays, truth = one_coin_labels(labels)
    annotations = as_annotations(arrays, len(truth), 1_000)
    loaded = memory_line("VmHWM")
    began = time.process_time()
    fused = fusion.dawid_skene(annotations)
    seconds = time.process_time() - began
    return {
        "labels": labels,
        "seconds": seconds,
        "iterations": len(fused.history),
        "data_mib": loaded / 1024,
        "peak_mib": peak() / 1024,
        "accuracy": 100 * float((fused.labels == truth).mean()),
    }


def growth() -> None:
    print("Dawid–Skene, 10 labels an example, 1,000 annotators, K = 10; peak of the whole process, its data included")
    for labels in GROWTH:
        result = apart("--grow", str(labels))
        print(
            f"{labels:12,} labels {result['seconds']:8.2f} s {result['iterations']:3d} iterations "
            f"{1e9 * result['seconds'] / labels / result['iterations']:6.1f} ns per label and iteration "
            f"{result['peak_mib']:7.0f} MiB ({result['data_mib']:.0f} before) {result['accuracy']:.2f}% right",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("TRUELABEL_DATA"), help="folder with rte, bluebird, …"
    )
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--grow", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        peer, method, path, repeats = arguments.measure
        print(json.dumps(measure(peer, method, Path(path), int(repeats))))
    elif arguments.grow:
        print(json.dumps(grow(arguments.grow)))
    elif arguments.growth:
        growth()
    else:
        with tempfile.TemporaryDirectory() as folder:
            for case in arguments.cases:
                methods = ("majority-vote", "dawid-skene") + (("one-coin", "mace") if case == "A" else ())
                side_by_side(case, CASES[case], methods, Path(folder))
            if "A" in arguments.cases:
                side_by_side("GLAD", GLAD_CASE, ("glad",), Path(folder))
        if arguments.data:
            people(Path(arguments.data))


if __name__ == "__main__":
    main()
