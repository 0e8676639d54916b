"""The scikit-learn contract, what is learned, and what is said about labels and annotators."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import randint
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator
from torch import Tensor, nn

from truelabel import Annotations, TrueLabelClassifier
from truelabel.fusion.fused import SMOOTHING
from truelabel.methods import get_method
from truelabel.training import RunFolderError

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
Pictures = tuple[NDArray[np.uint8], NDArray[np.int64]]
Settings = dict[str, Any]


@pytest.mark.long
def test_scikit_learn_finds_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCIPY_ARRAY_API", raising=False)
    results = check_estimator(TrueLabelClassifier(), on_skip=None)
    assert len(results) > 50
    assert {result["status"] for result in results} == {"passed", "skipped"}
    # Skipped by scikit-learn itself, unless SCIPY_ARRAY_API is set before SciPy is imported.
    assert {result["check_name"] for result in results if result["status"] == "skipped"} == {"check_array_api_input"}


def test_clones_have_the_parameters_and_nothing_learned(blobs: Blobs, quick: Settings) -> None:
    classifier = TrueLabelClassifier("majority-vote", **quick).fit(*blobs)
    copy = clone(classifier)
    assert copy.get_params() == classifier.get_params()
    assert not hasattr(copy, "learner_")


def test_every_parameter_can_be_read_and_set() -> None:
    classifier = TrueLabelClassifier()
    given = {name: object() for name in classifier.get_params()}
    assert classifier.set_params(**given).get_params() == given
    with pytest.raises(ValueError, match="Invalid parameter 'nope'"):
        classifier.set_params(nope=1)


def test_pickled_and_back_it_answers_with_the_same_bits(blobs: Blobs, quick: Settings) -> None:
    classifier = TrueLabelClassifier(**quick).fit(*blobs)
    again: TrueLabelClassifier = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.predict_proba(blobs[0]), classifier.predict_proba(blobs[0]))


def test_it_learns_the_blobs(blobs: Blobs, thorough: Settings) -> None:
    points, truth = blobs
    classifier = TrueLabelClassifier(**thorough).fit(points, truth)
    assert classifier.score(points, truth) > 0.95
    probs = classifier.predict_proba(points)
    assert probs.shape == (300, 3)
    assert probs.dtype == np.float64
    assert np.allclose(probs.sum(-1), 1, atol=1e-12)
    assert classifier.n_iter_ == len(classifier.history_.rows) == 20


def test_an_answer_does_not_depend_on_its_neighbours(blobs: Blobs, pictures: Pictures, quick: Settings) -> None:
    for X, y, network in ((*blobs, "mlp"), (*pictures, "lenet-5")):
        classifier = TrueLabelClassifier(**(quick | {"network": network})).fit(X, y)
        whole, tolerance = classifier.predict_proba(X), 1e-12 if X.ndim == 2 else 1e-5
        assert np.array_equal(classifier.predict_proba(X), whole)
        for count in (1, 5, 33):
            assert np.array_equal(classifier.predict(X)[:count], classifier.predict(X[:count]))
            assert np.allclose(classifier.predict_proba(X[:count]), whole[:count], rtol=0, atol=tolerance)


def test_the_seed_decides(blobs: Blobs, quick: Settings) -> None:
    def answer(seed: Any) -> NDArray[np.float64]:
        return TrueLabelClassifier(**(quick | {"random_state": seed})).fit(*blobs).predict_proba(blobs[0])

    first = answer(0)
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002 - neither global generator may matter
    assert np.array_equal(answer(0), first)
    assert np.array_equal(answer(np.random.RandomState(0)), first)
    assert not np.allclose(answer(1), first, atol=1e-3)


class Maps(nn.Module):
    """Feature maps (N, 16, H, W), pooled to one pixel or not."""

    def __init__(self, *, pool: bool) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 16, 3)
        self.end: nn.Module = nn.AdaptiveAvgPool2d(1) if pool else nn.Identity()

    def forward(self, images: Tensor) -> Tensor:
        maps: Tensor = self.end(self.convolution(images).relu())
        return maps


class InSinglePrecision(nn.Module):
    """What many a published network does: it casts its inputs, or multiplies by a constant that is no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 8)

    def forward(self, points: Tensor) -> Tensor:
        features: Tensor = self.layer(points.float()).relu()
        return features


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Linear(2, 32), nn.ReLU()),
        lambda: lambda shape: nn.Linear(shape[0], 16),
        InSinglePrecision,
    ],
    ids=["module", "function", "single precision"],
)
def test_any_module_of_features_is_a_network(make: Callable[[], Any], blobs: Blobs, thorough: Settings) -> None:
    classifier = TrueLabelClassifier(**(thorough | {"network": make()})).fit(*blobs)
    assert classifier.score(*blobs) > 0.95


