"""What to label next, simulated: labels needed by `truelabel.quality.ask`, by uncertainty sampling and at random.

    python benchmarks/ask.py --out results/ask.jsonl [--workers 2] [--data mnist]
    python benchmarks/ask.py --out results/ask.jsonl --plot docs/images/ask.png
    python benchmarks/ask.py --out results/ask.jsonl --table

Ten simulated annotators: four pairwise flippers of skill 0.9, 0.7, 0.5 and 0.4, six hammer-spammers of skill 0.95, 0.8,
0.6, 0.4, 0.2 and 0.1. A pool of digits, of which 300 start with one label by somebody at random; then 17 rounds, in
each of which labels for a tenth of the pool are bought. Scenes: "equal", all cost 1; "busy", nobody gives more
than a fifth of a round's labels; "expert", one more of skill 0.99 who costs 5. A fourth was added after these had been
seen: "alike", ten hammer-spammers of skill 0.7, where there is nobody better to ask; and so were "busy" and shrunk
matrices for MNIST, and "labels".

After each round, for every policy alike: `generalized-em` with the library's defaults learns from all labels; p(y|x) of
labelled examples comes from three-fold cross-validation; consensus is Bayes' rule over p(y|x) and all labels with the
matrices learned. Scores: consensus on the whole pool, and the network on held-out digits, both against the truth. An
annotator gives the same answer to the same question in all policies of a seed.

MNIST (with TRUELABEL_DATA) has a pool of 2,000 and the first 50 principal components as features. "labels" has no
inputs and no network: 1,000 examples start with two labels each, and Dawid–Skene is all that learns. One JSON line a
run is appended as it finishes; runs that are there are skipped.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import truelabel as tl
from truelabel.fusion import expected_counts, posterior_given
from truelabel.quality.ask import ask
from truelabel.quality.expected_information import expected_information

Array = NDArray[np.float64]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

START, ROUNDS, FOLDS, SEEDS = 300, 17, 3, 5
FLIPPERS, HAMMERS = (0.9, 0.7, 0.5, 0.4), (0.95, 0.8, 0.6, 0.4, 0.2, 0.1)
POOLS = {"digits": 1000, "mnist": 2000, "labels": 1000}
MAIN = ("random", "uncertainty", "ask")
PARTS = ("example only", "annotator only", "ask, matrices shrunk")
"""Which example by doubt but any annotator; any example but the best annotator; matrices drawn to their mean."""

PLAN = [
    *(("digits", "equal", policy) for policy in (*MAIN, *PARTS)),
    *(("digits", scene, policy) for scene in ("busy", "expert") for policy in MAIN),
    *(("mnist", "equal", policy) for policy in (*MAIN, "ask, matrices shrunk")),
    *(("mnist", "busy", policy) for policy in ("random", "ask")),
    *(("digits", "alike", policy) for policy in MAIN),
    *(("labels", "equal", policy) for policy in (*MAIN, "ask, matrices shrunk")),
]


@dataclass(frozen=True)
class World:
    """Inputs, truth, and what everybody would answer."""

    pool: NDArray[Any]
    truth: NDArray[Any]
    test: NDArray[Any]
    test_truth: NDArray[Any]
    answers: NDArray[np.int64]
    costs: Array
    budget: int
    capacity: int | None


@dataclass(frozen=True)
class Belief:
    """What is known after a round: p(y|x) of the pool, with labels, and of annotators."""

    probs: Array
    posterior: Array
    confusion: Array
    said: tl.Annotations
    network: Array


def world(data: str, scene: str, seed: int) -> World:
    """The same for all policies."""
    size, rng, generator = POOLS[data], np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    inputs: NDArray[Any]
    held_out: NDArray[Any]
    truth: NDArray[Any]
    test_truth: NDArray[Any]
    if data == "labels":
        truth = rng.integers(0, 10, size)
        inputs, held_out, test_truth = np.empty((size, 0)), np.empty((0, 0)), np.empty(0)
    elif data == "digits":
        digits = tl.data.digits()
        x, y = np.asarray(digits.scaled()).reshape(len(digits), -1), np.asarray(digits.labels)
        order = rng.permutation(len(x))
        pool, test = order[:size], order[size:]
        inputs, held_out, truth, test_truth = x[pool], x[test], y[pool], y[test]
    else:
        from sklearn.decomposition import PCA

        train, rest = tl.data.mnist("train"), tl.data.mnist("test")
        pool = rng.permutation(len(train))[:size]
        flat = np.asarray(train.scaled()).reshape(len(train), -1)
        axes = PCA(50, random_state=0).fit(flat[:10_000])
        inputs, truth = axes.transform(flat[pool]), np.asarray(train.labels)[pool]
        held_out, test_truth = axes.transform(np.asarray(rest.scaled()).reshape(len(rest), -1)), np.asarray(rest.labels)
    skills = (0.7,) * 6 if scene == "alike" else HAMMERS + ((0.99,) if scene == "expert" else ())
    flippers = tl.corruption.pairwise_flippers(10, FLIPPERS, generator)
    group = [tl.corruption.hammer_spammers(10, (0.7,) * 4) if scene == "alike" else flippers]
    cumulative = torch.cat([*group, tl.corruption.hammer_spammers(10, skills)]).numpy().cumsum(-1)
    lots = rng.random((size, len(cumulative)))
    answers = (lots[..., None] > cumulative[:, truth].swapaxes(0, 1)).sum(-1).clip(0, 9)
    costs = np.ones(len(cumulative))
    costs[10:] = 5
    budget = size // 10
    return World(inputs, truth, held_out, test_truth, answers, costs, budget, budget // 5 if scene == "busy" else None)


def learn(of: World, given: NDArray[np.bool_], seed: int) -> Belief:
    """Train, cross-validate, and combine."""
    matrix = np.where(given, of.answers, -1)
    said = tl.Annotations.from_matrix(matrix, classes=10)
    if not of.pool.size:
        fused = tl.fusion.dawid_skene(said)
        posterior = fused.posterior.astype(np.float64)
        return Belief(posterior, posterior, fused.confusion, said, np.empty(0))
    labelled = np.flatnonzero(said.counts)
    classifier = _fit(of, said, labelled, seed)
    probs = classifier.predict_proba(of.pool)
    folds = np.array_split(np.random.default_rng(seed).permutation(labelled), FOLDS)
    for fold in folds:
        rest = np.setdiff1d(labelled, fold)
        probs[fold] = _fit(of, said, rest, seed).predict_proba(of.pool[fold])
    posterior = posterior_given(said, probs, classifier.confusion_)
    return Belief(probs, posterior, classifier.confusion_, said, classifier.predict(of.test))


def _fit(of: World, said: tl.Annotations, rows: NDArray[np.int64], seed: int) -> tl.TrueLabelClassifier:
    part = said.take(rows).without_silent_annotators()
    return tl.TrueLabelClassifier("generalized-em", random_state=seed).fit(of.pool[rows], part)


def entropy(probs: Array) -> Array:
    total: Array = -(probs * np.log(np.maximum(probs, 1e-300))).sum(-1)
    return total


def shrunk(belief: Belief, pseudo: float = 10.0) -> Array:
    """Rows of each matrix drawn to those of all annotators together, as by so many labels of the group."""
    counts = expected_counts(belief.said, belief.posterior)
    rows, group = counts.sum(-1, keepdims=True), counts.sum(0)
    mean = (group + 0.01) / (group + 0.01).sum(-1, keepdims=True)
    drawn: Array = (rows * belief.confusion + pseudo * mean) / (rows + pseudo)
    return drawn


def in_order(of: World, free: NDArray[np.bool_], example: Any, annotator: Any) -> Pairs:
    """The first of these pairs that fit the budget and nobody's time."""
    left, rest, chosen = np.full(free.shape[1], of.capacity or of.budget), float(of.budget), []
    for n, r in zip(np.asarray(example).tolist(), np.asarray(annotator).tolist(), strict=True):
        if free[n, r] and left[r] > 0 and of.costs[r] <= rest:
            chosen.append((n, r))
            left[r] -= 1
            rest -= of.costs[r]
    return np.array([n for n, _ in chosen]), np.array([r for _, r in chosen])


