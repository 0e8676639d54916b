from __future__ import annotations

import numpy as np

from truelabel.experiments.stand_ins.patterns import balanced, digits, noisy, prototypes, wrong


def test_every_class_is_there() -> None:
    counts = np.bincount(balanced(np.random.default_rng(0), 96, 10))
    assert counts.sum() == 96
    assert set(counts.tolist()) == {9, 10}


def test_noise_is_round_the_pattern() -> None:
    rng = np.random.default_rng(0)
    clean = np.full((200, 200), 120.0)
    drawn = noisy(rng, clean).astype(float)
    assert abs(drawn.mean() - 119.5) < 0.5  # bytes are cut off
    assert abs(drawn.std() - 20) < 0.3


def test_patterns_differ_by_class() -> None:
    patterns = prototypes(np.random.default_rng(0), 10, 3, 32)
    assert patterns.shape == (10, 3, 32, 32)
    assert (patterns[..., :8, :8] == patterns[..., :1, :1]).all()
    apart = np.abs(patterns[:, None] - patterns[None]).mean((2, 3, 4)) + 1000 * np.eye(10)
    assert apart.min() > 20


def test_digits_have_their_segments() -> None:
    drawn = digits(np.random.default_rng(0), np.arange(10), 28)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    area = drawn.sum((1, 2))
    assert area.argmin() == 1
    assert area.argmax() == 8
    assert (drawn[:, 0] == 0).all()


def test_wrong_labels_are_another_class() -> None:
    rng = np.random.default_rng(0)
    labels = balanced(rng, 5000, 7)
    said = wrong(rng, labels, 7, 0.3)
    assert abs((said != labels).mean() - 0.3) < 0.02
    assert set(np.unique(said).tolist()) == set(range(7))
    np.testing.assert_array_equal(wrong(rng, labels, 7, 0.0), labels)
    assert (wrong(rng, labels, 7, 1.0) != labels).all()
