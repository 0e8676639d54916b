from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from truelabel.annotations import Annotations
from truelabel.coding import LabelError
from truelabel.fusion import Fused, confusion_from_posterior, posterior_given, staple
from truelabel.fusion import patterns as module
from truelabel.fusion.staple import Start

Mask = NDArray[np.integer[Any]]
Make = Callable[..., Mask]
ANY = arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 30)), elements=st.integers(-1, 2)).filter(
    lambda masks: masks.max() >= 0
)


Confusion = list[list[list[float]]]


def slow_staple(
    masks: list[list[int]], prior: list[list[float]], confusion: Confusion, iterations: int
) -> tuple[list[list[float]], Confusion, list[float]]:
    """EM voxel by voxel in plain loops; posterior, the confusion that it follows from, and the evidence."""
    voxels, classes = range(len(masks[0])), range(len(prior[0]))
    given = [[r for r in range(len(masks)) if masks[r][i] >= 0] for i in voxels]
    history: list[float] = []
    weights: list[list[float]] = []
    for _ in range(iterations):
        if history:
            confusion = slow_counts(masks, weights)
        joint = [
            [prior[i][k] * math.prod(max(confusion[r][k][masks[r][i]], 1e-99) for r in given[i]) for k in classes]
            for i in voxels
        ]
        weights = [[p / sum(row) for p in row] for row in joint]
        history.append(sum(math.log(sum(row)) for row in joint))
    return weights, confusion, history


def slow_counts(masks: list[list[int]], weights: list[list[float]]) -> Confusion:
    """Each reader's confusion, given how much of each class is at each voxel."""
    confusion, classes = [], range(len(weights[0]))
    for mask in masks:
        seen = [i for i, label in enumerate(mask) if label >= 0]
        totals = [sum(weights[i][k] for i in seen) for k in classes]
        counts = [[sum(weights[i][k] for i in seen if mask[i] == j) for j in classes] for k in classes]
        confusion.append(
            [[counts[k][j] / totals[k] if totals[k] else 1 / len(classes) for j in classes] for k in classes]
        )
    return confusion


def slow_majority(masks: list[list[int]], classes: int) -> list[list[float]]:
    """A one for the class that most readers name; zeros if there is none; shares for a class that wins nowhere."""
    votes = [[column.count(k) for k in range(classes)] for column in zip(*masks, strict=True)]
    weights = [[float(row[k] == max(row) and row.count(max(row)) == 1) for k in range(classes)] for row in votes]
    for k in range(classes):
        if not any(row[k] for row in weights):
            for row, vote in zip(weights, votes, strict=True):
                row[k] = vote[k] / max(sum(vote), 1)
    return weights


def frequencies(masks: Mask, classes: int) -> NDArray[np.float64]:
    counts = np.bincount(masks[masks >= 0], minlength=classes)
    return np.asarray(counts / counts.sum())


@pytest.mark.parametrize("start", ["perfect", "majority"])
@pytest.mark.parametrize("lowest", [0, -1])
@pytest.mark.parametrize("prior", ["frequencies", "given", "spatial"])
def test_em_in_plain_loops(lowest: int, prior: str, start: Start, read_by: Make, blobs: Make) -> None:
    rng = np.random.default_rng(1)
    masks = read_by(blobs((6, 10), 3), [0.1, 0.2, 0.3, 0.4]).astype(np.int16)
    if lowest < 0:
        masks[rng.random(masks.shape) < 0.3] = -1
        masks[:, 2, 3] = -1
    probs = {
        "frequencies": np.tile(frequencies(masks, 3), (6, 10, 1)),
        "given": np.tile([0.2, 0.3, 0.5], (6, 10, 1)),
        "spatial": rng.dirichlet(np.ones(3), (6, 10)),
    }[prior]
    argument = {"frequencies": None, "given": [2, 3, 5], "spatial": probs}[prior]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fused = staple(masks, prior=argument, start=start, max_iterations=8, tolerance=0)
    flat = masks.reshape(4, -1).tolist()
    first = (
        slow_counts(flat, slow_majority(flat, 3))
        if start == "majority"
        else [[[0.99999 if j == k else 0.000005 for j in range(3)] for k in range(3)]] * 4
    )
    posterior, confusion, history = slow_staple(flat, probs.reshape(-1, 3).tolist(), first, 8)
    np.testing.assert_allclose(fused.posterior.reshape(-1, 3), posterior, atol=1e-6)
    np.testing.assert_allclose(fused.confusion, confusion, atol=1e-9)
    np.testing.assert_allclose(fused.history[1:], history[1:])  # what is barely possible at first is a matter of taste
    np.testing.assert_allclose(fused.prior, probs if prior == "spatial" else probs[0, 0])
    assert (str(fused.posterior.dtype), str(fused.labels.dtype)) == ("float32", "int16")


