"""Every loss works on top of every noise model, unless one gives a density that the other refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from truelabel.learners import Classifier
from truelabel.types import Batch

Units = tuple[int, ...]


def test_a_loss_trains_a_noise_model(
    make_combination: Callable[[], Classifier], takes_density: bool, units: Units, batch: Batch
) -> None:
    learner = make_combination()
    if not takes_density and not learner.predict(batch.inputs).noisy.normalised:
        with pytest.raises(ValueError, match="density"):
            learner(batch)
        return
    step = learner(batch)
    (step.losses.mean() + step.penalty).backward()
    assert torch.equal(step.losses != 0, (batch.labels >= 0).flatten(1).any(1))
    for name, parameter in learner.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.any(), name
