"""Options chosen on noisy validation labels."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from truelabel import Annotations, TrueLabelClassifier
from truelabel.data import Dataset
from truelabel.learners import Learner
from truelabel.methods import Learned, Method, get_method, search
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.search import Score, combinations, validation_score
from truelabel.training import Blueprint, Engine, History, Job, Run, TrainingConfig

CPU = Engine(device="cpu")
GCE = get_method("generalized-cross-entropy")


@dataclass(frozen=True, kw_only=True)
class Rate(Method):
    """Trains with a learning rate of its own: it either learns something or does not move."""

    name = "rate"
    summary = "a learning rate of its own"
    paper = "test"
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {"rate": (1e-9, 0.02, 1e-8)}

    rate: float = 1e-9

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)

    def learn(self, run: Run) -> Learned:
        config = replace(run.job.config, learning_rate=self.rate)
        fitted = run.fit("main", run.build("main", self.learner), config=config)
        return Learned(fitted.peers[0], fitted.history)


@dataclass(frozen=True, kw_only=True)
class Planted(Method):
    """Claims to have reached an accuracy and a loss, without training."""

    name = "planted"
    summary = "claims without training"
    paper = "test"

    accuracy: float = 0.5
    loss: float = 1.0
    steps: int = 1
    kind: str = "a"

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)

    def learn(self, run: Run) -> Learned:
        history = History([{"valid_accuracy": self.accuracy, "valid_loss": self.loss}], best_epoch=0)
        return Learned(run.build("main", self.learner)[0], history)


@pytest.fixture
def small(moons: tuple[Dataset, Dataset]) -> Job:
    """200 points, each with one label that is right with probability 0.8."""
    points, truth = moons[0].inputs[:200], moons[0].labels[:200]
    wrong = np.random.default_rng(1).random(200) > 0.8
    config = TrainingConfig(epochs=5, batch_size=32, validation=0.2)
    return Job(points, Annotations.from_labels(np.where(wrong, 1 - truth, truth)), "mlp:16", config, seed=0)


def times(folder: Path) -> dict[str, int]:
    """When each file was last written, but for the summary."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "search.json")
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in files}


def test_the_best_on_held_out_noisy_labels_is_kept(small: Job) -> None:
    found = search(Rate(), small, CPU)
    assert [trial.options for trial in found.trials] == [{"rate": 1e-9}, {"rate": 0.02}, {"rate": 1e-8}]
    assert found.method == Rate(rate=0.02)
    scores = [trial.score for trial in found.trials]
    assert scores[1] > max(scores[0], scores[2]) + 0.1
    # The score is the share of held-out labels, right or wrong, that the learner says.
    held_out = Run(small, CPU.fabric("32-true")).split.valid
    probs = Run(small, CPU.fabric("32-true")).posterior(found.learned.learner)
    said = small.annotations.matrix()[:, 0]
    share = (probs.argmax(-1).numpy() == said)[held_out.numpy()].mean()
    assert scores[1] == pytest.approx(share)
    assert found.learned.history.best("valid_accuracy") == scores[1]


def test_accuracy_and_likelihood_choose_differently(small: Job) -> None:
    grid = {"accuracy": (0.6, 0.9, 0.7), "loss": (0.4,)}
    assert search(Planted(), small, CPU, grid=grid).method.options()["accuracy"] == 0.9
    first = search(Planted(), small, CPU, grid={"loss": (0.9, 0.2, 0.4)}, score="likelihood")
    assert first.method.options()["loss"] == 0.2
    assert [trial.score for trial in first.trials] == [-0.9, -0.2, -0.4]
    by_accuracy = search(Planted(), small, CPU, grid={"loss": (0.9, 0.2, 0.4)}, score="accuracy")
    assert [trial.score for trial in by_accuracy.trials] == [0.5] * 3
    assert by_accuracy.method.options()["loss"] == 0.9, "the first of equals"


def test_the_papers_score_is_the_default(small: Job) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Likely(Planted):
        search_score = "likelihood"

    grid = {"accuracy": (0.6, 0.9), "loss": (0.5, 0.1)}
    assert [trial.score for trial in search(Likely(), small, CPU, grid=grid).trials] == [-0.5, -0.1, -0.5, -0.1]
    assert [trial.score for trial in search(Planted(), small, CPU, grid=grid).trials] == [0.6, 0.6, 0.9, 0.9]


