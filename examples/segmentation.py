"""Five readers outline the same pictures, one reader a picture: a network that is right, and where each reader errs.

Run it with ``python examples/segmentation.py``; it takes some ten seconds on one core. The pictures are bright discs;
``--mnist`` takes digits of MNIST in noise instead, and the readers of Zhang 2020, which takes two minutes and needs the
files (``truelabel data fetch mnist``). ``--picture FILE`` draws what was found, and needs matplotlib.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

import truelabel as tl
from truelabel.corruption import Blank, EdgeAdded, EdgeRemoved, Faithful, MaskReaders, Reader, digit_readers

Array = NDArray[Any]
OVER, UNDER, INK = np.array([0.16, 0.38, 0.80]), np.array([0.90, 0.38, 0.08]), 0.84
SMALL = {"epochs": 10, "batch_size": 16, "learning_rate": 1e-2}


def pictures(use_mnist: bool) -> tuple[tl.data.Dataset, tl.data.Dataset]:
    """Pictures to learn from and others to score on, with their true masks."""
    if use_mnist:
        digits = {"train": 2000, "test": 500}
        splits: tuple[Literal["train", "test"], ...] = ("train", "test")
        train, test = (
            tl.data.mnist_segmentation(split, noise=0.3, seed=seed).take(np.arange(digits[split]))
            for seed, split in enumerate(splits)
        )
        return train, test
    discs = tl.data.discs(160, (16, 16), most=1, noise=0.1, seed=1)
    return discs.take(np.arange(120)), discs.take(np.arange(120, 160))


def crowd(use_mnist: bool, labels_per_example: int | None) -> MaskReaders:
    """Five readers, all of whom draw each picture, or so many."""
    if use_mnist:
        return digit_readers(labels_per_example=labels_per_example)
    readers: dict[str, Reader] = {
        "exact": Faithful(),
        "wide": EdgeAdded(1),
        "narrow": EdgeRemoved(1),
        "idle": Blank(),
        "away": Blank(),
    }
    return MaskReaders(readers, labels_per_example=labels_per_example)


def learn(method: str, train: tl.data.Dataset, said: tl.Annotations, use_mnist: bool) -> tl.TrueLabelSegmenter:
    sizes = {"epochs": 8, "batch_size": 32, "learning_rate": 3e-3} if use_mnist else SMALL
    training: dict[str, Any] = {**sizes, "device": "cpu", "random_state": 1}
    return tl.TrueLabelSegmenter(method, "unet:8", **training).fit(train.inputs, said)


def draw(segmenter: tl.TrueLabelSegmenter, test: tl.data.Dataset, masks: Array, rows: list[int], path: Path) -> None:
    """For some test pictures: truth, estimate, and each reader's mask beside the mistakes expected of them.

    Args:
        segmenter: fitted.
        test: pictures and true masks.
        masks: ``(N, R, H, W)``, what readers drew there.
        rows: which pictures.
        path: of the file.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found, errors = segmenter.predict(test.inputs[rows]), segmenter.error_maps(test.inputs[rows])
    over, under = np.asarray(errors.over)[..., None], np.asarray(errors.under)[..., None]
    names = [str(name) for name in segmenter.annotators_]
    gap, side, top, bottom = 0.32, 0.96, 0.5, 0.34
    lefts = [column + gap * (max(column - 1, 0) // 2) for column in range(3 + 2 * len(names))]
    unit = 12 / (lefts[-1] + side + 0.04)
    height = len(rows) * unit + top + bottom
    figure = plt.figure(figsize=(12, height))

    def across(column: int, share: float = 0.0) -> float:
        return (lefts[column] + 0.02 + share * side) * unit / 12

    def panel(row: int, column: int, image: Array, title: str) -> None:
        low = (bottom + (len(rows) - 1 - row) * unit) / height
        axes = figure.add_axes((across(column), low, side * unit / 12, side * unit / height))
        axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        for edge in axes.spines.values():
            edge.set_color("0.75")
        if row == 0:
            axes.set_title(title, fontsize=9.5, pad=3, color="0.25")

    for row, which in enumerate(rows):
        panel(row, 0, test.scaled()[which, 0], "picture")
        panel(row, 1, test.labels[which], "truth")
        panel(row, 2, found[row], "estimate")
        paper = np.where(found[row] > 0, INK, 1.0)[..., None]
        for reader in range(len(names)):
            much, little = over[row, reader], under[row, reader]
            mistakes = much * OVER + little * UNDER + (1 - much - little) * paper
            panel(row, 3 + 2 * reader, masks[which, reader], "mask")
            panel(row, 4 + 2 * reader, mistakes.clip(0, 1), "mistakes")
    for reader, name in enumerate(names):
        left, right = across(3 + 2 * reader), across(4 + 2 * reader, 1)
        y = 1 - 0.27 / height
        figure.text((left + right) / 2, y + 0.03 / height, name, ha="center", va="bottom", fontsize=12, weight="bold")
        figure.add_artist(Line2D([left, right], [y, y], color="0.4", linewidth=1))
    colours = [Patch(color=OVER.tolist()), Patch(color=UNDER.tolist()), Patch(color=str(INK))]
    words = ["expected to draw too much", "expected to draw too little", "the estimate"]
    figure.legend(colours, words, loc="lower center", ncols=3, fontsize=10, frameon=False, borderaxespad=0.1)
    figure.savefig(path, dpi=100)
    print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", action="store_true", help="digits of MNIST instead of discs")
    parser.add_argument("--picture", type=Path, help="draw three test pictures, with what is known of the readers")
    told = parser.parse_args()

    train, test = pictures(told.mnist)
    readers = crowd(told.mnist, labels_per_example=1)
    said = readers(torch.from_numpy(train.labels).long(), None, torch.Generator().manual_seed(1))
    right = (said.label == train.labels[said.example]).mean()
    print(f"{said.size} masks, one a picture, {right:.1%} of their pixels right")

    # With one mask a picture a vote is the mask itself: a plain network, which hears all readers alike.
    for method in ("majority-vote", "pixelwise-confusion"):
        segmenter = learn(method, train, said, told.mnist)
        print(f"{method}: Dice with the truth {segmenter.score(test.inputs, test.labels):.1%}")
    error = tl.metrics.confusion_rmse(segmenter.confusion_, readers.confusion.numpy())
    print(f"error of the confusion matrices: {error:.3f}")

    # What all readers draw of the test pictures, which nobody learned from, and what was expected of each.
    everybody = crowd(told.mnist, labels_per_example=None)
    masks = everybody(torch.from_numpy(test.labels).long(), None, torch.Generator().manual_seed(2)).matrix()
    expected, errors = segmenter.annotator_proba(test.inputs).argmax(2), segmenter.error_maps(test.inputs)
    adds, misses = (np.asarray(kind).sum((0, 2, 3)) / test.labels.sum() for kind in (errors.over, errors.under))
    for reader, name in enumerate(segmenter.annotators_):
        overlap = tl.metrics.dice(expected[:, reader], masks[:, reader]).mean()
        print(f"{name:6} adds {adds[reader]:.0%} and misses {misses[reader]:.0%} of what is there; ", end="")
        print(f"Dice of the mask with the one expected: {overlap:.2f}")
    if told.picture:
        draw(segmenter, test, masks, [1, 3, 4] if told.mnist else [0, 1, 2], told.picture)


if __name__ == "__main__":
    main()
