"""How well true masks are found: Dice of the foreground."""

from __future__ import annotations

from truelabel.experiments.measures.measure import Outcome
from truelabel.metrics import dice


def foreground_dice(outcome: Outcome) -> dict[str, float]:
    r"""Mean Dice of the test images against their true masks.

    .. math:: \frac{1}{N (K - 1)} \sum_n \sum_{k \ge 1} \frac{2\,|A_{nk} ∩ B_{nk}|}{|A_{nk}| + |B_{nk}|}

    1 where both masks are empty. ``dice`` leaves the background out; ``dice_all_classes`` has it in the mean, as in the
    published code of Zhang 2020, and is far higher. The paper does not say which of the two it prints.
    """
    found = outcome.test_probs.argmax(-1).numpy()
    per_class = dice(
        found, outcome.scene.test.labels, classes=len(outcome.scene.test.classes), background=True, per_class=True
    )
    return {"dice": float(per_class[:, 1:].mean()), "dice_all_classes": float(per_class.mean())}