def test_a_module_is_the_start_and_stays_as_it_is(blobs: Blobs, quick: Settings) -> None:
    network = nn.Linear(2, 8)
    before = network.weight.detach().clone()
    TrueLabelClassifier(**(quick | {"network": network})).fit(*blobs)
    assert torch.equal(network.weight, before)


def test_a_module_of_pooled_feature_maps_is_a_network(pictures: Pictures, thorough: Settings) -> None:
    classifier = TrueLabelClassifier(**(thorough | {"network": Maps(pool=True), "batch_size": 8})).fit(*pictures)
    assert classifier.score(*pictures) > 0.95


def test_a_map_of_pixels_cannot_answer_for_whole_images(pictures: Pictures, quick: Settings, tmp_path: Path) -> None:
    for network in (Maps(pool=False), "unet"):
        classifier = TrueLabelClassifier(**(quick | {"network": network}), folder=tmp_path / "run")
        with pytest.raises(ValueError) as caught:
            classifier.fit(*pictures)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_images_may_be_bytes_or_floats(kind: type[Any], pictures: Pictures, thorough: Settings) -> None:
    images = pictures[0] if kind is np.uint8 else pictures[0].astype(np.float32) / 255
    classifier = TrueLabelClassifier(**(thorough | {"network": "auto", "epochs": 10})).fit(images, pictures[1])
    assert classifier.score(images, pictures[1]) > 0.95


def test_bytes_stand_for_numbers_from_zero_to_one(pictures: Pictures, quick: Settings) -> None:
    images, bright = pictures
    classifier = TrueLabelClassifier(**(quick | {"network": "auto"})).fit(images, bright)
    expected = classifier.predict_proba(images)
    assert np.allclose(classifier.predict_proba(images.astype(np.float32) / 255), expected, rtol=0, atol=1e-6)
    assert np.array_equal(classifier.predict_proba(torch.from_numpy(images)), expected)


def test_a_fit_that_had_finished_is_loaded(blobs: Blobs, quick: Settings, tmp_path: Path) -> None:
    first = TrueLabelClassifier(**quick, folder=tmp_path / "run").fit(*blobs)
    second = TrueLabelClassifier(**quick, folder=tmp_path / "run").fit(*blobs)
    # The seconds of every epoch are in the rows: had it trained again, they would differ.
    assert second.history_.rows == first.history_.rows
    assert np.array_equal(second.predict_proba(blobs[0]), first.predict_proba(blobs[0]))
    alone = TrueLabelClassifier(**quick).fit(*blobs)
    assert np.array_equal(alone.predict_proba(blobs[0]), first.predict_proba(blobs[0]))
    with pytest.raises(RunFolderError, match="holds another run"):
        TrueLabelClassifier(**(quick | {"epochs": 3}), folder=tmp_path / "run").fit(*blobs)


def test_it_can_be_searched_and_piped(blobs: Blobs, quick: Settings) -> None:
    search = GridSearchCV(TrueLabelClassifier(**quick), {"learning_rate": [1e-6, 0.03], "method": ["majority-vote"]})
    assert search.fit(*blobs).best_params_["learning_rate"] == 0.03
    pipe = make_pipeline(MinMaxScaler(), TrueLabelClassifier(**(quick | {"epochs": 20, "learning_rate": 0.03})))
    assert pipe.fit(*blobs).score(*blobs) > 0.95


