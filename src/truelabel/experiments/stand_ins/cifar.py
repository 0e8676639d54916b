"""Made-up CIFAR-10 and CIFAR-100, in the binary version of their archives, and what people said about them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from truelabel.experiments.stand_ins.patterns import Labels, balanced, noisy, prototypes, wrong

_CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_BATCHES = 5
_FINE, _GROUP = 100, 5

_RATES = {
    "aggre_label": 0.09,
    "random_label1": 0.17,
    "random_label2": 0.18,
    "random_label3": 0.18,
    "worse_label": 0.40,
}
"""Columns of the published file, and the share of labels that are wrong in each, as in the real one."""


def write_cifar10(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Patterns in colour, in ``cifar-10-batches-bin/``."""
    _write_cifar10(root, examples, rng)


def write_cifar10n(root: Path, examples: int, rng: np.random.Generator) -> None:
    """The same images, and ``CIFAR-10_human.pt`` with as many wrong labels as people gave."""
    clean = _write_cifar10(root, examples, rng)
    _write_human(
        root / "CIFAR-10_human.pt", clean, {name: wrong(rng, clean, 10, rate) for name, rate in _RATES.items()}
    )


def write_cifar100(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Patterns in colour, in ``cifar-100-binary/``."""
    _write_cifar100(root, examples, rng)


def write_cifar100n(root: Path, examples: int, rng: np.random.Generator) -> None:
    """The same images, and ``CIFAR-100_human.pt``."""
    clean = _write_cifar100(root, examples, rng)
    _write_human(root / "CIFAR-100_human.pt", clean, {"noisy_label": wrong(rng, clean, _FINE, 0.4)})


def _write_cifar10(root: Path, examples: int, rng: np.random.Generator) -> Labels:
    folder = root / "cifar-10-batches-bin"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "batches.meta.txt").write_text("\n".join(_CIFAR10) + "\n", encoding="utf-8")
    patterns = prototypes(rng, 10, 3, 32)
    labels = balanced(rng, examples, 10)
    records = _records(rng, patterns, labels, labels[:, None])
    for number, batch in enumerate(np.array_split(records, _BATCHES), start=1):
        (folder / f"data_batch_{number}.bin").write_bytes(batch.tobytes())
    tested = balanced(rng, examples // 2, 10)
    (folder / "test_batch.bin").write_bytes(_records(rng, patterns, tested, tested[:, None]).tobytes())
    return labels


def _write_cifar100(root: Path, examples: int, rng: np.random.Generator) -> Labels:
    folder = root / "cifar-100-binary"
    folder.mkdir(parents=True, exist_ok=True)
    for kind, count in (("fine", _FINE), ("coarse", _FINE // _GROUP)):
        names = "".join(f"{kind}_{number:02d}\n" for number in range(count))
        (folder / f"{kind}_label_names.txt").write_text(names, encoding="utf-8")
    patterns = prototypes(rng, _FINE, 3, 32)
    parts = {part: balanced(rng, examples // share, _FINE) for part, share in (("train", 1), ("test", 2))}
    for part, labels in parts.items():
        both = np.stack([labels // _GROUP, labels], 1)
        (folder / f"{part}.bin").write_bytes(_records(rng, patterns, labels, both).tobytes())
    return parts["train"]


def _records(
    rng: np.random.Generator, patterns: npt.NDArray[np.float64], labels: Labels, stored: Labels
) -> npt.NDArray[np.uint8]:
    """Labels and then pixels of each image, one row a record."""
    pixels = noisy(rng, patterns[labels]).reshape(len(labels), -1)
    return np.concatenate([stored.astype(np.uint8), pixels], 1)


def _write_human(path: Path, clean: Labels, columns: dict[str, Labels]) -> None:
    import torch

    torch.save({"clean_label": clean, **columns}, path)
