from __future__ import annotations

import warnings

import numpy as np
import pytest
from lightning_fabric import Fabric
from sklearn.exceptions import ConvergenceWarning

from truelabel.annotations import Annotations
from truelabel.fusion.em import Climb, Stopping, check_shared, pooled, warn_of_single_labels
from truelabel.fusion.kernels import Votes


def halving(x: float) -> tuple[float, float]:
    """Evidence -x, and half of x."""
    return -x, x / 2


def test_it_stops_when_the_gain_per_label_is_small() -> None:
    climb = Stopping(tolerance=0.01, max_iterations=100).climb(halving, 8.0, labels=100)
    # 8, 4, 2, 1: the last gain is 1 = 0.01 x 100.
    assert climb == Climb(1.0, (-8.0, -4.0, -2.0, -1.0), True)


def test_the_parameters_are_those_of_the_last_evidence() -> None:
    climb = Stopping(tolerance=0.0, max_iterations=3).climb(halving, 8.0, labels=1)
    assert climb == Climb(2.0, (-8.0, -4.0, -2.0), False)


def test_standing_still_is_convergence_whatever_the_tolerance() -> None:
    climb = Stopping(tolerance=0.0, max_iterations=100).climb(lambda x: (1.0, x), 0.0, labels=0)
    assert climb == Climb(0.0, (1.0, 1.0), True)


def test_a_climb_cut_short_says_how_to_go_on() -> None:
    stopping = Stopping(tolerance=0.0, max_iterations=3)
    message = "glad stopped after 3 iterations while the evidence rose by 2.0e-01 per label: raise max_iterations or"
    with pytest.warns(ConvergenceWarning, match=message):
        stopping.warn("glad", stopping.climb(halving, 8.0, 10), 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stopping.warn("glad", Climb(0.0, (1.0,), True), 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -1.0}, "tolerance must be at least 0, got -1.0"),
        ({"tolerance": float("nan")}, "tolerance must be at least 0, got nan"),
        ({"max_iterations": 0}, "max_iterations must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Stopping(**({"tolerance": 0.1, "max_iterations": 5} | options))  # type: ignore[arg-type]


def test_one_process_has_everything() -> None:
    for fabric in (None, Fabric(accelerator="cpu", devices=1)):
        array, number = pooled(fabric, np.ones((2, 3)), 4)
        np.testing.assert_array_equal(array, np.ones((2, 3)))
        assert number == 4.0
        check_shared(fabric, Annotations.from_labels([0, 1]))


def test_single_labels_cannot_be_compared() -> None:
    with pytest.warns(UserWarning, match="no example has two labels.*mace may give worse labels.*use majority_vote"):
        warn_of_single_labels("mace", Votes(Annotations.from_labels([0, 1])), None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_single_labels("mace", Votes(Annotations.from_matrix([[0, 1], [1, -1]])), None)
        warn_of_single_labels("mace", Votes(Annotations.from_matrix([[-1, -1]], classes=2)), None)