@pytest.mark.parametrize(("by", "expected"), [("accuracy", 0.9), ("likelihood", -0.7)])
def test_the_score_is_that_of_the_best_epoch(by: Score, expected: float) -> None:
    history = History()
    for accuracy, loss in ((0.5, 0.6), (0.9, 0.7), (0.8, 0.1)):
        history.add({"valid_accuracy": accuracy, "valid_loss": loss})
    assert validation_score(history, by, TrainingConfig()) == expected
    assert validation_score(history, by, TrainingConfig(select="last")) == {"accuracy": 0.8, "likelihood": -0.1}[by]


def test_the_score_is_that_of_the_weights_kept(small: Job) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Fading(Planted):
        def learn(self, run: Run) -> Learned:
            learned, history = super().learn(run), History()
            for accuracy in (0.95, self.accuracy):
                history.add({"valid_accuracy": accuracy, "valid_loss": 1.0})
            return replace(learned, history=history)

    last = replace(small, config=replace(small.config, select="last"))
    found = search(Fading(), last, CPU, grid={"accuracy": (0.3, 0.6)})
    assert [trial.score for trial in found.trials] == [0.3, 0.6]


def test_all_combinations_in_order() -> None:
    grid = {"a": (1, 2), "b": ("x", "y"), "c": (None,)}
    assert list(combinations(grid)) == [
        {"a": 1, "b": "x", "c": None},
        {"a": 1, "b": "y", "c": None},
        {"a": 2, "b": "x", "c": None},
        {"a": 2, "b": "y", "c": None},
    ]


def test_the_folder_has_all_trials_and_they_are_not_repeated(small: Job, tmp_path: Path) -> None:
    job = replace(small, folder=tmp_path)
    found = search(Rate(), job, CPU)
    note = json.loads((tmp_path / "search.json").read_text(encoding="utf-8"))
    assert note["score"] == "accuracy"
    assert note["chosen"] == {"rate": 0.02}
    assert note["trials"] == [{"options": trial.options, "score": trial.score} for trial in found.trials]
    runs = sorted(path.name for path in (tmp_path / "search").iterdir())
    assert runs == ["rate=0.02", "rate=1e-08", "rate=1e-09"]
    before = times(tmp_path)
    assert len(before) >= 3 * 5
    again = search(Rate(), job, CPU)
    assert times(tmp_path) == before
    assert again.trials == found.trials
    assert again.learned.history == found.learned.history
    # One more value trains once more, and nothing else.
    search(Rate(), job, CPU, grid={"rate": (1e-9, 0.02, 1e-8, 0.01)})
    after = times(tmp_path)
    assert {name: after[name] for name in before} == before
    assert {name.split("/")[1] for name in after.keys() - before.keys()} == {"rate=0.01"}


def test_the_papers_grid_is_the_default(short: Job) -> None:
    found = search(GCE, short, CPU)
    assert [trial.options for trial in found.trials] == [{"q": q} for q in (0.1, 0.3, 0.5, 0.7, 0.9)]
    best = max(found.trials, key=lambda trial: trial.score)
    assert found.method == GCE.with_options(**best.options)


def test_other_options_of_the_method_are_kept(small: Job) -> None:
    found = search(Planted(kind="b", steps=7), small, CPU, grid={"accuracy": (0.1, 0.3)})
    assert found.method == Planted(kind="b", steps=7, accuracy=0.3)


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize(
    ("method", "grid", "change", "message"),
    [
        (
            get_method("cross-entropy"),
            None,
            {},
            "^cross-entropy has no grid of its own: name the options and values to search$",
        ),
        (GCE, {}, {}, "^generalized-cross-entropy has no grid of its own"),
        (GCE, None, {"validation": 0.0}, "^a search needs a validation part to choose by: set validation above 0$"),
        (GCE, {"p": (1.0,)}, {}, "^generalized-cross-entropy has no option 'p': it has q$"),
        (GCE, {"q": (0.5, 0.7, 1.5)}, {}, r"^q must lie in \(0, 1\], got 1.5"),
    ],
    ids=["no grid", "empty", "no validation", "unknown option", "bad value"],
)
def test_what_cannot_be_searched_is_refused_before_training(
    method: Method, grid: Any, change: dict[str, Any], message: str, folder: bool, short: Job, tmp_path: Path
) -> None:
    job = replace(short, config=replace(short.config, **change), folder=tmp_path if folder else None)
    with pytest.raises(ValueError, match=message) as caught:
        search(method, job, CPU, grid=grid)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_optuna_stays_within_the_range_and_repeats_itself(short: Job, tmp_path: Path) -> None:
    job = replace(short, folder=tmp_path)
    found = search(GCE, job, CPU, grid={"q": (0.2, 0.9)}, trials=3)
    tried = [trial.options["q"] for trial in found.trials]
    assert len(set(tried)) == 3
    assert all(0.2 <= q <= 0.9 for q in tried)
    assert not {0.2, 0.9} & set(tried), "between the values, not only at them"
    assert found.method.options()["q"] == max(found.trials, key=lambda trial: trial.score).options["q"]
    before = times(tmp_path)
    assert search(GCE, job, CPU, grid={"q": (0.2, 0.9)}, trials=3).trials == found.trials
    assert times(tmp_path) == before