def at_random(of: World, belief: Belief, free: NDArray[np.bool_], rng: np.random.Generator) -> Pairs:
    pairs = rng.permutation(np.argwhere(free))
    return in_order(of, free, pairs[:, 0], pairs[:, 1])


def by_doubt(of: World, doubt: Array, free: NDArray[np.bool_], rng: np.random.Generator) -> Pairs:
    """One label of each of the most doubtful examples, by anybody who has time and has not labelled it yet."""
    left, rest, chosen = np.full(free.shape[1], of.capacity or of.budget), float(of.budget), []
    for n in np.argsort(-doubt, kind="stable").tolist():
        able = np.flatnonzero(free[n] & (left > 0) & (of.costs <= rest))
        if len(able):
            r = int(rng.choice(able))
            chosen.append((n, r))
            left[r] -= 1
            rest -= of.costs[r]
    return np.array([n for n, _ in chosen]), np.array([r for _, r in chosen])


def by_annotator(of: World, belief: Belief, free: NDArray[np.bool_], rng: np.random.Generator) -> Pairs:
    """Random examples, each to whom tells most for the cost."""
    rates = np.where(free, expected_information(belief.posterior, belief.confusion) / of.costs, -1)
    order = rng.permutation(len(rates))
    return in_order(of, free, order, rates[order].argmax(-1))