@pytest.mark.filterwarnings("ignore:masks .* share no voxel:UserWarning")
@given(ANY, st.booleans(), st.booleans(), st.sampled_from(["perfect", "majority"]))
@settings(max_examples=60, deadline=None)
def test_the_evidence_never_falls_and_all_is_finite(
    masks: Mask, disputed_only: bool, spatial: bool, start: Start
) -> None:
    prior = np.random.default_rng(0).dirichlet(np.ones(3), masks.shape[1]) if spatial else None
    fused = staple(masks, classes=3, prior=prior, disputed_only=disputed_only, start=start, tolerance=1e-9)
    assert (np.diff(fused.history) >= -1e-9 * max(1, abs(fused.history[-1]))).all()
    assert fused.evidence == fused.history[-1]
    for probs in (fused.posterior, fused.confusion, fused.prior):
        np.testing.assert_allclose(probs.sum(-1), 1, atol=1e-6)
    silent = np.flatnonzero((masks < 0).all(0))
    np.testing.assert_array_equal(np.flatnonzero(fused.labels == -1), silent)
    np.testing.assert_allclose(fused.posterior[silent], np.broadcast_to(fused.prior, fused.posterior.shape)[silent])


def test_it_ends_where_bayes_and_the_counts_agree(read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((30, 30), 3), [0.1, 0.2, 0.3, 0.4]).astype(np.int64)
    masks[np.random.default_rng(0).random(masks.shape) < 0.2] = -1
    fused = staple(masks, tolerance=0)
    annotations = Annotations.from_matrix(masks.reshape(4, -1).T, classes=3)
    posterior = posterior_given(annotations, np.asarray(fused.prior), fused.confusion)
    np.testing.assert_allclose(fused.posterior.reshape(-1, 3), posterior, atol=1e-6)
    np.testing.assert_allclose(fused.confusion, confusion_from_posterior(annotations, posterior, 0.0), atol=1e-5)
    assert fused.converged


@pytest.mark.parametrize("space", [(900,), (30, 30), (9, 10, 10), (3, 10, 5, 6)])
def test_any_number_of_dimensions(space: tuple[int, ...], read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((30, 30)), [0.1, 0.2, 0.3])
    flat, fused = staple(masks.reshape(3, -1)), staple(masks.reshape(3, *space))
    assert (fused.posterior.shape, fused.labels.shape) == ((*space, 2), space)
    np.testing.assert_array_equal(fused.posterior.reshape(-1, 2), flat.posterior)
    np.testing.assert_array_equal(fused.confusion, flat.confusion)


def test_neither_the_order_of_readers_nor_of_axes_matters(read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((20, 30), 4), [0.1, 0.3, 0.5, 0.2, 0.4])
    fused, order = staple(masks), [3, 0, 4, 2, 1]
    turned = staple(masks[order].swapaxes(1, 2))
    np.testing.assert_allclose(turned.posterior.swapaxes(0, 1), fused.posterior, atol=1e-6)
    np.testing.assert_allclose(turned.confusion, fused.confusion[order], atol=1e-6)
    np.testing.assert_array_equal(turned.labels.T, fused.labels)


def same(one: Fused, other: Fused) -> None:
    np.testing.assert_allclose(one.posterior, other.posterior, atol=1e-6)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.evidence == pytest.approx(other.evidence)