def test_optuna_keeps_whole_numbers_whole_and_names_among_the_named(small: Job) -> None:
    grid = {"steps": (1, 50), "kind": ("a", "b", "c"), "loss": (0.001, 10.0), "accuracy": (0.25,)}
    trials = [trial.options for trial in search(Planted(), small, CPU, grid=grid, trials=30).trials]
    assert len(trials) == 30
    assert all(isinstance(options["steps"], int) and 1 <= options["steps"] <= 50 for options in trials)
    assert len({options["steps"] for options in trials}) > 5
    assert {options["kind"] for options in trials} == {"a", "b", "c"}
    assert {options["accuracy"] for options in trials} == {0.25}
    losses = [options["loss"] for options in trials]
    assert all(0.001 <= loss <= 10 for loss in losses)
    # Over four orders of magnitude a plain draw would hardly ever fall below a tenth.
    assert 5 <= sum(loss < 0.1 for loss in losses) <= 25


def test_optuna_goes_where_it_is_better(small: Job) -> None:
    found = search(Planted(), small, CPU, grid={"accuracy": (0.0, 1.0)}, trials=30)
    scores = [trial.score for trial in found.trials]
    assert np.mean(scores[-10:]) > 0.7 > np.mean(scores[:10])
    assert found.method.options()["accuracy"] == max(scores)


def test_without_optuna_the_extra_is_named(short: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"^a search beyond grids needs the extra: pip install 'truelabel\[tune\]'$"):
        search(GCE, short, CPU, trials=2)


SETTINGS: dict[str, Any] = {
    "method": "generalized-cross-entropy",
    "network": "mlp:8",
    "epochs": 2,
    "batch_size": 64,
    "device": "cpu",
    "random_state": 0,
}


@pytest.mark.parametrize(
    ("options", "values"),
    [({"search": {"q": (0.2, 0.8)}}, [0.2, 0.8]), ({"search": "paper"}, [0.1, 0.3, 0.5, 0.7, 0.9])],
    ids=["grid", "paper"],
)
def test_the_estimator_searches_and_remembers(
    options: dict[str, Any], values: list[float], moons: tuple[Dataset, Dataset], tmp_path: Path
) -> None:
    points, labels = moons[0].inputs, moons[0].labels
    classifier = TrueLabelClassifier(**SETTINGS, **options).fit(points, labels)
    assert [trial.options["q"] for trial in classifier.trials_] == values
    best = max(classifier.trials_, key=lambda trial: trial.score)
    assert classifier.method_ == GCE.with_options(**best.options)
    assert classifier.history_.best("valid_accuracy") == best.score
    classifier.save(tmp_path / "model")
    again = TrueLabelClassifier.load(tmp_path / "model")
    assert again.method_ == classifier.method_
    assert np.array_equal(again.predict_proba(points), classifier.predict_proba(points))
    # What was found is what a plain fit with these options learns.
    plain = TrueLabelClassifier(**{**SETTINGS, "method": classifier.method_}).fit(points, labels)
    assert plain.method_ == classifier.method_
    assert not hasattr(plain, "trials_")
    assert np.array_equal(plain.predict_proba(points), classifier.predict_proba(points))


def test_the_estimator_lets_optuna_search(moons: tuple[Dataset, Dataset]) -> None:
    points, labels = moons[0].inputs, moons[0].labels
    classifier = TrueLabelClassifier(**SETTINGS, search="paper", trials=2).fit(points, labels)
    assert len(classifier.trials_) == 2
    assert all(0.1 <= trial.options["q"] <= 0.9 for trial in classifier.trials_)


TYPO: Any = "papr"


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        pytest.param(lambda job: search(GCE, job, CPU, grid={"q": ()}), "q", id="no values"),
        pytest.param(lambda job: search(GCE, job, CPU, trials=0), "trials", id="no trials"),
        pytest.param(lambda job: search(GCE, job, CPU, score=TYPO), "score", id="unknown score"),
        pytest.param(
            lambda job: TrueLabelClassifier(**SETTINGS, search=TYPO).fit(job.inputs, job.annotations),
            "search",
            id="unknown word",
        ),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(attempt: Callable[[Job], object], message: str, short: Job) -> None:
    with pytest.raises(ValueError, match=rf"^{message}\b"):
        attempt(short)
