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
from truelabel.training import Blueprint, Engine, Job, RunFolderError, TrainingConfig, TrainingSet, clean_probs
from truelabel.training.fit import fit
from truelabel.types import MISSING

from .ghosts import HostTrafficError, ghost_step

EXAMPLES, CLASSES, ANNOTATORS = 60, 3, 4
IMAGES, SPACE = 6, (8, 9)
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


def images() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Six images with three classes of noise, and the masks of four readers with gaps; one reader lacks an image."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, CLASSES, (IMAGES, *SPACE))
    inputs = rng.normal(size=(IMAGES, 2, *SPACE)) + np.eye(CLASSES, 2)[truth].transpose(0, 3, 1, 2)
    masks = np.where(rng.random((IMAGES, ANNOTATORS, *SPACE)) < 0.7, truth[:, None], rng.integers(-1, CLASSES))
    masks[0, 1] = MISSING
    return inputs.astype(np.float32), masks


def job(method: Method, seed: int = 0, folder: Path | None = None) -> Job:
    """Points, or images for a method that knows only these."""
    if "classification" in method.tasks:
        inputs, matrix = points()
        annotations = Annotations.from_matrix(matrix, classes=CLASSES)
        return Job(inputs, annotations, network="mlp:16", config=CONFIG, seed=seed, folder=folder)
    inputs, masks = images()
    annotations = Annotations.from_masks(masks, classes=CLASSES)
    return Job(inputs, annotations, network="unet:4", config=CONFIG, seed=seed, folder=folder)


def units(wanted: Job) -> tuple[int, ...]:
    return (len(wanted.inputs), *wanted.annotations.space)


def with_labels(method: Method, said: NDArray[np.int64]) -> Job:
    """The same job with other labels, ``(N, R)`` or ``(N, R, *space)``."""
    wanted = job(method)
    read = Annotations.from_masks if wanted.annotations.space else Annotations.from_matrix
    return replace(wanted, annotations=read(said, classes=CLASSES))


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
            known[method.name] = learn(method, job(method), CPU)
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
    assert_answers(learned, job(method).inputs, units(job(method)))
    assert learned.history.rows
    assert all(np.isfinite(row["train_loss"]) for row in learned.history.rows)


def test_the_same_seed_gives_the_same_weights(method: Method, trained: Trained) -> None:
    torch.manual_seed(123)
    before = torch.get_rng_state()
    again = learn(method, job(method), CPU)
    assert torch.equal(torch.get_rng_state(), before), "torch's own generator is given back untouched"
    assert_equal(weights(again), weights(trained(method)))


def test_another_seed_starts_elsewhere(method: Method) -> None:
    # With steps this small the weights stay where they started.
    still = replace(CONFIG, learning_rate=1e-9)
    first, other = (weights(learn(method, replace(job(method, seed), config=still), CPU)) for seed in (0, 1))
    assert first.keys() == other.keys()
    assert any(not torch.allclose(first[name], other[name], atol=1e-3) for name in first)


def test_a_finished_run_is_loaded_instead_of_repeated(method: Method, trained: Trained, tmp_path: Path) -> None:
    epochs: list[Learner] = []

    def count(learner: Learner) -> dict[str, float]:
        epochs.append(learner)
        return {}

    wanted = replace(job(method, folder=tmp_path / "run"), evaluate=count)
    first = learn(method, wanted, CPU)
    assert_equal(weights(first), weights(trained(method)))
    assert len(epochs) >= CONFIG.epochs
    epochs.clear()
    second = learn(method, wanted, CPU)
    assert epochs == []
    assert_equal(weights(second), weights(first))
    assert second.history.best_epoch == first.history.best_epoch
    assert second.history.rows == first.history.rows
    assert_answers(second, wanted.inputs, units(wanted))
    with pytest.raises(RunFolderError, match="seed"):
        learn(method, replace(wanted, seed=1), CPU)