def by_asking(of: World, belief: Belief, confusion: Array) -> Pairs:
    chosen = ask(
        belief.posterior,
        confusion,
        of.budget,
        annotations=belief.said,
        costs=of.costs,
        capacity=of.capacity,
    )
    return chosen.example, chosen.annotator


Policy = Callable[[World, Belief, NDArray[np.bool_], np.random.Generator], Pairs]
POLICIES: dict[str, Policy] = {
    "random": at_random,
    "uncertainty": lambda of, belief, free, rng: by_doubt(of, entropy(belief.probs), free, rng),
    "ask": lambda of, belief, free, rng: by_asking(of, belief, belief.confusion),
    "example only": lambda of, belief, free, rng: by_doubt(of, entropy(belief.posterior), free, rng),
    "annotator only": by_annotator,
    "ask, matrices shrunk": lambda of, belief, free, rng: by_asking(of, belief, shrunk(belief)),
}


def run(key: dict[str, Any]) -> dict[str, Any]:
    """One policy from the first labels to the last."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    began, seed = time.perf_counter(), key["seed"]
    of, rng = world(key["data"], key["scene"], seed), np.random.default_rng(1000 + seed)
    size, annotators = of.answers.shape
    given = np.zeros((size, annotators), bool)
    if of.pool.size:
        given[rng.permutation(size)[:START], rng.integers(0, annotators, START)] = True
    else:
        given[rng.random(given.shape).argsort(-1) < 2] = True
    curves: dict[str, list[float]] = {name: [] for name in ("labels", "cost", "consensus", "test")}
    for number in range(ROUNDS + 1):
        belief = learn(of, given, seed)
        curves["labels"].append(int(given.sum()))
        curves["cost"].append(float(given.sum(0) @ of.costs))
        curves["consensus"].append(round(float((belief.posterior.argmax(-1) == of.truth).mean()), 4))
        if len(belief.network):
            curves["test"].append(round(float((belief.network == of.test_truth).mean()), 4))
        if number < ROUNDS:
            example, annotator = POLICIES[key["policy"]](of, belief, ~given, rng)
            given[example, annotator] = True
    workload = given.sum(0).tolist()
    return {**key, **curves, "workload": workload, "seconds": round(time.perf_counter() - began, 1)}


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def smooth(values: Any) -> Array:
    """Mean with the neighbours, since one round's training moves a score by more than one round's labels."""
    v = np.asarray(values, float)
    padded = np.concatenate([v[:1], v, v[-1:]])
    mean: Array = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    return mean


def needed(line: dict[str, Any], score: str, target: float) -> float:
    """What had been spent when the smoothed curve first reached the target; NaN if it never did."""
    curve, cost = smooth(line[score]), np.asarray(line["cost"])
    reached = np.flatnonzero(curve >= target)
    if not len(reached):
        return float("nan")
    i = int(reached[0])
    if i == 0:
        return float(cost[0])
    share = (target - curve[i - 1]) / (curve[i] - curve[i - 1])
    return float(cost[i - 1] + share * (cost[i] - cost[i - 1]))


def table(lines: list[dict[str, Any]]) -> str:
    """Markdown: for each score its end, and what reached random's end, as a share of what random spent."""
    head = "| data, scene | policy | consensus, end | needed | held-out, end | needed |\n|---|---|---|---|---|---|"
    rows = [head]
    for data, scene, policy in PLAN:
        own = {line["seed"]: line for line in lines if _is(line, data, scene, policy)}
        base = {line["seed"]: line for line in lines if _is(line, data, scene, "random")}
        seeds = sorted(own.keys() & base.keys())
        if not seeds:
            continue
        cells = []
        for score in ("consensus", "test") if own[seeds[0]]["test"] else ("consensus",):
            end = [100 * smooth(own[s][score])[-1] for s in seeds]
            ratios = [needed(own[s], score, smooth(base[s][score])[-1]) / base[s]["cost"][-1] for s in seeds]
            missed = int(np.isnan(ratios).sum())
            shown = "" if missed == len(seeds) else f"{np.nanmean(ratios):.2f} ± {_spread(ratios):.2f}"
            shown += f" ({missed} of {len(seeds)} never)" if missed else ""
            cells += [f"{np.mean(end):.1f} ± {_spread(end):.1f}", "1" if policy == "random" else shown]
        rows.append(f"| {data}, {scene} | {policy} | {' | '.join([*cells, '', ''][:4])} |")
    return "\n".join(rows)


