"""Masks of scenes: overlap with the truth, and what happens near the outlines of things."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter, minimum_filter

from truelabel.experiments.measures.measure import Outcome
from truelabel.metrics import mean_iou
from truelabel.training import as_float, in_chunks
from truelabel.types import MISSING

REACH = 5
"""How many pixels an outline reaches to each side: as wide as the void that surrounds things in Pascal VOC."""


def near_outlines(masks: NDArray[np.int16], reach: int = REACH) -> NDArray[np.bool_]:
    """Pixels with another class, or void, at most ``reach`` rows and columns away.

    Args:
        masks: ``(N, H, W)``; -1 is void.
        reach: in pixels.

    Returns:
        ``(N, H, W)``.

    Example:
        >>> near_outlines(np.array([[[0, 0, 0, 1]]], np.int16), reach=1)
        array([[[False, False,  True,  True]]])
    """
    size = (1, 2 * reach + 1, 2 * reach + 1)
    near: NDArray[np.bool_] = maximum_filter(masks, size) != minimum_filter(masks, size)
    return near


def scene_overlap(outcome: Outcome) -> dict[str, float]:
    """Mean intersection over union over the test set (Table 2 and Figure 2 of Collier 2020), void left out.

    ``outline_mean_iou`` is that of the pixels near outlines alone, where people label carelessly (Figure 3). Answers
    are kept as classes, not as probabilities: those of 500 large scenes would not fit into memory.
    """
    scene, learner = outcome.scene, outcome.learner
    truth, classes = scene.test.labels.astype(np.int16), len(scene.test.classes)

    def answer(values: torch.Tensor) -> torch.Tensor:
        return learner.predict(values).clean.argmax(-1).to(torch.int16)

    predicted = in_chunks(learner, answer, scene.test_inputs).numpy()
    near = np.where(near_outlines(truth), truth, np.int16(MISSING))
    return {
        "mean_iou": mean_iou(predicted, truth, classes=classes),
        "outline_mean_iou": mean_iou(predicted, near, classes=classes),
    }


@torch.no_grad()
def outline_uncertainty(outcome: Outcome) -> dict[str, float]:
    r"""Where the variance of class probabilities over draws lies: near outlines of things, or inside them.

    Figure 4 of Collier 2020 shows :math:`v_{uk} = \operatorname{Var}_s\, p^{(s)}_{uk}` as heat maps. Here it is
    averaged over classes, and over the pixels near outlines or all others; ``variance_share_near`` is the part of the
    whole variance that lies near outlines, so that a precise map has more of it. Void pixels do not count. A learner
    without draws of its own has no such variance, and no score.
    """
    scene, learner = outcome.scene, outcome.learner
    truth = scene.test.labels.astype(np.int16)
    kind = next(learner.parameters()).dtype
    near = torch.from_numpy(near_outlines(truth))
    known = torch.from_numpy(truth != MISSING)
    sums, counts = torch.zeros(2, dtype=torch.double), torch.zeros(2, dtype=torch.double)
    learner.eval()
    for image, inputs in enumerate(scene.test_inputs.split(1)):
        uncertainty = learner.uncertainty(as_float(inputs).to(kind))
        if not uncertainty.sampled:
            return {}
        variance = uncertainty.variance[0].mean(-1).double().cpu()
        for place, where in enumerate((near[image] & known[image], ~near[image] & known[image])):
            sums[place] += variance[where].sum()
            counts[place] += where.sum()
    means = {"variance_near": sums[0] / counts[0], "variance_inside": sums[1] / counts[1]}
    scores = {**means, "variance_share_near": sums[0] / sums.sum()}
    # A picture without outlines has nothing near them.
    return {name: float(score) for name, score in scores.items() if torch.isfinite(score)}
