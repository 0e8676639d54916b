from __future__ import annotations

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from truelabel import Annotations
from truelabel.learners import Learner
from truelabel.training import TrainingSet, scoring
from truelabel.types import Batch, Categorical, Prediction, Step


class Oracle(Learner):
    """Predicts the first input and charges the second."""

    def forward(self, batch: Batch) -> Step:
        assert not self.training
        return Step(batch.inputs[:, 1], torch.zeros(()), batch.inputs[:, 0].long(), batch.inputs[:, 1])

    def predict(self, inputs: Tensor) -> Prediction:
        return Prediction(inputs, Categorical(inputs), torch.zeros(()))


def test_scores_count_labels_and_average_examples(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "CHUNK", 2)
    annotations = Annotations.from_matrix([[0, 1, -1], [2, -1, -1], [1, 1, 1], [0, 0, 2]])
    data = TrainingSet(torch.tensor([[0.0, 1.0], [0.0, 2.0], [1.0, 3.0], [2.0, 6.0]]), annotations)
    scores = scoring.noisy_scores(fabric, Oracle(), data, torch.tensor([0, 2, 3]))
    assert scores == {"valid_loss": pytest.approx(10 / 3), "valid_accuracy": pytest.approx((1 + 3 + 1) / 8)}
