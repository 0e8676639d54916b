"""Labels that somebody reviewed, for ``truelabel train --decisions``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truelabel import Annotations
    from truelabel.cli.sources import Inputs


def apply_decisions(
    inputs: Inputs, annotations: Annotations, decisions: Path | None, review: Any
) -> tuple[Inputs, Annotations]:
    """Inputs and annotations after a review.

    An example or annotator that the reviewer left without any label goes too: that is what "remove" asks for. Where
    some had none before, nothing goes, so that the usual message tells of them.

    Args:
        inputs: of the examples of ``annotations``, in the same order.
        annotations: what was said.
        decisions: the table; None if there was no review.
        review: "replace" or "add"; None for the default.
    """
    import numpy as np

    if decisions is None:
        if review is not None:
            raise ValueError("--review says what to do with --decisions: name their table, or leave it out")
        return inputs, annotations
    if review not in (None, "replace", "add"):
        raise ValueError(f"--review must be replace or add, got {review!r}")
    after = annotations.apply(decisions, how=review or "replace")
    if annotations.counts.all() and not after.counts.all():
        rest = np.flatnonzero(after.counts)
        inputs, after = inputs.take(rest), after.take(rest)
    if annotations.workload.all():
        after = after.without_silent_annotators()
    return inputs, after