def test_a_learner_is_rebuilt_from_its_plan(method: Method, trained: Trained) -> None:
    learned, inputs = trained(method), torch.from_numpy(job(method).inputs)
    rebuilt = method.learner(replace(Blueprint.of(job(method)), workload=None))
    untrained = clean_probs(rebuilt, inputs)
    rebuilt.load_state_dict(learned.learner.state_dict())
    assert torch.equal(clean_probs(rebuilt, inputs), clean_probs(learned.learner, inputs))
    assert not torch.equal(clean_probs(rebuilt, inputs), untrained)


def test_labels_may_be_missing(method: Method) -> None:
    said = job(method).annotations.matrix()
    said = np.where(np.random.default_rng(1).random(said.shape) < 0.6, said, MISSING)
    said[: len(said) // 3] = MISSING
    said[:, -1] = MISSING
    wanted = with_labels(method, said)
    assert wanted.annotations.counts.min() == 0
    assert_answers(learn(method, wanted, CPU), wanted.inputs, units(wanted))


def test_one_label_an_example_is_enough(method: Method) -> None:
    wanted = with_labels(method, job(method).annotations.matrix()[:, 2:3])
    assert_answers(learn(method, wanted, CPU), wanted.inputs, units(wanted))


def test_it_learns_from_masks(method: Method) -> None:
    if "segmentation" not in method.tasks:
        pytest.skip("a method for examples")
    inputs, masks = images()
    annotations = Annotations.from_masks(masks, classes=CLASSES)
    learned = learn(method, replace(job(method), inputs=inputs, annotations=annotations, network="unet:4"), CPU)
    assert_answers(learned, inputs, (IMAGES, *SPACE))


def test_it_learns_from_volumes(method: Method) -> None:
    if "segmentation" not in method.tasks:
        pytest.skip("a method for examples")
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(4, 1, 4, 5, 6)).astype(np.float32)
    annotations = Annotations.from_masks(rng.integers(0, CLASSES, (4, 2, 4, 5, 6)), classes=CLASSES)
    config = replace(CONFIG, epochs=1, validation=0.25)
    wanted = replace(job(method), inputs=inputs, annotations=annotations, network="unet:4", config=config)
    if method.name == "oracle-confusion":
        pytest.skip("it was told of four readers")
    assert_answers(learn(method, wanted, CPU), inputs, (4, 4, 5, 6))


def test_no_step_of_any_stage_asks_the_device_or_sends_it_something(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []

    def checked(peers: Any, data: TrainingSet, split: Any, config: TrainingConfig, **more: Any) -> Any:
        ghost_step(peers, data, config.batch_size, more["selector"], more["transforms"])
        steps.append(more["stage"])
        return fit(peers, data, split, config, **more)

    monkeypatch.setattr("truelabel.training.run.fit", checked)
    for wanted in both_tasks(method):
        steps.clear()
        learn(method, wanted, CPU)
        assert steps


def both_tasks(method: Method) -> list[Job]:
    """What the method can be given: points, images with masks, or both."""
    wanted = job(method)
    if set(method.tasks) != {"classification", "segmentation"}:
        return [wanted]
    inputs, masks = images()
    said = Annotations.from_masks(masks, classes=CLASSES)
    config = replace(CONFIG, augment=("crop", "flip"))
    return [wanted, replace(wanted, inputs=inputs, annotations=said, network="unet:4", config=config)]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda losses: losses * losses.max().item(),
        lambda losses: losses[losses > 0].mean() + losses,
        lambda losses: losses if losses.sum() > 0 else -losses,
        lambda losses: losses * torch.tensor([2.0], device=losses.device),
        lambda losses: losses * torch.ones(len(losses)).to(losses.device),
    ],
    ids=["item", "boolean index", "branch", "constant", "copy"],
)
def test_a_step_that_does_is_caught(spoil: Callable[[Tensor], Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    method = METHODS["cross-entropy"]
    peer = method.learner(Blueprint.of(job(method)))
    data = TrainingSet(torch.from_numpy(job(method).inputs), job(method).annotations)
    ghost_step([peer], data, 8)
    plain = type(peer).forward
    monkeypatch.setattr(
        type(peer), "forward", lambda self, batch: (step := plain(self, batch))._replace(losses=spoil(step.losses))
    )
    with pytest.raises((HostTrafficError, RuntimeError, NotImplementedError)):
        ghost_step([peer], data, 8)
