from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from truelabel.losses import CrossEntropy, Loss, from_logits, require_probabilities
from truelabel.types import Batch, Categorical, Prediction


class Brier:
    """A loss of one's own: the squared distance of beliefs and label."""

    def __call__(self, prediction: Prediction, batch: Batch) -> Tensor:
        probs = prediction.noisy.all().exp()
        target = (
            torch.nn.functional.one_hot(batch.labels.clamp_min(0), probs.shape[-1])
            if batch.soft is None
            else batch.soft
        )
        return ((probs - target) ** 2).sum(-1)


def brier(logits: list[float], target: list[float]) -> float:
    """The same for one unit, in plain Python."""
    total = sum(math.exp(value) for value in logits)
    return sum((math.exp(value) / total - wanted) ** 2 for value, wanted in zip(logits, target, strict=True))


def test_any_callable_of_prediction_and_batch_is_a_loss() -> None:
    assert isinstance(Brier(), Loss)
    assert isinstance(CrossEntropy(), Loss)
    assert not isinstance("cross-entropy", Loss)


def test_from_logits_by_hand_with_hard_labels() -> None:
    logits, labels = torch.randn(4, 3, dtype=torch.double), [2, -1, 0, 1]
    eye = torch.eye(3).tolist()
    expected = [0.0 if k < 0 else brier(row, eye[k]) for row, k in zip(logits.tolist(), labels, strict=True)]
    values = from_logits(Brier(), logits, torch.tensor(labels))
    torch.testing.assert_close(values, torch.tensor(expected, dtype=torch.double))


def test_from_logits_by_hand_with_soft_targets() -> None:
    logits, soft = torch.randn(4, 3, dtype=torch.double), torch.rand(4, 3, dtype=torch.double)
    expected = [brier(row, target) for row, target in zip(logits.tolist(), soft.tolist(), strict=True)]
    torch.testing.assert_close(from_logits(Brier(), logits, soft), torch.tensor(expected, dtype=torch.double))


def test_pixels_are_units_like_examples() -> None:
    logits, labels = torch.randn(2, 3, 4, 5), torch.randint(-1, 5, (2, 3, 4))
    flat = from_logits(Brier(), logits.view(-1, 5), labels.view(-1))
    torch.testing.assert_close(from_logits(Brier(), logits, labels), flat.view(2, 3, 4))


def test_a_single_unit_needs_no_axis() -> None:
    logits = torch.randn(3)
    value = from_logits(CrossEntropy(), logits, torch.tensor(2))
    torch.testing.assert_close(value, -logits.log_softmax(-1)[2])


def test_logits_are_normalised_once() -> None:
    logits, labels = torch.randn(6, 3), torch.randint(3, (6,))
    values = from_logits(CrossEntropy(), logits, labels)
    torch.testing.assert_close(from_logits(CrossEntropy(), logits + 100, labels), values)
    torch.testing.assert_close(from_logits(CrossEntropy(), logits.log_softmax(-1), labels), values)


def test_a_loss_sees_one_slot_with_weight_one() -> None:
    seen: list[tuple[Prediction, Batch]] = []

    def look(prediction: Prediction, batch: Batch) -> Tensor:
        seen.append((prediction, batch))
        return torch.zeros(batch.labels.shape)

    logits, labels = torch.randn(3, 2, 4), torch.randint(-1, 4, (3, 2))
    from_logits(look, logits, labels)
    prediction, batch = seen[0]
    assert torch.equal(batch.labels, labels.unsqueeze(-1))
    assert torch.equal(batch.weights, torch.ones(3, 1))
    assert batch.annotators.tolist() == [[0]] * 3
    assert batch.soft is None
    torch.testing.assert_close(prediction.clean, logits.log_softmax(-1))
    assert torch.equal(prediction.noisy.all(), prediction.clean.unsqueeze(-2))


def test_an_infinite_loss_of_a_missing_label_is_hidden() -> None:
    def infinite(prediction: Prediction, batch: Batch) -> Tensor:
        return torch.where(batch.labels >= 0, 1.0, torch.inf)

    assert from_logits(infinite, torch.zeros(3, 2), torch.tensor([1, -1, 0])).tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "labels",
    [
        torch.zeros(4),
        torch.zeros(4, 3, dtype=torch.long),
        torch.zeros(3, dtype=torch.long),
        torch.zeros(4, 1, dtype=torch.long),
        torch.zeros(4, 2),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: Tensor) -> None:
    with pytest.raises(ValueError, match=r"labels must be integers \(4,\) or floats \(4, 3\), got"):
        from_logits(CrossEntropy(), torch.zeros(4, 3), labels)


def test_only_a_density_lacks_probabilities() -> None:
    class Density(Categorical):
        normalised = False

    values = torch.zeros(2, 1, 3).log_softmax(-1)
    require_probabilities(Prediction(values[:, 0], Categorical(values), torch.zeros(())), "brier")
    with pytest.raises(ValueError, match="brier needs probabilities, but this noise model gives a density"):
        require_probabilities(Prediction(values[:, 0], Density(values), torch.zeros(())), "brier")
