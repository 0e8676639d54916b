from __future__ import annotations

import pytest
import torch

from truelabel.corruption import symmetric
from truelabel.corruption.class_dependent import INCREASED, MAIN, REDUCED, UNIFORM, class_dependent

PUBLISHED = pytest.mark.parametrize(
    ("rates", "mislabelled", "best_log_likelihood"),
    [(MAIN, 0.18, -0.704), (REDUCED, 0.09, -0.426), (INCREASED, 0.288, -1.074), (UNIFORM, 0.18, -0.867)],
    ids=["main", "reduced", "increased", "uniform"],
)


def test_a_matrix_by_hand() -> None:
    expected = [[1.0, 0.0, 0.0, 0.0], [0.1, 0.7, 0.1, 0.1], [0.2, 0.2, 0.4, 0.2], [0.25, 0.25, 0.25, 0.25]]
    torch.testing.assert_close(class_dependent([0.0, 0.4, 0.8, 1.0]), torch.tensor(expected, dtype=torch.double))


@PUBLISHED
def test_the_share_of_wrong_labels(rates: tuple[float, ...], mislabelled: float, best_log_likelihood: float) -> None:
    assert (1 - class_dependent(rates).diagonal()).mean().item() == pytest.approx(mislabelled, abs=1e-12)


@PUBLISHED
def test_the_best_noisy_log_likelihood(
    rates: tuple[float, ...], mislabelled: float, best_log_likelihood: float
) -> None:
    # Who knows the true class and the noise reaches minus the entropy of a row, on average over balanced classes.
    entropy = torch.distributions.Categorical(probs=class_dependent(rates)).entropy()
    assert -entropy.mean().item() == pytest.approx(best_log_likelihood, abs=5e-4)


def test_reduced_is_half_of_main() -> None:
    assert pytest.approx([rate / 2 for rate in MAIN]) == REDUCED


def test_equal_rates_are_symmetric_noise() -> None:
    torch.testing.assert_close(class_dependent(UNIFORM), symmetric(10, 0.2, kind="redraw"))


@pytest.mark.parametrize("rates", [[], [0.5], [0.5, 1.2], [-0.1, 0.0], [float("nan"), 0.0]])
def test_rates_must_be_probabilities(rates: list[float]) -> None:
    with pytest.raises(ValueError, match="rates must be probabilities, one for each of at least two classes"):
        class_dependent(rates)
