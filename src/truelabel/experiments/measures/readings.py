"""What every reader drew of images that are used to score a method: the same for all methods of a scene."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import MaskReaders
from truelabel.experiments.drawing import draw
from truelabel.experiments.scene import Scene
from truelabel.training.seeds import generator_of
from truelabel.types import MISSING

MOST = 1000
"""Training images that are looked at where readers are real: as many as LIDC has to validate on, at their end."""


@dataclass(frozen=True, eq=False)
class Readings:
    """Images with their true masks and those of all readers.

    Attributes:
        inputs: ``(N, C, *space)`` on the device of the scene, floats or bytes.
        truth: ``(N, *space)`` integers.
        masks: ``(N, R, *space)`` integers, -1 where a reader drew nothing.
        readers: ``(R,)``, their names.
        classes: K.
    """

    inputs: Tensor
    truth: NDArray[Any]
    masks: NDArray[Any]
    readers: tuple[str, ...]
    classes: int

    @property
    def everybody(self) -> Tensor:
        """``(R,)``, all readers, on the device of the images."""
        return torch.arange(len(self.readers), device=self.inputs.device)

    def drawn_by(self, reader: int) -> NDArray[np.bool_]:
        """``(N,)``, which images a reader drew anything of."""
        drawn: NDArray[np.bool_] = (self.masks[:, reader] != MISSING).reshape(len(self.masks), -1).any(1)
        return drawn


_KNOWN: WeakKeyDictionary[Scene, Readings] = WeakKeyDictionary()


def readings_of(scene: Scene) -> Readings:
    """Readings of the test images by all simulated readers, drawn once for all measures of a scene.

    All of them draw every test image, also where only one of them drew each training image, so that every method is
    compared with the same masks. Where it is not known what real readers drew of the test images, the last :data:`MOST`
    training images, and what was drawn of them, stand in.

    Differs from Zhang 2020, who estimates on the validation part: test images were seen by nobody, and their readers
    are the same.
    """
    if scene not in _KNOWN:
        _KNOWN[scene] = _told(scene) if scene.corruption or scene.said_really_of_test else _training(scene)
    return _KNOWN[scene]


def _told(scene: Scene) -> Readings:
    if isinstance(scene.corruption, MaskReaders):
        everybody = MaskReaders(scene.corruption.readers, scene.corruption.classes)
        generator = generator_of(scene.seed, "experiment", "test noise")
        said = draw(everybody, scene.test_labels, None, generator, scene.masks)
    else:
        said = scene.said_of_test
    return _readings(scene.test_inputs, scene.test.labels, said, len(scene.test.classes))


def _training(scene: Scene) -> Readings:
    start = max(0, len(scene.train) - MOST)
    inputs = torch.from_numpy(scene.train.inputs[start:]).to(scene.device)
    return _readings(inputs, scene.train.labels[start:], scene.said, len(scene.train.classes), start)


def _readings(inputs: Tensor, truth: NDArray[Any], said: Annotations, classes: int, start: int = 0) -> Readings:
    # Not said.matrix(), which takes eight bytes a pixel.
    masks = np.full((len(truth), len(said.annotators), *said.space), MISSING, said.label.dtype)
    rows = said.example >= start
    masks[said.example[rows] - start, said.annotator[rows]] = said.label[rows]
    return Readings(inputs, truth, masks, tuple(str(name) for name in said.annotators), classes)
