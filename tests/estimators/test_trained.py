"""What the classifier and the segmenter have in common."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel import TrueLabelClassifier, TrueLabelSegmenter
from truelabel.estimators.trained import Trained
from truelabel.methods import get_method
from truelabel.training import TrainingConfig

Scans = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]
Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
Settings = dict[str, Any]

KINDS: list[type[Trained]] = [TrueLabelClassifier, TrueLabelSegmenter]
CHANGED: Settings = {
    "epochs": 3,
    "batch_size": 5,
    "optimizer": "sgd",
    "learning_rate": 0.2,
    "noise_learning_rate": 0.3,
    "weight_decay": 0.4,
    "schedule": "step",
    "step_epochs": (1, 2),
    "validation": 0.3,
    "patience": 7,
    "select": "last",
    "precision": "bf16-mixed",
    "augment": ("flip",),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_of_a_training_reaches_it(kind: type[Trained]) -> None:
    changed = CHANGED | ({"patch": (8, 9)} if kind is TrueLabelSegmenter else {})
    config = kind(**changed).training_config()
    assert config == TrainingConfig(**changed)
    # What an estimator does not offer is as it is by default.
    for setting in fields(TrainingConfig):
        if setting.name not in changed:
            assert getattr(config, setting.name) == setting.default
    not_offered = {"epsilon", "hold_out", "momentum", "step_factor", "patch"}
    assert {setting.name for setting in fields(TrainingConfig)} - set(changed) <= not_offered


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_settings_become_tuples(kind: type[Trained]) -> None:
    config = kind(schedule="step", step_epochs=[3], augment=["crop"]).training_config()
    assert (config.step_epochs, config.augment) == ((3,), ("crop",))


def data(kind: type[Trained], blobs: Blobs, scans: Scans) -> tuple[NDArray[Any], NDArray[Any]]:
    return blobs if kind is TrueLabelClassifier else (scans[0], scans[2])


def quickly(kind: type[Trained], quick: Settings, **options: Any) -> Trained:
    return kind(**(quick | ({} if kind is TrueLabelClassifier else {"network": "unet:4", "batch_size": 8}) | options))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_fit_leaves_behind(kind: type[Trained], blobs: Blobs, scans: Scans, quick: Settings) -> None:
    X, y = data(kind, blobs, scans)
    estimator: Any = quickly(kind, quick, method="cross-entropy").fit(X, y)
    assert estimator.method_ == get_method("cross-entropy")
    assert estimator.n_iter_ == len(estimator.history_.rows) == 2
    assert estimator.classes_.tolist() == [0, 1, 2]
    assert estimator.input_shape_ == X.shape[1:]
    assert estimator.notes_ == {}
    assert not estimator.learner_.training
    assert not hasattr(estimator, "trials_")
    kept = estimator.kept_arrays()
    assert np.array_equal(kept["confusion_"], estimator.confusion_)
    assert np.array_equal(kept["annotator_skill_"], estimator.annotator_skill_)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_tried_is_forgotten_with_the_next_fit(
    kind: type[Trained], blobs: Blobs, scans: Scans, quick: Settings
) -> None:
    X, y = data(kind, blobs, scans)
    grid = {"q": (0.2, 0.7)}
    estimator: Any = quickly(kind, quick, method="generalized-cross-entropy", search=grid)
    estimator.fit(X, y)
    assert [trial.options["q"] for trial in estimator.trials_] == [0.2, 0.7]
    best = max(estimator.trials_, key=lambda trial: trial.score)
    assert estimator.method_ == get_method("generalized-cross-entropy").with_options(**best.options)
    estimator.set_params(search=None).fit(X, y)
    assert not hasattr(estimator, "trials_")
    assert estimator.method_ == get_method("generalized-cross-entropy")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"search": "all"}, "^search must be 'paper' or a dict from options to values, got 'all'$"),
        ({"trials": 3}, "^trials needs search, the options and values to try$"),
        ({"search": "paper"}, "^cross-entropy has no grid of its own: name the options and values to search$"),
        ({"search": {"q": (1,)}}, "^cross-entropy has no option 'q': it has none$"),
        ({"device": "tpu"}, "^device must be one of auto, cpu"),
        ({"processes": 0}, "^processes must be at least 1, got 0$"),
        ({"epochs": 1.5}, "^epochs must be a whole number"),
    ],
)
def test_settings_that_make_no_sense_are_told_in_one_line(
    kind: type[Trained], parameters: Settings, message: str, blobs: Blobs, scans: Scans, quick: Settings
) -> None:
    estimator: Any = quickly(kind, quick, method="cross-entropy", **parameters)
    with pytest.raises(ValueError, match=message) as caught:
        estimator.fit(*data(kind, blobs, scans))
    assert "\n" not in str(caught.value)
    assert not hasattr(estimator, "learner_")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_saved_before_fit(kind: type[Trained], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        kind().save(tmp_path / "none")
    assert not (tmp_path / "none").exists()
