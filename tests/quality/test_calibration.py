"""Confidence beside agreement, against the metric that does the same for one label an example."""

from __future__ import annotations

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.metrics import calibration_error
from truelabel.quality import calibration


def test_the_error_is_that_of_the_metric() -> None:
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(4), 300), rng.integers(0, 4, 300)
    found = calibration(Annotations.from_labels(labels, classes=4), probs, bins=7)
    assert found.error == pytest.approx(calibration_error(probs, labels, bins=7))
    means, shares, counts = zip(*found.bins, strict=True)
    assert sum(counts) == 300
    assert list(means) == sorted(means)
    assert np.dot(counts, means) == pytest.approx(probs.max(-1).sum())
    assert np.dot(counts, shares) == pytest.approx((probs.argmax(-1) == labels).sum())


def test_every_label_of_an_example_counts() -> None:
    annotations = Annotations.from_matrix([[0, 0, 1], [1, -1, -1]])
    found = calibration(annotations, [[0.9, 0.1], [0.6, 0.4]], bins=5)
    np.testing.assert_allclose(found.bins, [(0.6, 0.0, 1), (0.9, 2 / 3, 3)])
    assert found.error == pytest.approx((0.6 + 3 * (0.9 - 2 / 3)) / 4)


def test_bad_input_is_one_line() -> None:
    with pytest.raises(ValueError, match="bins must be at least 1, got 0"):
        calibration(Annotations.from_labels([0, 1]), np.eye(2), bins=0)
    with pytest.raises(ValueError, match="probs must be"):
        calibration(Annotations.from_labels([0, 1]), np.ones((2, 2)))