def test_whole_numbers_may_be_of_numpy_as_searches_draw_them(blobs: Blobs, quick: Settings) -> None:
    search = RandomizedSearchCV(
        TrueLabelClassifier(**quick), {"batch_size": randint(16, 64), "epochs": np.arange(1, 3)}, n_iter=1, cv=2
    )
    assert search.fit(*blobs).best_score_ > 0


def test_flipped_labels_have_low_quality(blobs: Blobs, thorough: Settings) -> None:
    points, truth = blobs
    rng = np.random.default_rng(2)
    flipped = rng.random(300) < 0.15
    labels = np.where(flipped, (truth + rng.integers(1, 3, 300)) % 3, truth)
    classifier = TrueLabelClassifier(**thorough).fit(points, labels)
    for folds in (0, 5):
        quality = classifier.label_quality(points, labels, folds=folds)
        assert quality.shape == (300,)
        assert roc_auc_score(flipped, -quality) > 0.9
    worst = classifier.suspects(points, labels, top=20)
    assert flipped[worst.example].mean() > 0.9
    assert (worst.suggested == truth[worst.example]).mean() > 0.9


def slow_confusion(annotations: Annotations, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """T[r, k, j] is ε plus how often r said j where the truth is believed to be k; rows then sum to one."""
    classes = len(annotations.classes)
    counts = np.full((len(annotations.annotators), classes, classes), SMOOTHING)
    for example, row in enumerate(annotations.matrix()):
        for annotator, said in enumerate(row):
            for true in range(classes):
                if said >= 0:
                    counts[annotator, true, said] += posterior[example, true]
    return np.asarray(counts / counts.sum(-1, keepdims=True))


def test_quality_confusion_and_skill_are_what_their_formulas_say(
    blobs: Blobs, crowd: NDArray[np.int64], quick: Settings
) -> None:
    points, _ = blobs
    annotations = Annotations.from_matrix(crowd)
    classifier = TrueLabelClassifier(**quick).fit(points, annotations)
    posterior = classifier.predict_proba(points)
    confusion = slow_confusion(annotations, posterior)
    assert np.allclose(classifier.confusion_, confusion, atol=1e-12)
    assert np.allclose(classifier.confusion_.sum(-1), 1, atol=1e-12)

    expected, together = [], []
    by_annotator: list[list[float]] = [[], [], []]
    for example, row in enumerate(crowd):
        for annotator, said in enumerate(row):
            if said >= 0:
                each = [posterior[example, true] * confusion[annotator, true, said] for true in range(3)]
                by_annotator[annotator].append(each[said] / sum(each))
                joint = posterior[example].copy()
                for other, word in enumerate(row):
                    joint *= confusion[other, :, word] if word >= 0 else 1.0
                together.append(joint / joint.sum())
                expected.append(together[-1][said])
    quality = classifier.label_quality(points, annotations, folds=0)
    assert quality.shape == (annotations.size,)
    assert np.allclose(quality, expected, atol=1e-12)
    belief = classifier.true_class_proba(points, annotations, folds=0)
    assert np.allclose(belief[annotations.example], together, atol=1e-12)
    assert np.allclose(classifier.annotator_skill_, [np.mean(values) for values in by_annotator], atol=1e-12)
    assert np.array_equal(classifier.label_quality(points, crowd, folds=0), quality)


@pytest.mark.parametrize("method", ["cross-entropy", "majority-vote"])
def test_skill_ranks_a_good_a_mediocre_and_a_bad_annotator(
    method: str, blobs: Blobs, crowd: NDArray[np.int64], thorough: Settings
) -> None:
    points, truth = blobs
    classifier = TrueLabelClassifier(method, **thorough).fit(points, crowd)
    good, mediocre, bad = classifier.annotator_skill_
    assert good > mediocre + 0.1 > bad + 0.2
    assert classifier.score(points, truth) > 0.95


def test_quality_of_other_labels_needs_the_same_annotators_and_classes(
    blobs: Blobs, crowd: NDArray[np.int64], quick: Settings
) -> None:
    points, _ = blobs
    classifier = TrueLabelClassifier(**quick).fit(points, crowd)
    some = crowd[:10].copy()
    some[3] = -1
    assert classifier.label_quality(points[:10], some, folds=0).shape == ((some >= 0).sum(),)
    with pytest.raises(ValueError, match="other annotators than those seen in fit"):
        classifier.label_quality(points, crowd[:, :2])
    with pytest.raises(ValueError, match=r"label 5 in row 1 is outside 0\.\.2"):
        classifier.label_quality(points, np.full_like(crowd, 5))
    with pytest.raises(ValueError, match="but fit saw"):
        classifier.label_quality(points, Annotations.from_matrix(crowd, classes=4))


def test_a_method_with_options_of_ones_own(blobs: Blobs, crowd: NDArray[np.int64], quick: Settings) -> None:
    method = get_method("majority-vote").with_options(ties="lowest")
    classifier = TrueLabelClassifier(method, **quick).fit(blobs[0], crowd)
    assert classifier.get_params()["method"] is method
    assert clone(classifier).get_params()["method"] == method


@pytest.fixture(scope="module")
def confused_crowd() -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Four blobs in two dimensions; two good annotators, a guesser, and one who calls 0 a 1 and 1 a 0."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 600)
    X = 4 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[truth] + rng.normal(size=(600, 2))
    good = np.where(rng.random((600, 2)) < 0.9, truth[:, None], rng.integers(0, 4, (600, 2)))
    guess = rng.integers(0, 4, 600)
    swapped = np.array([1, 0, 2, 3])[truth]
    return X, truth, np.column_stack([good, guess, swapped])


def test_confusion_is_what_the_method_learned(
    confused_crowd: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]], tmp_path: Path
) -> None:
    X, truth, said = confused_crowd
    clf = TrueLabelClassifier("annotator-confusion", epochs=40, random_state=0).fit(X, said)
    own = clf.learner_.annotator_confusion()
    assert own is not None
    np.testing.assert_allclose(clf.confusion_, own.detach().numpy(), atol=1e-6)
    assert clf.confusion_[3, 0, 1] > 0.8
    assert clf.confusion_[3, 1, 0] > 0.8
    truly = (said == truth[:, None]).mean(0)
    np.testing.assert_allclose(clf.annotator_skill_, truly, atol=0.1)
    low, high = clf.annotator_skill_interval_.T
    assert ((low < clf.annotator_skill_) & (clf.annotator_skill_ < high)).all()
    cells = clf.confusion_interval(X, said)
    assert cells.shape == (4, 4, 4, 2)
    assert ((cells[..., 0] <= clf.confusion_) & (clf.confusion_ <= cells[..., 1])).mean() > 0.99
    wide = clf.confusion_interval(X, said, level=0.999)
    assert (wide[..., 0] <= cells[..., 0]).all()
    assert (wide[..., 1] >= cells[..., 1]).all()
    clf.save(tmp_path / "model")
    loaded = TrueLabelClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.annotator_skill_interval_, clf.annotator_skill_interval_)
    np.testing.assert_array_equal(loaded.confusion_, clf.confusion_)


