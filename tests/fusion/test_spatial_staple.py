from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, binary_erosion
from sklearn.exceptions import ConvergenceWarning

from truelabel.fusion import SpatialFused, spatial_staple, staple, vote_masks

Mask = NDArray[np.integer[Any]]
Make = Callable[..., Mask]


def dice(mask: Mask, truth: Mask) -> float:
    return float(2 * ((mask == 1) & (truth == 1)).sum() / ((mask == 1).sum() + (truth == 1).sum()))


def disc(radius: float, size: int = 64) -> Mask:
    rows, columns = np.mgrid[:size, :size] - size / 2
    return np.asarray(rows**2 + columns**2 < radius**2, np.uint8)


def around(place: tuple[int, ...], window: tuple[int, ...], space: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Voxels of the window round a place."""
    ranges = [
        range(max(0, at - size // 2), min(length, at + size // 2 + 1))
        for at, size, length in zip(place, window, space, strict=True)
    ]
    return list(product(*ranges))


def slow_step(masks: Mask, believed: Any, prior: Any, overall: Any, window: tuple[int, ...], anchor: float) -> Any:
    """One iteration in plain loops: the posterior after, and every local matrix ``(R, *space, K, K)``."""
    space, classes = masks.shape[1:], overall.shape[-1]
    kappa = anchor * np.prod(window)
    local = np.empty((len(masks), *space, classes, classes))
    after = np.array(prior, np.float64)
    for place in np.ndindex(*space):
        near = around(place, window, space)
        for r, mask in enumerate(masks):
            counts = kappa * overall[r]
            for other in near:
                if mask[other] >= 0:
                    counts[:, mask[other]] += believed[other]
            local[(r, *place)] = counts / counts.sum(-1, keepdims=True)
            if mask[place] >= 0:
                after[place] *= np.maximum(local[(r, *place)][:, mask[place]], 1e-6)
        after[place] /= after[place].sum()
    return after, local


def slow_prior(masks: Mask, posterior: Any, elsewhere: Any, window: tuple[int, ...]) -> Any:
    prior, labelled = np.empty(posterior.shape), masks.max(0) >= 0
    for place in np.ndindex(*masks.shape[1:]):
        near = [other for other in around(place, window, masks.shape[1:]) if labelled[other]]
        prior[place] = np.mean([posterior[other] for other in near], 0) if near else elsewhere
    prior = prior.clip(0.01, 0.99)
    return prior / prior.sum(-1, keepdims=True)


@pytest.mark.parametrize(("space", "window"), [((40,), (5,)), ((8, 9), (3, 5)), ((4, 5, 6), (3, 3, 5))])
@pytest.mark.parametrize("gaps", [False, True])
def test_iterations_in_plain_loops(
    space: tuple[int, ...], window: tuple[int, ...], gaps: bool, blobs: Make, read_by: Make
) -> None:
    masks = read_by(blobs(space, 3), [0.1, 0.2, 0.3]).astype(np.int8)
    if gaps:
        masks[np.random.default_rng(0).random(masks.shape) < 0.2] = -1
        masks[:, -1:] = -1
    first = staple(masks, classes=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fused = spatial_staple(masks, window=window, anchor=0.3, max_iterations=3, tolerance=0)
    prior = slow_prior(masks, first.posterior, first.prior, window)
    np.testing.assert_allclose(fused.prior, prior, atol=1e-5)
    believed = first.posterior.astype(np.float64)
    for _ in range(3):
        believed, _ = slow_step(masks, believed, prior, first.confusion, window, 0.3)
    np.testing.assert_allclose(fused.posterior, believed, atol=1e-3)
    _, local = slow_step(masks, believed, prior, first.confusion, window, 0.3)
    for r, mask in enumerate(masks):
        np.testing.assert_allclose(fused.local_confusion(r), local[r], atol=1e-3)
        weights = believed[mask >= 0]
        mean = np.einsum("vk,vkj->kj", weights, local[r][mask >= 0]) / weights.sum(0)[:, None]
        np.testing.assert_allclose(fused.confusion[r], mean, atol=1e-3)
    np.testing.assert_array_equal(fused.labels == -1, (masks < 0).all(0))
    np.testing.assert_array_equal(fused.overall, first.confusion)


@pytest.fixture(params=range(3))
def varied(request: pytest.FixtureRequest, blobs: Make, read_by: Make) -> tuple[Mask, Mask]:
    """A truth, and five readers of whom the best is wrong everywhere in the last third of the image."""
    truth = blobs((96, 96), 2, request.param)
    masks = read_by(truth, [0.02, 0.2, 0.2, 0.2, 0.2], request.param)
    masks[0, :, 64:] = 1 - truth[:, 64:]
    return truth, masks


def test_it_beats_staple_where_skill_varies(varied: tuple[Mask, Mask]) -> None:
    truth, masks = varied
    fused = spatial_staple(masks)
    assert dice(fused.labels, truth) > dice(staple(masks).labels, truth) + 0.05
    assert dice(fused.labels, truth) > dice(vote_masks(masks).labels, truth) + 0.05
    # Not for its prior alone.
    assert dice(fused.labels, truth) > dice(staple(masks, prior=fused.prior).labels, truth) + 0.02
    assert fused.converged


def test_it_sees_where_a_reader_fails(varied: tuple[Mask, Mask]) -> None:
    fused = spatial_staple(varied[1])
    left, right = (
        [fused.local_confusion(r)[:, part].diagonal(0, -2, -1).mean() for r in range(5)]
        for part in (slice(0, 48), slice(80, 96))
    )
    assert left[0] > right[0] + 0.2
    np.testing.assert_allclose(left[1:], right[1:], atol=0.05)
    assert left[0] > fused.overall[0].diagonal().mean() > right[0]


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_staple_where_skill_is_the_same_everywhere(seed: int, blobs: Make, read_by: Make) -> None:
    truth = blobs((96, 96), 2, seed)
    shapes = np.stack([binary_dilation(truth), binary_erosion(truth), binary_dilation(truth, iterations=2)])
    masks = np.concatenate([shapes, read_by(truth, [0.05, 0.02], seed)]).astype(np.uint8)
    assert (spatial_staple(masks).labels != staple(masks).labels).mean() < 0.001
    # Mistakes at single voxels: neighbours help a little, and never hurt.
    speckled = read_by(truth, [0.02, 0.1, 0.1, 0.1, 0.1], seed)
    fused, plain = spatial_staple(speckled), staple(speckled)
    assert (fused.labels != plain.labels).mean() < 0.005
    assert dice(fused.labels, truth) >= dice(plain.labels, truth)


@pytest.mark.parametrize("anchor", [0.5, 1, 100])
@pytest.mark.parametrize("radius", [3, 5, 16])
@pytest.mark.parametrize("blanks", [0, 1, 2])
def test_it_does_not_collapse(radius: float, blanks: int, anchor: float, read_by: Make) -> None:
    truth = disc(radius)
    masks = np.concatenate([read_by(truth, [0.01, 0.01, 0.02, 0.02], 1), np.zeros((blanks, 64, 64), np.uint8)])
    fused = spatial_staple(masks, anchor=anchor)
    assert dice(fused.labels, truth) > 0.9
    assert dice(fused.labels, truth) > dice(staple(masks).labels, truth) - 0.03
    assert np.isfinite(fused.posterior).all()


def test_an_absent_reader_is_no_reader(blobs: Make, read_by: Make) -> None:
    masks = read_by(blobs((20, 20)), [0.1, 0.2, 0.3, 0.4]).astype(np.int8)
    absent = masks.copy()
    absent[1] = -1
    fused, alone = spatial_staple(absent), spatial_staple(masks[[0, 2, 3]])
    np.testing.assert_allclose(fused.posterior, alone.posterior, atol=1e-4)
    np.testing.assert_array_equal(fused.confusion[1], np.full((2, 2), 0.5))
    np.testing.assert_allclose(fused.local_confusion(1), 0.5, atol=1e-6)


def test_neither_the_order_of_readers_nor_of_axes_matters(blobs: Make, read_by: Make) -> None:
    masks = read_by(blobs((20, 30), 3), [0.1, 0.3, 0.2, 0.4])
    order = [3, 0, 2, 1]
    fused, turned = spatial_staple(masks, window=(5, 7)), spatial_staple(masks[order].swapaxes(1, 2), window=(7, 5))
    np.testing.assert_allclose(turned.posterior.swapaxes(0, 1), fused.posterior, atol=1e-3)
    np.testing.assert_allclose(turned.confusion, fused.confusion[order], atol=1e-3)


def test_readers_one_at_a_time_give_the_same(blobs: Make, read_by: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    masks = read_by(blobs((20, 30), 3), [0.1, 0.3, 0.2, 0.4])
    before = spatial_staple(masks)
    monkeypatch.setattr(importlib.import_module("truelabel.fusion.spatial_staple"), "TOGETHER", 1)
    after = spatial_staple(masks)
    np.testing.assert_allclose(after.posterior, before.posterior, atol=1e-5)
    assert after.evidence == pytest.approx(before.evidence)


@pytest.mark.parametrize(
    ("space", "window", "expected"),
    [
        ((64, 64), None, (11, 11)),
        ((65, 64), None, (21, 21)),
        ((3, 100, 100), None, (3, 21, 21)),
        ((1, 8, 8), 5, (1, 5, 5)),
        ((8, 8), [3, 99], (3, 7)),
    ],
)
def test_windows(space: tuple[int, ...], window: Any, expected: tuple[int, ...]) -> None:
    masks = np.zeros((2, *space), np.uint8)
    masks[:, ..., 1] = 1
    fused = spatial_staple(masks, window=window)
    assert isinstance(fused, SpatialFused)
    assert fused.window == expected
    np.testing.assert_array_equal(fused.labels, masks[0])


def test_a_slice_is_a_volume_of_one_slice(blobs: Make, read_by: Make) -> None:
    masks = read_by(blobs((30, 30)), [0.1, 0.2, 0.3])
    flat, deep = spatial_staple(masks), spatial_staple(masks[:, None])
    np.testing.assert_allclose(deep.posterior[0], flat.posterior, atol=1e-6)


def test_it_says_when_it_was_cut_short(blobs: Make, read_by: Make) -> None:
    with pytest.warns(ConvergenceWarning, match="spatial_staple stopped after 1 iterations while .*% of the voxels"):
        fused = spatial_staple(read_by(blobs((30, 30)), [0.1, 0.2, 0.3]), max_iterations=1)
    assert not fused.converged
    assert fused.history == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 4}, "window must be one odd number, or one for each of 2 axes, got 4"),
        ({"window": [3, 3, 3]}, r"window must be one odd number, or one for each of 2 axes, got \[3, 3, 3\]"),
        ({"window": -1}, "window must be"),
        ({"window": 2.5}, "window must be"),
        ({"anchor": 0}, "anchor must be above 0, got 0"),
        ({"anchor": -1}, "anchor must be a number of at least 0, got -1"),
        ({"tolerance": -1}, "tolerance must be"),
        ({"max_iterations": 0}, "max_iterations must be"),
        ({"ties": "random"}, "ties must be"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        spatial_staple([[[0, 1], [1, 0]]], **options)


def test_there_are_only_so_many_readers() -> None:
    with pytest.raises(ValueError, match=r"reader must be in 0\.\.0, got 1"):
        spatial_staple([[[0, 1], [1, 0]]]).local_confusion(1)
