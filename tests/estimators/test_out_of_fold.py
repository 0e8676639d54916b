"""Labels judged by networks that have not seen them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel import Annotations, TrueLabelClassifier, TrueLabelSegmenter
from truelabel.estimators import out_of_fold
from truelabel.estimators.out_of_fold import OutOfFold, trained_folds
from truelabel.fusion import confusion_from_posterior
from truelabel.methods import get_method
from truelabel.quality import assign_folds

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
Scans = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]
Settings = dict[str, Any]
BY_HEART: Settings = {
    "network": "mlp:256",
    "epochs": 150,
    "learning_rate": 0.01,
    "select": "last",
    "validation": 0.0,
    "device": "cpu",
    "random_state": 0,
}


def test_a_network_that_knows_labels_by_heart_still_finds_the_wrong_ones() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 2
    points = rng.normal(size=(120, 20)) + 1.2 * truth[:, None]
    flipped = rng.random(120) < 0.15
    labels = np.where(flipped, 1 - truth, truth)
    classifier = TrueLabelClassifier(**BY_HEART).fit(points, labels)
    assert classifier.label_quality(points, labels, folds=0)[flipped].min() > 0.9
    quality = classifier.label_quality(points, labels)
    assert quality[flipped].mean() < 0.3
    assert quality[~flipped].mean() > 0.75
    assert classifier.out_of_fold_ is not None
    for fold, matrix in enumerate(classifier.out_of_fold_.confusion):
        rest = np.flatnonzero(classifier.out_of_fold_.fold != fold)
        seen = Annotations.from_labels(labels[rest])
        np.testing.assert_allclose(matrix, confusion_from_posterior(seen, classifier.out_of_fold_.probs[rest]))


def test_it_is_what_one_would_get_by_hand(blobs: Blobs, crowd: NDArray[np.int64], quick: Settings) -> None:
    points, said = blobs[0], Annotations.from_matrix(crowd)
    classifier = TrueLabelClassifier("annotator-confusion", **quick).fit(points, said)
    classifier.label_quality(points, said, folds=3)
    found = classifier.out_of_fold_
    assert found is not None
    assert classifier.seen_ is not None
    fold = assign_folds(said, 3, classifier.seen_.seed)
    assert np.array_equal(found.fold, fold)
    for number in range(3):
        held, kept = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        same = TrueLabelClassifier("annotator-confusion", **(quick | {"random_state": classifier.seen_.seed}))
        same.fit(points[kept], said.take(kept))
        np.testing.assert_array_equal(found.probs[held], same.predict_proba(points[held]))
        np.testing.assert_array_equal(found.confusion[number], same.confusion_)


def count_trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    trained: list[int] = []
    whole = trained_folds

    def counted(*arguments: Any) -> Any:
        for own, held in whole(*arguments):
            trained.append(len(held))
            yield own, held

    for module in ("classifier", "segmenter"):
        monkeypatch.setattr(f"truelabel.estimators.{module}.trained_folds", counted)
    return trained


def test_trained_once_kept_and_deterministic(
    blobs: Blobs, crowd: NDArray[np.int64], quick: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = count_trainings(monkeypatch)
    points, _ = blobs
    classifier = TrueLabelClassifier(**quick).fit(points, crowd)
    first = classifier.label_quality(points, crowd, folds=3)
    assert trained == [100, 100, 100]
    assert np.array_equal(classifier.label_quality(points, crowd, folds=3), first)
    assert len(classifier.suspects(points, crowd, folds=3)) > 0
    classifier.save(tmp_path)
    loaded = TrueLabelClassifier.load(tmp_path)
    assert np.array_equal(loaded.label_quality(points, crowd, folds=3), first)
    assert len(trained) == 3
    again = TrueLabelClassifier(**quick).fit(points, crowd)
    assert np.array_equal(again.label_quality(points, crowd, folds=3), first)
    assert len(trained) == 6
    classifier.label_quality(points, crowd, folds=2)
    assert len(trained) == 8


def test_parts_and_new_examples(blobs: Blobs, crowd: NDArray[np.int64], quick: Settings) -> None:
    points, _ = blobs
    classifier = TrueLabelClassifier(**quick).fit(points[:200], crowd[:200])
    new = classifier.label_quality(points[200:], crowd[200:])
    assert np.array_equal(new, classifier.label_quality(points[200:], crowd[200:], folds=0))
    with pytest.warns(UserWarning, match="150 of 250 examples were learned from"):
        classifier.label_quality(points[50:], crowd[50:])
    whole = classifier.true_class_proba(points[:200], crowd[:200], folds=4)
    mixed = classifier.true_class_proba(points[50:], crowd[50:], folds=4)
    np.testing.assert_allclose(mixed[:150], whole[50:], atol=1e-12)
    np.testing.assert_allclose(mixed[150:], classifier.true_class_proba(points[200:], crowd[200:]), atol=1e-12)


def test_annotators_of_a_single_label_stay_known(blobs: Blobs, quick: Settings) -> None:
    points, truth = blobs
    matrix = np.full((300, 3), -1)
    matrix[:, 0], matrix[4, 1], matrix[9, 2] = truth, truth[4], (truth[9] + 1) % 3
    for method in ("cross-entropy", "annotator-confusion", "dawid-skene"):
        classifier = TrueLabelClassifier(method, **quick).fit(points, matrix)
        assert np.isfinite(classifier.label_quality(points, matrix, folds=2)).all()
        assert classifier.out_of_fold_ is not None
        assert classifier.out_of_fold_.confusion.shape == (2, 3, 3, 3)


def test_runs_of_folds_lie_in_the_folder_and_are_gone_on_with(blobs: Blobs, quick: Settings, tmp_path: Path) -> None:
    run = tmp_path / "run"
    alone = TrueLabelClassifier(**quick).fit(*blobs)
    classifier = TrueLabelClassifier(**quick, folder=run).fit(*blobs)
    expected = classifier.label_quality(*blobs, folds=2)
    assert np.array_equal(alone.label_quality(*blobs, folds=2), expected)
    assert sorted(path.name for path in (run / "folds").iterdir()) == ["1", "2"]
    shutil.rmtree(run / "folds" / "2")
    stamp = (run / "folds" / "1" / "main" / "finished.json").stat().st_mtime_ns
    again = TrueLabelClassifier(**quick, folder=run).fit(*blobs)
    assert np.array_equal(again.label_quality(*blobs, folds=2), expected)
    assert (run / "folds" / "1" / "main" / "finished.json").stat().st_mtime_ns == stamp
    assert (run / "folds" / "2" / "main" / "finished.json").exists()


def test_options_that_were_searched_for_are_those_of_the_folds(blobs: Blobs, quick: Settings) -> None:
    settings = quick | {"search": {"q": [0.5, 0.9]}}
    classifier = TrueLabelClassifier("generalized-cross-entropy", **settings).fit(*blobs)
    inputs, said = blobs[0], Annotations.from_labels(blobs[1])
    for own, _ in trained_folds(classifier, inputs, said, 2):
        assert own.method_ == classifier.method_
        assert not hasattr(own, "trials_")


def test_folds_are_quiet_about_what_the_fit_has_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 60)
    points, said = np.eye(2)[truth] + rng.normal(size=(60, 2)), np.repeat(truth[:, None], 2, 1)
    method = get_method("oracle-confusion").with_options(confusion=np.array([[0.2, 0.8], [0.8, 0.2]]))
    classifier = TrueLabelClassifier(method, epochs=1, device="cpu", random_state=0)
    with pytest.warns(UserWarning, match="not diagonally dominant"):
        classifier.fit(points, said)
    classifier.label_quality(points, said, folds=2)


def test_other_examples_get_what_the_model_says() -> None:
    kept = OutOfFold(np.array([0, 1]), np.array([[1.0, 0.0], [0.5, 0.5]]), np.stack([np.eye(2)[None]] * 2))
    found = kept.at(np.array([1, -1]), np.full((2, 2), 0.25), np.full((1, 2, 2), 0.5))
    assert (kept.folds, found.folds) == (2, 3)
    assert found.fold.tolist() == [1, 2]
    assert found.probs.tolist() == [[0.5, 0.5], [0.25, 0.25]]
    assert found.confusion[2].tolist() == [[[0.5, 0.5], [0.5, 0.5]]]
    assert out_of_fold.__doc__


def test_regions_of_masks_are_judged_by_others_too(
    scans: Scans, drawing: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = count_trainings(monkeypatch)
    images, _, masks = scans
    segmenter = TrueLabelSegmenter("pixelwise-confusion", **drawing).fit(images, masks)
    inside = segmenter.suspect_regions(images, masks)
    assert trained == []
    held = segmenter.suspect_regions(images, masks, folds=2)
    assert trained == [8, 8]
    assert segmenter.suspect_regions(images, masks, folds=2) is held
    assert len(trained) == 2
    for found in (inside, held):
        assert len(found) > 0
        assert (np.diff(found.example) >= 0).all()
        assert (found.suggested != found.label).all()
        assert (found.probability_right < found.suggested_probability).all()
    with pytest.warns(UserWarning, match="3 of 3 examples were learned from"):
        segmenter.suspect_regions(images[:3], masks[:3], folds=2)
    with pytest.raises(ValueError, match="other readers than those of fit"):
        segmenter.suspect_regions(images, masks[:, :2])