def test_a_crowd_that_is_mostly_wrong_about_a_class_is_warned_of() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 300)
    X = 5 * np.eye(3)[truth] + rng.normal(size=(300, 3))
    said = np.repeat(truth[:, None], 3, 1)
    oracle = get_method("oracle-confusion")
    with pytest.warns(UserWarning, match="not diagonally dominant for classes 0, 1: their confusion may not be"):
        # Column by column: who is called 0 is rather a 1, and who is called 1 rather a 0.
        TrueLabelClassifier(
            oracle.with_options(confusion=np.array([[0.1, 0.9, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]])),
            epochs=1,
            random_state=0,
        ).fit(X, said)


def test_noise_may_have_a_learning_rate_of_its_own(
    confused_crowd: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]],
) -> None:
    X, _, said = confused_crowd
    still = TrueLabelClassifier(
        "annotator-confusion", epochs=2, noise_learning_rate=1e-9, select="last", random_state=0
    ).fit(X, said)
    np.testing.assert_allclose(still.confusion_.diagonal(axis1=1, axis2=2), 0.956, atol=1e-3)
    moved = TrueLabelClassifier("annotator-confusion", epochs=2, select="last", random_state=0).fit(X, said)
    assert np.abs(moved.confusion_.diagonal(axis1=1, axis2=2) - 0.956).max() > 0.01