def _is(line: dict[str, Any], data: str, scene: str, policy: str) -> bool:
    return (line["data"], line["scene"], line["policy"]) == (data, scene, policy)


def _spread(values: Any) -> float:
    return float(np.nanstd(values, ddof=1)) if np.isfinite(values).sum() > 1 else 0.0


def plot(lines: list[dict[str, Any]], path: Path) -> None:
    """A column for each data set and scene: mean over seeds, and from the least to the most."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    columns = [c for c in dict.fromkeys((d, s) for d, s, _ in PLAN) if any(_is(line, *c, "ask") for line in lines)]
    figure, axes = plt.subplots(2, len(columns), figsize=(3.1 * len(columns), 6), layout="constrained", squeeze=False)
    for column, (data, scene) in enumerate(columns):
        for policy in MAIN:
            chosen = [line for line in lines if _is(line, data, scene, policy)]
            if not chosen:
                continue
            for row, score in enumerate(("consensus", "test")):
                values = 100 * np.array([line[score] for line in chosen])
                if not values.size:
                    axes[row][column].set_visible(False)
                    continue
                cost = np.mean([line["cost"] for line in chosen], 0)
                axis, colour = axes[row][column], f"C{MAIN.index(policy)}"
                axis.plot(cost, values.mean(0), color=colour, label=policy, lw=2 if policy == "ask" else 1.3)
                axis.fill_between(cost, values.min(0), values.max(0), color=colour, alpha=0.15, lw=0)
        axes[0][column].set_title(f"{data}, {scene}")
        axes[1][column].set_xlabel("spent on labels")
        for row in (0, 1):
            axes[row][column].grid(alpha=0.3)
    axes[0][0].set_ylabel("consensus right, %")
    axes[1][0].set_ylabel("network right on held-out, %")
    axes[1][0].legend(loc="lower right")
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--data", choices=sorted(POOLS), default=None, help="only this; both by default")
    parser.add_argument("--plot", type=Path, default=None)
    parser.add_argument("--table", action="store_true")
    told = parser.parse_args()
    done = records(told.out)
    if told.plot or told.table:
        if told.plot:
            plot(done, told.plot)
        print(table(done))
        return
    keys = [{"data": d, "scene": s, "policy": p, "seed": seed} for seed in range(SEEDS) for d, s, p in PLAN]
    keys = [key for key in keys if told.data in (None, key["data"])]
    keys = [key for key in keys if not any(key.items() <= line.items() for line in done)]
    told.out.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(told.workers, multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run, key) for key in keys]):
            line = future.result()
            with told.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            ends = ", ".join(f"{name} {line[name][-1]:.3f}" for name in ("consensus", "test") if line[name])
            print(f"{line['data']}, {line['scene']}, {line['policy']}, seed {line['seed']}: {ends}", flush=True)


if __name__ == "__main__":
    main()
