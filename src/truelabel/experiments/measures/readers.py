"""How readers err, and how well a method knows it: their masks, their confusion, and what is predicted of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.measures.readings import Readings, readings_of
from truelabel.learners import Learner, ProbabilisticUNet
from truelabel.metrics import batch_energy_distance, confusion_rmse, dice, mean_confusion, reader_confusion
from truelabel.training import as_float, in_chunks

DRAWS = 16
"""Masks drawn of a model that draws masks, as in Kohl 2018."""

PIXELS = 2**20
"""Matrices of one reader that are held at a time."""


def reader_masks(outcome: Outcome) -> dict[str, float]:
    """How far readers are from the truth, whatever was learned: Figures 2 and 4 of Zhang 2020.

    Of each reader ``reader_dice_NAME``, mean Dice of the foreground; ``reader_missed_NAME``, share of foreground pixels
    drawn as background (green in the figure); ``reader_added_NAME``, share of background pixels drawn as foreground
    (red). ``readers_dice`` is the mean over readers, the axis of Figure 4.
    """
    readings = readings_of(outcome.scene)
    real = reader_confusion(readings.masks, readings.truth, readings.classes)
    is_foreground = readings.truth > 0
    scores: dict[str, float] = {}
    for r, name in enumerate(readings.readers):
        masks, drawn = readings.masks[:, r], readings.drawn_by(r)
        scores[f"reader_dice_{name}"] = _mean_dice(masks[drawn], readings.truth[drawn], readings.classes)
        seen = is_foreground & (masks >= 0)
        if seen.any():
            scores[f"reader_missed_{name}"] = float((masks[seen] == 0).mean())
        scores[f"reader_added_{name}"] = float(1 - real[r, 0, 0])
    of_readers = [scores[f"reader_dice_{name}"] for name in readings.readers]
    return _finite({"readers_dice": _mean(of_readers), **scores})


def reader_confusion_error(outcome: Outcome) -> dict[str, float]:
    r"""Root mean squared error of readers' confusion matrices, ``confusion_rmse``, and of each reader alone.

    .. math::
        \hat T^{(r)}[k, :] = \frac{1}{|\{u : y_u = k\}|} \sum_{u : y_u = k} \hat T^{(r)}_u(x)[k, :], \qquad
        \sqrt{\frac{1}{R} \sum_r \frac{1}{K^2} \sum_{k, j} \big(\hat T^{(r)}[k, j] - T^{(r)}[k, j]\big)^2}

    :math:`T^{(r)}` is counted over all pixels of the same images. A method whose matrices are the same at all pixels,
    or that fuses and has one matrix a reader, is compared as it is. Nothing for a method without matrices.

    "CM estimation" of Tables 1, 2, 4 and 5 of Zhang 2020, as its text words it; its code computes something else.
    """
    readings = readings_of(outcome.scene)
    estimated = _estimated(outcome, readings)
    if estimated is None:
        return {}
    real = reader_confusion(readings.masks, readings.truth, readings.classes)
    each = {
        f"confusion_rmse_{name}": confusion_rmse(estimated[r : r + 1], real[r : r + 1])
        for r, name in enumerate(readings.readers)
    }
    return _finite({"confusion_rmse": confusion_rmse(estimated, real), **each})


def reader_predictions(outcome: Outcome) -> dict[str, float]:
    r"""What a method predicts that readers draw, against what they drew.

    ``energy_iou`` and ``energy_dice``, mean over images of the generalised energy distance
    :math:`2 E[d(S, Y)] - E[d(S, S')] - E[d(Y, Y')]` with d = 1 - IoU (Kohl 2018) or 1 - Dice (Table 3 of Zhang 2020): S
    are the masks predicted of the readers, draws of a model that draws masks, or the one mask of a method that does not
    tell readers apart; Y are those that readers drew. ``predicted_dice``, and ``predicted_dice_NAME`` of each reader:
    Dice of the mask predicted of a reader against theirs, for methods that tell readers apart (Figures 5 to 8).
    """
    readings = readings_of(outcome.scene)
    found = predicted_masks(outcome.learner, readings)
    scores = {
        f"energy_{kind}": _mean(batch_energy_distance(found, readings.masks, distance=kind, classes=readings.classes))
        for kind in ("iou", "dice")
    }
    if found.shape[1] == len(readings.readers) and not isinstance(outcome.learner, ProbabilisticUNet):
        each = {}
        for r, name in enumerate(readings.readers):
            drawn = readings.drawn_by(r)
            each[f"predicted_dice_{name}"] = _mean_dice(found[drawn, r], readings.masks[drawn, r], readings.classes)
        scores |= {"predicted_dice": _mean(each.values()), **each}
    return _finite(scores)


def predicted_masks(learner: Learner, readings: Readings) -> NDArray[np.uint8]:
    """Masks predicted of readers ``(N, R, *space)``, draws ``(N, DRAWS, *space)``, or one mask ``(N, 1, *space)``."""

    def answer(values: Tensor) -> Tensor:
        if isinstance(learner, ProbabilisticUNet):
            # The same draws for every part of the images, which then do not depend on how they are parted.
            log_probs = learner.sample(values, DRAWS, torch.Generator().manual_seed(0)).movedim(0, 1)
            return log_probs.argmax(-1).to(torch.uint8)
        said = learner.predict(values, readings.everybody.expand(len(values), -1)).noisy.all()
        return said.argmax(-1).movedim(-1, 1).to(torch.uint8)

    masks: NDArray[np.uint8] = in_chunks(learner, answer, readings.inputs, chunk=250).numpy()
    return masks


def _estimated(outcome: Outcome, readings: Readings) -> NDArray[np.float64] | None:
    """``(R, K, K)``; None if nobody's confusion was estimated."""
    if next(_maps(outcome.learner, readings), None) is not None:
        return mean_confusion(_maps(outcome.learner, readings), readings.truth)
    beside = None if outcome.learned is None else outcome.learned.confusion
    if beside is None or len(beside) != len(readings.readers):
        return None
    matrices: NDArray[np.float64] = beside.double().cpu().numpy()
    return matrices


@torch.no_grad()
def _maps(learner: Learner, readings: Readings) -> Iterator[NDArray[np.float64]]:
    """Matrices of all readers at all pixels, ``(R, *space, K, K)``, image by image; nothing if there are none."""
    learner.eval()
    kind = next(learner.parameters()).dtype
    several = max(1, PIXELS // math.prod(readings.truth.shape[1:]) // len(readings.readers))
    for part in readings.inputs.split(several):
        matrices = learner.matrices_at(as_float(part).to(kind), readings.everybody.expand(len(part), -1))
        if matrices is None or matrices.shape[-3] != len(readings.readers):
            return
        yield from matrices.movedim(-3, 1).double().cpu().numpy()


def _mean_dice(found: NDArray[Any], drawn: NDArray[Any], classes: int) -> float:
    return _mean(dice(found, drawn, classes=classes))


def _mean(values: Iterable[float]) -> float:
    """Of the numbers that are known; NaN if there are none."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _finite(scores: Mapping[str, float]) -> dict[str, float]:
    """What could be measured: a reader who drew nothing, or a class that does not occur, has no number."""
    return {name: value for name, value in scores.items() if math.isfinite(value)}
