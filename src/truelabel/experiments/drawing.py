"""Masks of simulated readers, drawn once and kept: five readers of MNIST take minutes, and every method needs them."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.atomic import write_atomically
from truelabel.coding import name_array
from truelabel.corruption import Corruption, MaskReaders
from truelabel.experiments.records import alone


def draw(
    corruption: Corruption, labels: Tensor, inputs: Tensor | None, generator: torch.Generator, folder: Path | None
) -> Annotations:
    """What is said of examples; masks are kept in the folder under a hash of all that they depend on.

    Args:
        corruption: how it goes wrong. That of readers of masks has its ``confusion`` afterwards, drawn or read.
        labels: ``(N,)`` or ``(N, *space)``, the truth.
        inputs: of the examples.
        generator: for the draws; where masks are read it stays as it is.
        folder: for masks; None keeps none. Processes that want the same masks at once draw them once.
    """
    if folder is None or not isinstance(corruption, MaskReaders):
        return corruption(labels, inputs, generator)
    key = hashlib.sha256(f"{corruption.readers} {corruption.classes} {corruption.labels_per_example}".encode())
    key.update(f"{tuple(labels.shape)}".encode())
    key.update(labels.to(torch.uint8).numpy().data)
    key.update(generator.get_state().numpy().data)
    path = folder / f"{key.hexdigest()[:16]}.npz"
    with alone(path.with_suffix(".lock")):
        if not path.exists():
            said = corruption(labels, inputs, generator)
            _write(path, said, corruption.confusion)
            return said
    return _read(path, corruption, len(labels))


def _write(path: Path, said: Annotations, confusion: Tensor) -> None:
    file = io.BytesIO()
    np.savez_compressed(
        file, example=said.example, annotator=said.annotator, label=said.label, confusion=confusion.numpy()
    )
    write_atomically(path, file.getvalue())


def _read(path: Path, corruption: MaskReaders, examples: int) -> Annotations:
    with np.load(path, allow_pickle=False) as kept:
        corruption.confusion = torch.from_numpy(kept["confusion"])
        return Annotations(
            kept["example"],
            kept["annotator"],
            kept["label"],
            np.arange(examples),
            name_array(list(corruption.readers)),
            tuple(range(corruption.classes)),
        )
