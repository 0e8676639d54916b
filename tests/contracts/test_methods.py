"""What every method must satisfy, on data so small that nothing is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.learners import Learner
from truelabel.methods import METHODS, Learned, Method, get_method, learn
from truelabel.methods.method import TaskName
from truelabel.training import Blueprint, Engine, Job, RunFolderError, TrainingConfig, clean_probs
from truelabel.types import MISSING

EXAMPLES, CLASSES, ANNOTATORS = 60, 3, 4
# Sixty examples and one epoch teach no network anything.
pytestmark = [
    pytest.mark.filterwarnings("ignore:the noise rate is estimated at"),
    pytest.mark.filterwarnings("ignore:no example has two labels"),
]
CPU = Engine(device="cpu")
CONFIG = TrainingConfig(epochs=2, batch_size=16)

Trained = Callable[[Method], Learned]


def points() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Three blobs in five dimensions and what four annotators said, each right four times in five."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, CLASSES, EXAMPLES)
    inputs = rng.normal(size=(EXAMPLES, 5)) + 2 * np.eye(CLASSES, 5)[truth]
    wrong = rng.integers(0, CLASSES, (EXAMPLES, ANNOTATORS))
    matrix = np.where(rng.random((EXAMPLES, ANNOTATORS)) < 0.7, truth[:, None], wrong)
    return inputs.astype(np.float32), matrix


def job(seed: int = 0, folder: Path | None = None) -> Job:
    inputs, matrix = points()
    annotations = Annotations.from_matrix(matrix, classes=CLASSES)
    return Job(inputs, annotations, network="mlp:16", config=CONFIG, seed=seed, folder=folder)


def weights(learned: Learned) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in learned.learner.state_dict().items()}


def assert_equal(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> None:
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def assert_answers(learned: Learned, inputs: NDArray[Any], units: tuple[int, ...]) -> None:
    """The learner is in evaluation mode and gives a probability to every class of every unit."""
    assert not any(module.training for module in learned.learner.modules())
    probs = clean_probs(learned.learner, torch.from_numpy(inputs))
    assert probs.shape == (*units, CLASSES)
    torch.testing.assert_close(probs.sum(-1), torch.ones(units))
    assert probs.flatten(0, -2).std(0).min() > 0, "the answer must depend on the inputs"


@pytest.fixture(scope="module")
def trained() -> Trained:
    """Trains each method once for all tests that only look at the result."""
    known: dict[str, Learned] = {}

    def train(method: Method) -> Learned:
        if method.name not in known:
            known[method.name] = learn(method, job(), CPU)
        return known[method.name]

    return train


def test_it_describes_itself(method_name: str) -> None:
    method = METHODS[method_name]
    assert method.name == method_name
    assert get_method(method_name) is method
    for text in (method.summary, method.paper):
        assert text.strip() == text != ""
    assert method.summary[0].islower()
    assert not method.summary.endswith(".")
    assert "\n" not in method.summary
    assert method.tasks
    assert set(method.tasks) <= set(get_args(TaskName))
    assert (type(method).__doc__ or "").strip()


def test_it_is_frozen(method: Method) -> None:
    assert is_dataclass(method)
    for name in ("name", *(field.name for field in fields(method))):
        with pytest.raises(FrozenInstanceError):
            setattr(method, name, None)


def test_options_are_checked_by_name(method: Method) -> None:
    with pytest.raises(ValueError, match=f"{method.name} has no option 'unknown'"):
        method.with_options(unknown=1)
    assert method.with_options(**method.options()) == method


def test_an_option_that_makes_no_sense_is_refused_at_once(method: Method) -> None:
    for name in method.options():
        with pytest.raises((ValueError, TypeError)):
            method.with_options(**{name: "no such value"})


def test_it_learns_something_that_answers(method: Method, trained: Trained) -> None:
    learned = trained(method)
    assert_answers(learned, points()[0], (EXAMPLES,))
    assert learned.history.rows
    assert all(np.isfinite(row["train_loss"]) for row in learned.history.rows)


def test_the_same_seed_gives_the_same_weights(method: Method, trained: Trained) -> None:
    torch.manual_seed(123)
    before = torch.get_rng_state()
    again = learn(method, job(), CPU)
    assert torch.equal(torch.get_rng_state(), before), "torch's own generator is given back untouched"
    assert_equal(weights(again), weights(trained(method)))


def test_another_seed_starts_elsewhere(method: Method) -> None:
    # With steps this small the weights stay where they started.
    still = replace(CONFIG, learning_rate=1e-9)
    first, other = (weights(learn(method, replace(job(seed), config=still), CPU)) for seed in (0, 1))
    assert first.keys() == other.keys()
    assert any(not torch.allclose(first[name], other[name], atol=1e-3) for name in first)


def test_a_finished_run_is_loaded_instead_of_repeated(method: Method, trained: Trained, tmp_path: Path) -> None:
    epochs: list[Learner] = []

    def count(learner: Learner) -> dict[str, float]:
        epochs.append(learner)
        return {}

    wanted = replace(job(folder=tmp_path / "run"), evaluate=count)
    first = learn(method, wanted, CPU)
    assert_equal(weights(first), weights(trained(method)))
    assert len(epochs) >= CONFIG.epochs
    epochs.clear()
    second = learn(method, wanted, CPU)
    assert epochs == []
    assert_equal(weights(second), weights(first))
    assert second.history.best_epoch == first.history.best_epoch
    assert second.history.rows == first.history.rows
    assert_answers(second, points()[0], (EXAMPLES,))
    with pytest.raises(RunFolderError, match="seed"):
        learn(method, replace(wanted, seed=1), CPU)


def test_a_learner_is_rebuilt_from_its_plan(method: Method, trained: Trained) -> None:
    learned, inputs = trained(method), torch.from_numpy(points()[0])
    rebuilt = method.learner(Blueprint("mlp:16", (5,), CLASSES, ANNOTATORS))
    untrained = clean_probs(rebuilt, inputs)
    rebuilt.load_state_dict(learned.learner.state_dict())
    assert torch.equal(clean_probs(rebuilt, inputs), clean_probs(learned.learner, inputs))
    assert not torch.equal(clean_probs(rebuilt, inputs), untrained)


def test_labels_may_be_missing(method: Method) -> None:
    inputs, matrix = points()
    matrix = np.where(np.random.default_rng(1).random(matrix.shape) < 0.6, matrix, MISSING)
    matrix[:20, :] = MISSING
    matrix[:, -1] = MISSING
    annotations = Annotations.from_matrix(matrix, classes=CLASSES)
    assert annotations.counts.min() == 0
    learned = learn(method, replace(job(), annotations=annotations), CPU)
    assert_answers(learned, inputs, (EXAMPLES,))


def test_one_label_an_example_is_enough(method: Method) -> None:
    inputs, matrix = points()
    annotations = Annotations.from_labels(matrix[:, 0], classes=CLASSES)
    learned = learn(method, replace(job(), annotations=annotations), CPU)
    assert_answers(learned, inputs, (EXAMPLES,))


def test_it_learns_from_masks(method: Method) -> None:
    if "segmentation" not in method.tasks:
        pytest.skip("a method for examples")
    rng = np.random.default_rng(2)
    images = rng.normal(size=(6, 2, 8, 8)).astype(np.float32)
    masks = rng.integers(-1, CLASSES, (6, 2, 8, 8))
    masks[0, 1] = MISSING
    annotations = Annotations.from_masks(masks, classes=CLASSES)
    learned = learn(method, replace(job(), inputs=images, annotations=annotations, network="unet"), CPU)
    assert_answers(learned, images, (6, 8, 8))
