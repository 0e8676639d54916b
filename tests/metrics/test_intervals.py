from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import beta

from truelabel.annotations import Annotations
from truelabel.corruption import ConfusedAnnotators
from truelabel.fusion import confusion_from_posterior, majority_vote
from truelabel.metrics import annotator_skill, confusion_interval, intervals, skill_interval

Array = NDArray[np.float64]


def one_annotator(labels: list[int], classes: int = 2) -> Annotations:
    return Annotations.from_matrix([[label] for label in labels], classes=classes)


def jeffreys(hits: float, n: float, level: float = 0.95) -> list[float]:
    low, high = beta(hits + 0.5, n - hits + 0.5).ppf([(1 - level) / 2, (1 + level) / 2])
    return [0.0 if hits == 0 else low, 1.0 if hits == n else high]


def test_skill_is_the_mean_quality_of_each_annotator() -> None:
    annotations = Annotations.from_matrix([[0, 1, -1], [1, -1, -1], [1, 1, -1]])
    skill = annotator_skill(annotations, [0.9, 0.2, 0.6, 0.3, 0.4])
    np.testing.assert_allclose(skill[:2], [0.6, 0.3])
    assert np.isnan(skill[2]), "who never labelled is unknown"


@pytest.mark.parametrize("hits", [0, 1, 7, 10])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_known_truth_gives_the_interval_of_a_proportion(hits: int, level: float) -> None:
    annotations = one_annotator([0] * 10)
    quality = [1.0] * hits + [0.0] * (10 - hits)
    np.testing.assert_allclose(skill_interval(annotations, quality, level), [jeffreys(hits, 10, level)], atol=1e-12)


def test_doubt_about_the_truth_widens_the_interval_of_a_skill() -> None:
    annotations = one_annotator([0] * 40)

    def width(doubt: float) -> float:
        low, high = skill_interval(annotations, [1 - doubt] * 30 + [doubt] * 10)[0]
        return float(high - low)

    widths = [width(doubt) for doubt in (0.0, 0.05, 0.2, 0.4, 0.5)]
    assert widths == sorted(widths)
    assert widths[0] < 0.3
    assert widths[-1] > 0.6, "forty labels of which nothing is known tell nearly nothing"


def test_many_labels_that_are_almost_certainly_right_do_count() -> None:
    low, high = skill_interval(one_annotator([0] * 100), [0.999] * 100)[0]
    assert 0.93 < low < 0.999 < high


