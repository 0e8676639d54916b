"""LabelMe with its 59 real annotators: majority vote and annotator models on VGG16 features.

    python benchmarks/labelme.py [--seeds 5] [--epochs 50] [--methods majority-vote annotator-confusion ...]

Needs `labelme/` (answers.csv, gold_*.csv, features_vgg16.npz) under the data root. 1,000 photographs with 1 to 3 labels
train the network of Rodrigues & Pereira 2018, who gathered the labels: 128 units with ReLU and half of them dropped,
Adam, batches of 64, 50 epochs. Accuracy is on 1,188 other photographs with true labels, after the last epoch; with
`--select best` it is of the epoch that predicts held-out noisy labels best. Skill is the mean probability that an
annotator's labels are right; it is compared with the share that is, over annotators with 20 labels or more.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from truelabel import Annotations, TrueLabelClassifier
from truelabel.data import data_root
from truelabel.methods import get_method

LEAST = 20
"""Labels that an annotator must have given to be compared."""


def network(shape: tuple[int, ...]) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 128), nn.ReLU(), nn.Dropout(0.5))


def gold(folder: Path, split: str) -> NDArray[np.int64]:
    with (folder / f"gold_{split}.csv").open() as file:
        return np.array([int(row["label"]) for row in csv.DictReader(file)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=["majority-vote", "annotator-confusion"])
    parser.add_argument("--options", default="{}", help="options of all methods, as JSON")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--select", default="last")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    told = parser.parse_args()
    torch.set_num_threads(1)
    folder = data_root() / "labelme"
    features = np.load(folder / "features_vgg16.npz", allow_pickle=False)
    truth = gold(folder, "train")
    said = Annotations.from_table(folder / "answers.csv", examples=range(len(truth)), classes=8)
    busy = said.workload >= LEAST
    right = said.label == truth[said.example]
    truly = np.bincount(said.annotator, weights=right) / said.workload
    print(f"{said}; {right.mean():.1%} of the labels are right; {busy.sum()} annotators gave {LEAST} or more")
    for name in told.methods:
        scores, correlations, levels, covered = [], [], [], []
        began = time.perf_counter()
        for seed in range(told.seeds):
            method = get_method(name).with_options(**json.loads(told.options))
            classifier = TrueLabelClassifier(
                method,
                network,
                epochs=told.epochs,
                batch_size=64,
                learning_rate=told.learning_rate,
                select=told.select,
                standardize=False,
                device="cpu",
                random_state=seed,
            ).fit(features["train"], said)
            scores.append(100 * classifier.score(features["test"], gold(folder, "test")))
            skill = classifier.annotator_skill_
            correlations.append(np.corrcoef(skill[busy], truly[busy])[0, 1])
            levels.append(skill[busy].mean())
            low, high = classifier.annotator_skill_interval_[busy].T
            covered.append(((low <= truly[busy]) & (truly[busy] <= high)).mean())
        seconds = (time.perf_counter() - began) / told.seeds
        print(
            f"{name:22} accuracy {np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f} %, skills correlate "
            f"{np.mean(correlations):.3f} ± {np.std(correlations, ddof=1):.3f}, mean skill {np.mean(levels):.2f} "
            f"(truly {truly[busy].mean():.2f}), {np.mean(covered):.0%} of the intervals hold the truth, "
            f"{seconds:.1f} s a fit"
        )


if __name__ == "__main__":
    main()