def test_an_absent_reader_is_no_reader(read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((20, 20)), [0.1, 0.2, 0.3, 0.4]).astype(np.int8)
    absent = masks.copy()
    absent[1] = -1
    fused, alone = staple(absent), staple(masks[[0, 2, 3]])
    same(fused, alone)
    np.testing.assert_allclose(fused.confusion[[0, 2, 3]], alone.confusion, atol=1e-9)
    np.testing.assert_array_equal(fused.confusion[1], np.full((2, 2), 0.5))


def test_voxels_without_labels_change_nothing_elsewhere(read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((20, 20)), [0.1, 0.2, 0.3]).astype(np.int8)
    padded = np.pad(masks, ((0, 0), (2, 2), (3, 3)), constant_values=-1)
    fused, alone = staple(padded), staple(masks)
    np.testing.assert_array_equal(fused.labels[2:-2, 3:-3], alone.labels)
    np.testing.assert_array_equal(fused.confusion, alone.confusion)
    assert (fused.labels[:2] == -1).all()
    np.testing.assert_allclose(fused.posterior[0, 0], fused.prior, rtol=1e-6)


@pytest.mark.parametrize("start", ["perfect", "majority"])
def test_one_mask_comes_back_however_rare_a_class(start: Start) -> None:
    mask = np.random.default_rng(0).integers(-1, 3, (700, 800))
    mask[mask == 1] = 0
    mask[3, 5] = 1
    halves = np.full((2, 700, 800), -1)
    halves[0, :300], halves[1, 300:] = mask[:300], mask[300:]
    for masks in (mask[None], halves):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if len(masks) > 1 else "error")
            fused = staple(masks, start=start)
        np.testing.assert_array_equal(fused.labels, mask)
        np.testing.assert_allclose(fused.confusion[0], np.eye(3), atol=1e-12)
        assert fused.converged


@pytest.mark.parametrize("disputed_only", [False, True])
@pytest.mark.parametrize("start", ["perfect", "majority"])
def test_who_shares_no_voxel_is_taken_at_their_word(
    start: Start, disputed_only: bool, read_by: Make, blobs: Make
) -> None:
    """The part of one reader has far more of a class, and that of another lacks one that others abound in."""
    rng = np.random.default_rng(0)
    masks = np.full((5, 30, 30), -1)
    masks[:3, :20] = read_by(blobs((20, 30)), [0.1, 0.2, 0.3])
    masks[3, 20:25] = rng.random((5, 30)) < 0.95
    masks[4, 25:] = 0
    with pytest.warns(UserWarning, match=r"^masks 3, 4 share no voxel with another: they are taken as they are, since"):
        fused = staple(masks, start=start, disputed_only=disputed_only)
    np.testing.assert_array_equal(fused.labels[20:25], masks[3, 20:25])
    np.testing.assert_array_equal(fused.labels[25:], masks[4, 25:])
    np.testing.assert_array_equal(fused.confusion[3:], [np.eye(2)] * 2)
    # The others are judged as without them.
    prior = fused.prior
    others = staple(masks[:3, :20], prior=prior, start=start, disputed_only=disputed_only)
    np.testing.assert_allclose(fused.confusion[:3], others.confusion, atol=1e-6)
    np.testing.assert_array_equal(fused.labels[:20], others.labels)
    assert (np.diff(fused.history) >= -1e-9).all()


def test_one_mask_comes_back_whatever_the_prior() -> None:
    mask = np.array([[0, 0, 0, 0, 0, 0]])
    np.testing.assert_array_equal(staple(mask, prior=[0.1, 0.9]).labels, mask[0])


def test_a_blank_reader_does_no_harm(blobs: Make, read_by: Make) -> None:
    truth = blobs((30, 30))
    masks = read_by(truth, [0.05, 0.05, 0.05])
    fused = staple(np.concatenate([masks, 0 * masks[:1]]))
    assert np.isfinite(fused.posterior).all()
    np.testing.assert_array_equal(fused.confusion[3], [[1, 0], [1, 0]])
    assert (fused.labels == staple(masks).labels).mean() > 0.99
    blank = staple(np.zeros((3, 4, 4), int))
    assert (blank.labels == 0).all()
    assert np.isfinite(blank.posterior).all()