def test_an_interval_encloses_its_estimate_and_grows_with_the_level() -> None:
    rng = np.random.default_rng(0)
    annotations = Annotations.from_matrix(rng.integers(3, size=(30, 6)))
    quality = rng.beta(0.3, 0.3, annotations.size)
    skill = annotator_skill(annotations, quality)
    narrow, wide = (skill_interval(annotations, quality, level) for level in (0.5, 0.99))
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 0] <= skill).all()
    assert (skill <= narrow[:, 1]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()


def test_of_the_silent_nothing_is_known() -> None:
    annotations = Annotations.from_matrix([[0, -1], [1, -1]])
    low, high = skill_interval(annotations, [1.0, 1.0])[1]
    assert low < 0.01
    assert high > 0.99
    confusion = np.full((2, 2, 2), 0.5)
    ends = confusion_interval(annotations, np.eye(2), confusion)[1]
    assert (ends[..., 0] < 0.01).all()
    assert (ends[..., 1] > 0.99).all()


def test_a_known_truth_gives_the_interval_of_every_cell() -> None:
    truth = np.array([0] * 8 + [1] * 5)
    annotations = one_annotator([0, 0, 0, 0, 0, 1, 1, 2, 1, 1, 1, 1, 1], classes=3)
    posterior = np.eye(3)[truth]
    ends = confusion_interval(annotations, posterior, confusion_from_posterior(annotations, posterior, smoothing=0.0))
    assert ends.shape == (1, 3, 3, 2)
    for true, counts in enumerate([[5, 2, 1], [0, 5, 0]]):
        for observed, hits in enumerate(counts):
            expected = jeffreys(hits, sum(counts))
            np.testing.assert_allclose(ends[0, true, observed], expected, atol=1e-12)


def slow_effective(labels: NDArray[np.int64], q: Array, p: Array) -> Array:
    """Observed information of every cell by Louis' identity, complete minus missing, in labels."""
    classes = q.shape[1]
    effective = np.zeros((classes, classes))
    for k in range(classes):
        for j in range(classes):
            variance = p[k, j] * (1 - p[k, j])
            score = ((labels == j) - p[k, j]) / variance
            complete = (q[:, k] * score**2).sum()
            missing = (q[:, k] * (1 - q[:, k]) * score**2).sum()
            effective[k, j] = (complete - missing) * variance
    return effective


def test_cells_have_the_observed_information_of_louis() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=4000)
    labels = np.where(rng.random(4000) < 0.6, truth, rng.integers(3, size=4000))
    q = 0.7 * np.eye(3)[truth] + 0.3 * rng.dirichlet(np.ones(3), 4000)
    annotations = one_annotator(labels.tolist(), classes=3)
    confusion = confusion_from_posterior(annotations, q, smoothing=0.0)
    expected = slow_effective(labels, q, confusion[0])
    p = confusion[0]
    ends = beta.ppf([[[0.025]], [[0.975]]], p * expected + 0.5, (1 - p) * expected + 0.5)
    # The half counts in the shares of information are of one part in a thousand here.
    np.testing.assert_allclose(confusion_interval(annotations, q, confusion)[0], np.moveaxis(ends, 0, -1), atol=2e-4)


def test_a_posterior_that_does_not_know_the_labels_is_told_them() -> None:
    rng = np.random.default_rng(1)
    annotations = Annotations.from_matrix(rng.integers(3, size=(50, 1)))
    prior, confusion = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), (1, 3))
    joint = prior * confusion[0][:, annotations.label].T
    told = confusion_interval(annotations, prior, confusion, includes_labels=False)
    knew = confusion_interval(annotations, joint / joint.sum(-1, keepdims=True), confusion)
    np.testing.assert_allclose(told, knew)
    assert not np.allclose(told, confusion_interval(annotations, prior, confusion))


def test_a_label_held_impossible_tells_nothing() -> None:
    annotations, confusion = one_annotator([0, 1, 1]), np.array([[[1.0, 0.0], [1.0, 0.0]]])
    ends = confusion_interval(annotations, np.full((3, 2), 0.5), confusion, includes_labels=False)
    np.testing.assert_allclose(ends, confusion_interval(one_annotator([0]), np.full((1, 2), 0.5), confusion))


def test_the_size_of_chunks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    annotations = Annotations.from_matrix(np.random.default_rng(0).integers(-1, 3, size=(40, 4)))
    fused = majority_vote(annotations)
    whole = confusion_interval(annotations, fused.posterior, fused.confusion, includes_labels=False)
    monkeypatch.setattr(intervals, "_CHUNK", 6)
    parts = confusion_interval(annotations, fused.posterior, fused.confusion, includes_labels=False)
    np.testing.assert_allclose(parts, whole)


def random_confusion(annotators: int, classes: int, rng: np.random.Generator) -> Array:
    """Of skills from 0.6 to 0.95, with mistakes of unequal frequency."""
    eye = np.eye(classes)
    mistakes = rng.dirichlet(np.ones(classes), (annotators, classes)) * (1 - eye)
    mistakes /= mistakes.sum(-1, keepdims=True)
    skill = rng.uniform(0.6, 0.95, (annotators, 1, 1))
    result: Array = skill * eye + (1 - skill) * mistakes
    return result


def posterior_given(annotations: Annotations, confusion: Array, prior: Array) -> Array:
    scores = np.log(prior)
    np.add.at(scores, annotations.example, np.log(confusion[annotations.annotator, :, annotations.label]))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    result: Array = weights / weights.sum(-1, keepdims=True)
    return result


