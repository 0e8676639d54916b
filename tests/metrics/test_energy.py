from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel.metrics import batch_energy_distance, dice, energy, generalised_energy_distance, iou


def apart(a: NDArray[Any], b: NDArray[Any], kind: str) -> float:
    """One minus the mean over foreground classes that one of the two masks has."""
    scores = []
    for k in set(a.tolist()) | set(b.tolist()):
        if k > 0:
            both, one, other = ((a == k) & (b == k)).sum(), (a == k).sum(), (b == k).sum()
            scores.append(both / (one + other - both) if kind == "iou" else 2 * both / (one + other))
    return 1 - float(np.mean(scores)) if scores else 0.0


def reference(samples: NDArray[Any], references: NDArray[Any], kind: str, weights: Any = None) -> float:
    drawn = [mask for mask in references if (mask >= 0).any()]
    in_all = np.all([mask >= 0 for mask in (*samples, *drawn)], axis=0)
    samples, drawn = samples[:, in_all], [mask[in_all] for mask in drawn]
    w = np.full(len(samples), 1 / len(samples)) if weights is None else np.asarray(weights) / np.sum(weights)
    across = sum(w[i] * apart(s, y, kind) for i, s in enumerate(samples) for y in drawn) / len(drawn)
    within = sum(w[i] * w[j] * apart(s, t, kind) for i, s in enumerate(samples) for j, t in enumerate(samples))
    readers = sum(apart(y, z, kind) for y in drawn for z in drawn) / len(drawn) ** 2
    return float(2 * across - within - readers)


def masks(count: int, classes: int, seed: int, space: tuple[int, ...] = (6, 5)) -> NDArray[Any]:
    return np.random.default_rng(seed).choice(classes, (count, *space), p=[0.7, *[0.3 / (classes - 1)] * (classes - 1)])


