"""Made-up photographs in folders, with lists and tables beside them: Clothing1M and views of the heart."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truelabel.experiments.stand_ins.patterns import Bytes, Labels, balanced, noisy, prototypes, wrong

_CLOTHES, _VIEWS, _ANNOTATORS = 14, 6, 8
_NOISE = 0.38
"""Share of wrong labels in the noisy part of Clothing1M, as its authors put it."""


def write_clothing1m(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Patterns in colour as JPEG, taller than wide, in ``clothing1m/`` with the four lists and the two label files."""
    top = root / "clothing1m"
    patterns = prototypes(rng, _CLOTHES, 3, 40)
    sizes = {"noisy_train": examples, "clean_train": 14, "clean_val": 14, "clean_test": max(10, examples // 2)}
    lines: dict[str, list[str]] = {"noisy": [], "clean": []}
    number = 0
    for part, count in sizes.items():
        labels = balanced(rng, count, _CLOTHES)
        pictures = noisy(rng, patterns[labels].repeat(5, 2)[:, :, ::4])  # 50 x 40
        names = [f"images/{at % 10}/{at // 10 % 10}/{at},{at + 7}.jpg" for at in range(number, number + count)]
        number += count
        for name, picture in zip(names, pictures, strict=True):
            _save(top / name, picture.transpose(1, 2, 0))
        (top / f"{part}_key_list.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
        kind = part.split("_")[0]
        said = wrong(rng, labels, _CLOTHES, _NOISE) if kind == "noisy" else labels
        lines[kind] += [f"{name} {label}" for name, label in zip(names, said, strict=True)]
    for kind, pairs in lines.items():
        (top / f"{kind}_label_kv.txt").write_text("\n".join(pairs) + "\n", encoding="utf-8")


def write_cardiac_views(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Grey patterns of six views in ``cardiac_views/``; each is labelled by two or so of eight annotators."""
    top = root / "cardiac_views"
    patterns = prototypes(rng, _VIEWS, 1, 96)[:, 0]
    for part, share in (("train", 1), ("test", 2)):
        labels = balanced(rng, examples // share, _VIEWS)
        names = [f"{at:05d}.png" for at in range(len(labels))]
        for name, picture in zip(names, noisy(rng, patterns[labels]), strict=True):
            _save(top / part / "images" / name, picture)
        rows = [f"{name},view {label}" for name, label in zip(names, labels, strict=True)]
        (top / part / "truth.csv").write_text("\n".join(["example,label", *rows]) + "\n", encoding="utf-8")
        if part == "train":
            (top / part / "labels.csv").write_text(_said(rng, names, labels), encoding="utf-8")


def _said(rng: np.random.Generator, names: list[str], labels: Labels) -> str:
    """A long table: annotators differ in skill, from 55 to 95 percent right, and nobody is asked about everything."""
    asked = rng.random((len(labels), _ANNOTATORS)) < 2 / _ANNOTATORS
    asked[np.arange(len(labels)), np.arange(len(labels)) % _ANNOTATORS] = True
    rates = np.linspace(0.05, 0.45, _ANNOTATORS)
    answers = np.stack([wrong(rng, labels, _VIEWS, rate) for rate in rates], 1)
    rows = [f"{names[row]},annotator {who},view {answers[row, who]}" for row, who in np.argwhere(asked)]
    return "\n".join(["example,annotator,label", *rows]) + "\n"


def _save(path: Path, pixels: Bytes) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, compress_level=1, quality=90)