def dawid_skene(annotations: Annotations, prior: Array, rounds: int = 60) -> tuple[Array, Array]:
    posterior = majority_vote(annotations).posterior.astype(np.float64)
    for _ in range(rounds):
        confusion = confusion_from_posterior(annotations, posterior)
        posterior = posterior_given(annotations, confusion, prior)
    return posterior, confusion


def coverage(known: bool, labels_per_example: int, runs: int = 12) -> tuple[float, float]:
    """Share of the skills and of the cells of true confusion matrices that lie in intervals of 95%."""
    skills, cells = [], []
    n, annotators, classes = 500, 20, 3
    prior = np.full((n, classes), 1 / classes)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        true = random_confusion(annotators, classes, rng)
        crowd = ConfusedAnnotators(torch.from_numpy(true), labels_per_example)
        truth = torch.from_numpy(rng.integers(classes, size=n))
        annotations = crowd(truth, None, torch.Generator().manual_seed(seed))
        if known:
            posterior = posterior_given(annotations, true, prior)
            confusion = confusion_from_posterior(annotations, posterior)
        else:
            posterior, confusion = dawid_skene(annotations, prior)
        quality = posterior[annotations.example, annotations.label]
        low, high = skill_interval(annotations, quality).T
        skills.append(((low <= true[:, 0, 0]) & (true[:, 0, 0] <= high)).mean())
        low, high = np.moveaxis(confusion_interval(annotations, posterior, confusion), -1, 0)
        cells.append(((low <= true) & (true <= high)).mean())
    return float(np.mean(skills)), float(np.mean(cells))


@pytest.mark.parametrize(
    ("known", "labels", "least"), [(False, 5, 0.92), (False, 3, 0.88), (True, 5, 0.94)], ids=["5", "3", "known"]
)
def test_intervals_cover_the_truth_as_often_as_they_should(known: bool, labels: int, least: float) -> None:
    skills, cells = coverage(known, labels)
    assert least < skills < 0.99
    assert least < cells < 0.99


def test_numbers_that_do_not_fit_are_refused() -> None:
    annotations = Annotations.from_matrix([[0, 1], [1, 1]])
    posterior, confusion = np.eye(2), np.full((2, 2, 2), 0.5)
    for function in (annotator_skill, skill_interval):
        with pytest.raises(ValueError, match=r"quality must be \(4,\), one value a label given, got \(2,\)"):
            function(annotations, [0.5, 0.5])
        with pytest.raises(ValueError, match="quality must hold probabilities between 0 and 1"):
            function(annotations, [0.5, 0.5, np.nan, 0.5])
    with pytest.raises(ValueError, match="level must lie between 0 and 1, got 95"):
        skill_interval(annotations, [0.5] * 4, level=95)
    with pytest.raises(ValueError, match=r"posterior must be \(2, 2\), a row an example, got \(2, 3\)"):
        confusion_interval(annotations, np.ones((2, 3)), confusion)
    with pytest.raises(ValueError, match="posterior must be probabilities that sum to one in every row"):
        confusion_interval(annotations, 2 * posterior, confusion)
    with pytest.raises(ValueError, match=r"confusion must be \(2, 2, 2\), one matrix an annotator, got \(2, 2\)"):
        confusion_interval(annotations, posterior, confusion[0])
    with pytest.raises(ValueError, match="confusion must hold probabilities between 0 and 1"):
        confusion_interval(annotations, posterior, confusion * 3)
    masks = Annotations.from_masks(np.zeros((2, 2, 3, 3), int), classes=2)
    with pytest.raises(ValueError, match="annotations holds masks"):
        confusion_interval(masks, posterior, confusion)


def test_rounding_out_of_probabilities_is_forgiven() -> None:
    np.testing.assert_array_equal(annotator_skill(one_annotator([0]), [1 + 1e-7]), [1.0])
