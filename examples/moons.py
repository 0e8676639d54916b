"""Two moons of which 45 % carry the label of the other: the picture of Yao 2021 (Fig. 2).

Run it with ``python examples/moons.py``; it takes a minute on two cores, writes ``moons.png``, and prints the clean
test accuracy over five seeds. ``--ablation`` leaves out the parts of CausalNL one by one instead.

CausalNL knows that each class lies on a curve, because z has one dimension; the others know labels only. All methods
have the same network, optimiser and number of epochs. The weights of CausalNL's terms were chosen by clean accuracy on
seeds 100 to 107; none of them is shown here. Nobody is told the noise rate unless ``--oracle``.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import truelabel as tl
from truelabel.methods import get_method

CAUSAL = {
    "latent": 1,
    "relaxation": "exact",
    "reconstruction": "squared",
    "teaching_weight": 0.3,
    "reconstruction_weight": 5.0,
    "label_weight": 1.0,
    "latent_weight": 0.6,
    "labels_first": 0.1,
}
SHOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "cross entropy": ("cross-entropy", {}),
    "mixup": ("mixup", {}),
    "co-teaching": ("co-teaching", {}),
    "CausalNL": ("causal-nl", CAUSAL),
}
ABLATION: dict[str, tuple[str, dict[str, Any]]] = {
    "all terms": ("causal-nl", CAUSAL),
    "no reconstruction": ("causal-nl", {**CAUSAL, "reconstruction_weight": 0.0}),
    "no noisy-label term": ("causal-nl", {**CAUSAL, "label_weight": 0.0}),
    "no prior on y": ("causal-nl", {**CAUSAL, "entropy_weight": 0.0}),
    "prior on y 1e-2": ("causal-nl", {**CAUSAL, "entropy_weight": 1e-2}),
    "prior on y 0.3": ("causal-nl", {**CAUSAL, "entropy_weight": 0.3}),
    "no prior on z": ("causal-nl", {**CAUSAL, "latent_weight": 0.0}),
    "no teaching": ("causal-nl", {**CAUSAL, "teaching_weight": 0.0}),
    "teaching 1": ("causal-nl", {**CAUSAL, "teaching_weight": 1.0}),
    "labels not first": ("causal-nl", {**CAUSAL, "labels_first": 0.0}),
    "z of 2 dimensions": ("causal-nl", {**CAUSAL, "latent": 2}),
    "soft y": ("causal-nl", {**CAUSAL, "relaxation": "soft"}),
    "straight-through y": ("causal-nl", {**CAUSAL, "relaxation": "straight-through"}),
    "the paper's weights, soft y": ("causal-nl", {"latent": 1}),
    "co-teaching alone": ("co-teaching", {}),
}
RATE, SIDE = 0.45, 240


def moons(seed: int) -> tuple[tl.data.Dataset, NDArray[Any], tl.data.Dataset]:
    """1,000 points, the labels given to them, and 2,000 points to score on."""
    generator = torch.Generator().manual_seed(seed)
    train, test = tl.data.two_moons(1000, 0.1, generator), tl.data.two_moons(2000, 0.1, generator)
    noise = tl.corruption.InstanceDependent(RATE, classes=2)
    said = noise(torch.from_numpy(train.labels), torch.from_numpy(train.inputs), generator)
    return train, said.label, test


def grid() -> NDArray[np.float32]:
    """The points behind the pixels of a panel."""
    x, y = np.meshgrid(np.linspace(-1.6, 2.6, SIDE), np.linspace(1.6, -1.1, SIDE))
    return np.stack([x.ravel(), y.ravel()], 1).astype(np.float32)


def trained(task: tuple[str, dict[str, Any], int, int, float]) -> tuple[float, NDArray[Any], dict[str, Any]]:
    """Clean test accuracy of a method on one seed, p(class 1) behind every pixel, and the noise rate it used."""
    method, options, seed, epochs, learning_rate = task
    torch.set_num_threads(1)
    train, said, test = moons(seed)
    classifier = tl.TrueLabelClassifier(
        get_method(method).with_options(**options),
        network="mlp:64",
        epochs=epochs,
        learning_rate=learning_rate,
        select="last",
        device="cpu",
        random_state=seed,
    ).fit(train.inputs, said)
    area = classifier.predict_proba(grid())[:, 1].reshape(SIDE, SIDE)
    return classifier.score(test.inputs, test.labels), area, classifier.notes_


def panel(title: str, area: NDArray[Any] | None, labels: NDArray[Any], points: NDArray[Any]) -> Image.Image:
    """Points in the colour of their label, over the regions that a classifier learned."""
    low, high = np.array([255, 224, 178]), np.array([187, 210, 251])
    share = np.full((SIDE, SIDE, 1), np.nan) if area is None else area[..., None]
    colours = np.where(np.isnan(share), 255, low * (1 - share) + high * share).astype(np.uint8)
    image = Image.new("RGB", (SIDE, SIDE + 34), "white")
    image.paste(Image.fromarray(colours), (0, 34))
    draw = ImageDraw.Draw(image)
    for (x, y), label in zip(points, labels, strict=True):
        column, row = (x + 1.6) / 4.2 * SIDE, 34 + (1.6 - y) / 2.7 * SIDE
        draw.ellipse((column - 1.5, row - 1.5, column + 1.5, row + 1.5), fill=("#c05600", "#1f4fb4")[int(label)])
    draw.text((6, 8), title, fill="black", font=ImageFont.load_default(15))
    return image


def figure(areas: dict[str, NDArray[Any]], scores: dict[str, float], path: Path) -> None:
    """The data as it is labelled, then what each method made of it; points there have their true colour."""
    train, said, _ = moons(0)
    panels = [panel("the labels given", None, said, train.inputs)]
    for name, area in areas.items():
        panels.append(panel(f"{name}: {scores[name]:.1%}", area, train.labels, train.inputs))
    image = Image.new("RGB", ((SIDE + 10) * len(panels) - 10, SIDE + 34), "white")
    for i, one in enumerate(panels):
        image.paste(one, (i * (SIDE + 10), 0))
    image.save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--oracle", action="store_true", help="tell the noise rate to the methods that need it")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    methods = ABLATION if arguments.ablation else SHOWN
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    tasks = {}
    for name, (method, options) in methods.items():
        rate = {"noise_rate": RATE} if arguments.oracle and method in ("co-teaching", "causal-nl") else {}
        for seed in seeds:
            tasks[name, seed] = (method, {**options, **rate}, seed, arguments.epochs, arguments.learning_rate)
    with ProcessPoolExecutor(arguments.workers) as pool:
        results = dict(zip(tasks, pool.map(trained, tasks.values()), strict=True))
    print(f"clean test accuracy on two moons, {RATE:.0%} of the labels wrong, {arguments.seeds} seeds")
    for name in methods:
        scores = [results[name, seed][0] for seed in seeds]
        notes = [results[name, seed][2] for seed in seeds]
        told = f"  noise rate {np.mean([n['noise_rate'] for n in notes]):.2f}" if notes[0] else ""
        spread = np.std(scores, ddof=1) if len(scores) > 1 else 0.0
        each = " ".join(f"{score:.1%}" for score in scores)
        print(f"{name:28} {np.mean(scores):.1%} ± {spread:.1%}   {each}{told}", flush=True)
    if not arguments.ablation and arguments.first_seed == 0:
        areas = {name: results[name, 0][1] for name in methods}
        figure(areas, {name: results[name, 0][0] for name in methods}, Path("moons.png"))
        print("wrote moons.png: the first seed")


if __name__ == "__main__":
    main()
