"""Labels that are probably wrong, the worst first, each with the class that is more probable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.annotations import Annotations
from truelabel.checks import check_whole
from truelabel.coding import name_array
from truelabel.quality.belief import label_quality


@dataclass(frozen=True, eq=False)
class Suspects:
    """Labels that name another class than the most probable, the least probable first; M of them.

    Attributes:
        index: ``(M,)``, place of the label in the table of annotations.
        example: ``(M,)`` names.
        annotator: ``(M,)`` names.
        label: ``(M,)``, names of the classes given.
        probability_right: ``(M,)``, ascending.
        suggested: ``(M,)``, names of the most probable classes.
        suggested_probability: ``(M,)``.
        judged: how many labels were looked at.

    Example:
        >>> found = rank_suspects(Annotations.from_labels(["no", "yes"]), [[0.2, 0.8], [0.1, 0.9]])
        >>> len(found), found.columns()["suggested"].tolist()
        (1, ['yes'])
    """

    index: NDArray[np.int64]
    example: NDArray[Any]
    annotator: NDArray[Any]
    label: NDArray[Any]
    probability_right: NDArray[np.float64]
    suggested: NDArray[Any]
    suggested_probability: NDArray[np.float64]
    judged: int

    def __len__(self) -> int:
        return len(self.index)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The table, by name of the column, for any data frame."""
        names = ("example", "annotator", "label", "probability_right", "suggested", "suggested_probability")
        return {name: getattr(self, name) for name in names}


def rank_suspects(annotations: Annotations, belief: ArrayLike, top: int | None = None) -> Suspects:
    """The labels that name another class than the most probable one.

    Args:
        annotations: what was said.
        belief: ``(N, K)``, probability of each class given the input and all labels of the example; see
            :func:`true_class_probs`.
        top: how many at most; all by default.

    Returns:
        The least probable first; of equals the one that stands first in the table.

    Example:
        >>> annotations = Annotations.from_matrix([["cat", "dog"], ["dog", "dog"]], annotators=["ann", "bob"])
        >>> found = rank_suspects(annotations, [[0.9, 0.1], [0.3, 0.7]])
        >>> found.annotator.tolist(), found.label.tolist(), found.suggested.tolist(), found.probability_right.tolist()
        (['bob'], ['dog'], ['cat'], [0.1])
    """
    if top is not None:
        check_whole("top", top)
    quality, q = label_quality(annotations, belief), np.asarray(belief, np.float64)
    best = q.argmax(-1)
    doubtful = np.flatnonzero(best[annotations.example] != annotations.label)
    index = doubtful[np.argsort(quality[doubtful], kind="stable")][:top]
    example, classes = annotations.example[index], name_array(annotations.classes)
    return Suspects(
        index=index,
        example=annotations.examples[example],
        annotator=annotations.annotators[annotations.annotator[index]],
        label=classes[annotations.label[index]],
        probability_right=quality[index],
        suggested=classes[best[example]],
        suggested_probability=q[example, best[example]],
        judged=annotations.size,
    )
