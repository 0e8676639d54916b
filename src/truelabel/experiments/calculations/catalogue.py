"""All calculations by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from truelabel.experiments.calculations.annotator_groups import annotator_group
from truelabel.experiments.calculations.confusion_size import confusion_size
from truelabel.experiments.calculations.logistic_normal import attenuated_loss, simplex_equivalence
from truelabel.experiments.calculations.softmax_approximation import softmax_approximation

Calculate = Callable[..., Mapping[str, Any]]
"""``(seed, **options) -> scores`` by name: numbers, or lists of numbers."""

CALCULATIONS: dict[str, Calculate] = {
    "annotator-group": annotator_group,
    "attenuated-loss": attenuated_loss,
    "confusion-size": confusion_size,
    "simplex-equivalence": simplex_equivalence,
    "softmax-approximation": softmax_approximation,
}


def calculate(name: str, seed: int, **options: Any) -> Mapping[str, Any]:
    """Scores of the calculation of that name.

    Example:
        >>> calculate("attenuated-loss", 0, scale=0.5, residual=3.0)["loss"]
        1.5986122886681098
    """
    if name not in CALCULATIONS:
        raise ValueError(f"there is no calculation {name!r}: choose from {', '.join(CALCULATIONS)}")
    return CALCULATIONS[name](seed, **options)