def test_many_readers_do_not_underflow() -> None:
    masks = np.random.default_rng(0).integers(0, 2, (3000, 4))
    fused = staple(masks)
    assert np.isfinite(fused.posterior).all()
    assert fused.evidence is not None
    assert math.isfinite(fused.evidence)


@pytest.mark.parametrize("spatial", [False, True])
def test_memory_tricks_change_nothing(
    spatial: bool, read_by: Make, blobs: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks = read_by(blobs((20, 20), 3), [0.1, 0.2, 0.3])
    prior = np.random.default_rng(0).dirichlet(np.ones(3), (20, 20)) if spatial else None
    before = staple(masks, prior=prior)
    for name in ("SPARSE", "ROOM", "BLOCK"):
        monkeypatch.setattr(module, name, 1)
    same(staple(masks, prior=prior), before)


def test_a_prior_for_each_voxel_that_is_the_same_for_all(read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((20, 20), 3), [0.2, 0.3, 0.4])
    prior = [0.5, 0.3, 0.2]
    for disputed_only in (False, True):
        one = staple(masks, prior=prior, disputed_only=disputed_only)
        many = staple(masks, prior=np.tile(prior, (20, 20, 1)), disputed_only=disputed_only)
        same(many, one)
        np.testing.assert_allclose(many.confusion, one.confusion, atol=1e-9)


def test_the_disputed_alone_are_those_readers_differ_on(read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((20, 20), 3), [0.1, 0.2, 0.3])
    disputed = (masks != masks[0]).any(0)
    fused, alone = staple(masks, disputed_only=True), staple(masks[:, disputed], classes=3)
    np.testing.assert_allclose(fused.confusion, alone.confusion, atol=1e-9)
    np.testing.assert_allclose(fused.prior, alone.prior)
    np.testing.assert_array_equal(fused.labels[disputed], alone.labels)
    np.testing.assert_array_equal(fused.labels[~disputed], masks[0][~disputed])
    np.testing.assert_array_equal(fused.posterior[~disputed], np.eye(3)[masks[0][~disputed]])
    assert fused.evidence == pytest.approx(alone.evidence)


def test_how_much_background_lies_around_does_not_matter_if_only_the_disputed_count() -> None:
    # Discs in each other: where background abounds, saying more than others is rare, so whoever does is believed.
    rows, columns = np.mgrid[:200, :200] - 100
    masks = np.stack([(rows**2 + columns**2 < radius**2) for radius in (14, 13, 10, 9, 8)])
    wide, narrow = masks, masks[:, 80:120, 80:120]
    assert staple(wide).labels.sum() == masks[1].sum() > staple(narrow).labels.sum() == masks[2].sum()
    assert staple(wide, disputed_only=True).labels.sum() == masks[2].sum()
    assert staple(narrow, disputed_only=True).labels.sum() == masks[2].sum()


def test_nothing_disputed() -> None:
    mask = np.random.default_rng(0).integers(0, 3, (5, 5))
    fused = staple([mask, mask], disputed_only=True)
    np.testing.assert_array_equal(fused.labels, mask)
    assert fused.evidence == 0


def test_ties_follow_the_rule() -> None:
    masks = [[0, 0, 0, 0, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]]
    for ties, label in (("lowest", 0), ("highest", 1), ("missing", -1)):
        fused = staple(masks, ties=ties)  # type: ignore[arg-type]
        np.testing.assert_array_equal(fused.labels, [*masks[0][:8], label, label])
        np.testing.assert_allclose(fused.posterior[8:], 0.5, atol=1e-6)


def test_better_readers_weigh_more(read_by: Make, blobs: Make) -> None:
    truth = blobs((60, 60))
    masks = read_by(truth, [0.02, 0.3, 0.3, 0.3, 0.3])
    fused = staple(masks)
    assert (fused.labels == truth).mean() > max((mask == truth).mean() for mask in (*masks[1:], masks.mean(0) > 0.5))
    np.testing.assert_allclose(fused.confusion[0].diagonal(), 0.98, atol=0.06)
    np.testing.assert_allclose(fused.confusion[1:].diagonal(0, 1, 2), 0.7, atol=0.05)


def test_it_says_when_it_was_cut_short(read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((20, 20)), [0.1, 0.2, 0.3])
    with pytest.warns(ConvergenceWarning, match="staple stopped after 3 iterations while the evidence rose"):
        fused = staple(masks, max_iterations=3)
    assert not fused.converged


def test_masks_are_left_alone(read_by: Make, blobs: Make) -> None:
    masks = read_by(blobs((20, 20)), [0.1, 0.2, 0.3])
    before = masks.copy()
    staple(masks)
    np.testing.assert_array_equal(masks, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": [0.5, 0.2, 0.3]}, r"prior must be \(2,\) or \(2, 2, 2\), got shape \(3,\)"),
        ({"prior": [1.5, -0.5]}, "prior must hold probabilities"),
        ({"prior": [np.nan, 0.5]}, "prior must hold probabilities"),
        ({"prior": [0, 0]}, "prior must hold probabilities"),
        ({"disputed_only": "yes"}, "disputed_only must be true or false, got 'yes'"),
        ({"ties": "random"}, "ties must be"),
        ({"start": "votes"}, "start must be 'perfect' or 'majority', got 'votes'"),
        ({"tolerance": -1}, "tolerance must be at least 0"),
        ({"max_iterations": 0}, "max_iterations must be at least 1"),
        ({"classes": 1}, r"label 1 of reader 0 is outside 0\.\.0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        staple([[[0, 1], [1, 0]]], **options)


def test_masks_that_are_none_are_refused() -> None:
    with pytest.raises(LabelError, match="masks hold fractions such as 0.5"):
        staple(np.full((2, 3, 3), 0.5))


@pytest.fixture(scope="module")
def simpleitk() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own bindings
        return pytest.importorskip("SimpleITK")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("space", "classes"), [((80, 80), 2), ((80, 80), 4), ((12, 30, 30), 2), ((12, 30, 30), 4)])
def test_labels_are_those_of_simpleitk(
    simpleitk: Any, space: tuple[int, ...], classes: int, seed: int, blobs: Make, read_by: Make
) -> None:
    from scipy.ndimage import grey_dilation, grey_erosion

    truth = blobs(space, classes, seed)
    wide, narrow = (by(truth, size=3) for by in (grey_dilation, grey_erosion))
    shapes = [truth, wide, narrow, wide, truth]
    masks = np.stack(
        [
            read_by(mask, [error], seed + r)[0]
            for r, (mask, error) in enumerate(zip(shapes, [0.1, 0.02, 0.05, 0.2, 0.3], strict=True))
        ]
    )
    images = [simpleitk.GetImageFromArray(mask) for mask in masks]
    fused = staple(masks, start="perfect" if classes == 2 else "majority")
    if classes == 2:
        peer = simpleitk.STAPLEImageFilter()
        weights = simpleitk.GetArrayFromImage(peer.Execute(images))
        np.testing.assert_array_equal(fused.labels, weights > 0.5)
        np.testing.assert_allclose(fused.posterior[..., 1], weights, atol=1e-4)
        np.testing.assert_allclose(fused.confusion[:, 1, 1], peer.GetSensitivity(), atol=1e-4)
        np.testing.assert_allclose(fused.confusion[:, 0, 0], peer.GetSpecificity(), atol=1e-4)
    else:
        labels = simpleitk.GetArrayFromImage(simpleitk.MultiLabelSTAPLEImageFilter().Execute(images))
        np.testing.assert_array_equal(fused.labels, labels)
        better = staple(masks)
        assert (better.labels != labels).mean() < 0.002
        assert better.history[-1] >= fused.history[-1] - 1e-6
