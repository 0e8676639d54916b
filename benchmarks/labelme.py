"""LabelMe with its 59 real annotators: majority vote and annotator models on VGG16 features (Rodrigues & Pereira 2018).

    python benchmarks/labelme.py [--seeds 5] [--epochs 100] [--methods majority-vote annotator-confusion ...]

Needs `labelme/` (answers.csv, gold_*.csv, features_vgg16.npz) under the data root. 1,000 photographs with 1 to 3 labels
train a perceptron of 128 units; accuracy is on 1,188 others with true labels. Skill is the mean probability that an
annotator's labels are right; it is compared with the share of their labels that is, over annotators with 20 or more.
Nothing is chosen by the truth: the last epoch is scored, and `--select best` takes the best on held-out noisy labels.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np
import torch

from truelabel import Annotations, TrueLabelClassifier
from truelabel.data import data_root
from truelabel.methods import get_method

LEAST = 20
"""Labels that an annotator must have given to be compared."""


def gold(folder: Path, split: str) -> np.ndarray:
    with (folder / f"gold_{split}.csv").open() as file:
        return np.array([int(row["label"]) for row in csv.DictReader(file)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=["majority-vote", "annotator-confusion"])
    parser.add_argument("--options", default="{}", help="options of all methods, as JSON")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=100)
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
        scores, correlations, levels = [], [], []
        began = time.perf_counter()
        for seed in range(told.seeds):
            method = get_method(name).with_options(**json.loads(told.options))
            classifier = TrueLabelClassifier(
                method,
                "mlp:128",
                epochs=told.epochs,
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
        seconds = (time.perf_counter() - began) / told.seeds
        print(
            f"{name:22} accuracy {np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f} %, skills correlate "
            f"{np.mean(correlations):.3f} ± {np.std(correlations, ddof=1):.3f}, mean skill {np.mean(levels):.2f} "
            f"(truly {truly[busy].mean():.2f}), {seconds:.1f} s a fit"
        )


if __name__ == "__main__":
    main()