@pytest.mark.parametrize("kind", ["iou", "dice"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("space", [(6, 5), (3, 4, 2)])
def test_it_follows_its_definition(kind: Any, classes: int, space: tuple[int, ...]) -> None:
    samples, references = masks(5, classes, 0, space), masks(3, classes, 1, space)
    samples[0] = 0
    references[0] = 0
    samples[1][samples[1] == 1] = 0
    expected = reference(samples, references, kind)
    assert expected > 0.05
    assert generalised_energy_distance(samples, references, distance=kind) == pytest.approx(expected)
    weights = [1.0, 2.0, 0.0, 3.0, 0.5]
    expected = reference(samples, references, kind, weights)
    result = generalised_energy_distance(samples, references, distance=kind, weights=weights)
    assert result == pytest.approx(expected)


def test_binary_distances_are_those_of_the_overlap() -> None:
    samples, references = masks(1, 2, 0), masks(1, 2, 1)
    for kind, score in (("iou", iou), ("dice", dice)):
        expected = 2 * (1 - score(samples, references)[0])
        result = generalised_energy_distance(samples, references, distance=kind)  # type: ignore[arg-type]
        assert result == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["iou", "dice"])
def test_the_same_masks_are_at_no_distance(kind: Any) -> None:
    drawn = masks(4, 3, 2)
    assert generalised_energy_distance(drawn, drawn[::-1], distance=kind) == pytest.approx(0, abs=1e-12)
    twice = generalised_energy_distance(drawn, np.concatenate([drawn, drawn]), distance=kind)
    assert twice == pytest.approx(0, abs=1e-12)
    assert generalised_energy_distance(drawn[:2], drawn[[0, 1, 1, 1]], weights=[1, 3]) == pytest.approx(0, abs=1e-12)


def test_empty_masks_are_at_no_distance_and_full_disagreement_is_two() -> None:
    empty, full = np.zeros((2, 4, 4), int), np.ones((3, 4, 4), int)
    assert generalised_energy_distance(empty, empty) == 0
    assert generalised_energy_distance(empty, full) == pytest.approx(2)


@pytest.mark.parametrize("kind", ["iou", "dice"])
def test_readers_and_voxels_that_are_missing_are_left_out(kind: Any) -> None:
    samples, references = masks(3, 3, 3), masks(4, 3, 4)
    references[1] = -1
    references[2, :2] = -1
    expected = reference(samples, references, kind)
    assert generalised_energy_distance(samples, references, distance=kind) == pytest.approx(expected)
    assert np.isnan(generalised_energy_distance(samples, np.full((2, 6, 5), -1)))
    references[0, 2:] = -1
    assert np.isnan(generalised_energy_distance(samples, references)), "no voxel is in all masks"


def test_masks_that_lack_different_voxels_are_compared_on_those_that_all_have() -> None:
    sample = np.array([[1, 1, 1, 1, 1, 1, 1, 1, 0]])
    references = np.array([[1, 1, 1, 1, -1, -1, -1, -1, 1], [-1, -1, -1, -1, 1, 1, 1, 1, 0]])
    # Pair by pair on what both have, the sample is at 1/5 and 0 from readers who are at 1 from each other, and
    # 2 (1/5 + 0) / 2 - 2 / 4 is below zero. Only the last voxel is in all: there it is 1 and 0, and 1.
    assert generalised_energy_distance(sample, references) == pytest.approx(2 * (1 + 0) / 2 - 2 / 4)


@pytest.mark.parametrize("kind", ["iou", "dice"])
def test_distances_are_of_negative_type_so_that_nothing_is_clipped(kind: Any) -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, 4, (6, 5)) * (rng.random((6, 5)) < rng.random())
        far = np.array([[apart(a, b, kind) for a in drawn] for b in drawn])
        centred = far - far.mean(0) - far.mean(1)[:, None] + far.mean()
        assert np.linalg.eigvalsh(-centred).min() > -1e-12
        missing = np.where(rng.random((6, 5)) < 0.15, -1, drawn)
        result = generalised_energy_distance(missing[:3], missing[3:], distance=kind)
        in_all = (missing[(missing >= 0).any(1) | (np.arange(6) < 3)] >= 0).all(0)
        expected = reference(missing[:3], missing[3:], kind) if in_all.any() else float("nan")
        assert result == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_parts_of_large_masks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, references = masks(3, 3, 5), masks(2, 3, 6)
    whole = generalised_energy_distance(samples, references)
    monkeypatch.setattr(energy, "_CHUNK", 20)
    assert generalised_energy_distance(samples, references) == pytest.approx(whole)


def test_a_batch_is_image_by_image() -> None:
    samples, references = (masks(12, 3, seed).reshape(4, 3, 6, 5) for seed in (7, 8))
    weights = np.random.default_rng(0).random((4, 3))
    expected = [
        generalised_energy_distance(s, y, distance="dice", weights=w)
        for s, y, w in zip(samples, references, weights, strict=True)
    ]
    result = batch_energy_distance(torch.from_numpy(samples), references, distance="dice", weights=weights)
    np.testing.assert_array_equal(result, expected)
    assert batch_energy_distance(samples, list(references)).shape == (4,)


def test_what_cannot_be_is_refused() -> None:
    one = np.ones((1, 2, 2), int)
    with pytest.raises(ValueError, match="distance must be 'iou' or 'dice', got 'hausdorff'"):
        generalised_energy_distance(one, one, distance="hausdorff")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"samples \(1, 2, 2\) and references \(1, 2, 3\) must be masks of one image"):
        generalised_energy_distance(one, np.ones((1, 2, 3), int))
    with pytest.raises(ValueError, match=r"class 2 is outside 0\.\.1: pass a larger classes="):
        generalised_energy_distance(one, 2 * one, classes=2)
    for weights in ([1.0, 1.0], [-1.0], [0.0], [float("nan")]):
        with pytest.raises(ValueError, match="weights must be 1 numbers, one a sample"):
            generalised_energy_distance(one, one, weights=weights)
    with pytest.raises(ValueError, match="samples are of 1 images and references of 2"):
        batch_energy_distance([one], [one, one])
