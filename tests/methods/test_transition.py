"""Forward correction, reweighting and T-revision."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from truelabel import Annotations
from truelabel.corruption import asymmetric
from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy, Reweight
from truelabel.methods import Learned, Method, get_method, learn
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.transition import corrected, take_up
from truelabel.noise import Transition, estimate_transition
from truelabel.training import Blueprint, Engine, Job, Run, TrainingConfig, clean_probs
from truelabel.training.files import read_tensors

Blobs = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]

CPU = Engine(device="cpu")
FORWARD, REWEIGHT, REVISION = (get_method(name) for name in ("forward", "reweight", "t-revision"))
ALL = [FORWARD, REWEIGHT, REVISION]
CYCLE = {k: (k + 1) % 4 for k in range(4)}
T = asymmetric(4, 0.4, CYCLE)
ROWS = tuple(map(tuple, T.tolist()))
PLAN = Blueprint("mlp:8", (2,), classes=3, annotators=1)


def blobs(n: int, seed: int, apart: float, rate: float = 0.4) -> Blobs:
    """Points of four blobs, their classes, and labels of which a share is of the next class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n)
    inputs = apart * np.eye(4, 5)[truth] + rng.normal(size=(n, 5))
    return inputs.astype(np.float32), truth, np.where(rng.random(n) < rate, (truth + 1) % 4, truth)


def accuracy(method: Method, seed: int) -> float:
    """On 1,000 points, learned by heart from 300."""
    inputs, truth, said = blobs(1300, seed, apart=3)
    config = TrainingConfig(epochs=100, batch_size=100, learning_rate=0.005, validation=0.0)
    learned = learn(method, Job(inputs[:300], Annotations.from_labels(said[:300]), "mlp:64", config, seed), CPU)
    answer = clean_probs(learned.learner, torch.from_numpy(inputs[300:])).argmax(-1).numpy()
    return float((answer == truth[300:]).mean())


@pytest.fixture
def easy(tmp_path: Path) -> Job:
    """Blobs that do not touch, and a network that learns them in ten epochs."""
    inputs, _, said = blobs(1000, 0, apart=6)
    config = TrainingConfig(epochs=12, batch_size=100, learning_rate=0.01)
    return Job(inputs, Annotations.from_labels(said), "mlp:32", config, seed=0, folder=tmp_path / "run")


@pytest.fixture
def brief(easy: Job) -> Job:
    """The same, for tests in which the result does not matter."""
    return replace(easy, config=replace(easy.config, epochs=2))


def noise_of(learned: Learned) -> Transition:
    assert isinstance(learned.learner, Classifier)
    assert isinstance(learned.learner.noise, Transition)
    return learned.learner.noise


def epochs_of(folder: Path, stage: str) -> int:
    return len((folder / stage / "metrics.csv").read_text().splitlines()) - 1


@pytest.mark.long
@pytest.mark.parametrize(("method", "margin"), [(FORWARD, 0.15), (REWEIGHT, 0.1)], ids=["forward", "reweight"])
def test_with_the_true_transition_it_beats_cross_entropy(method: Method, margin: float) -> None:
    known = method.with_options(transition=ROWS)
    for seed in range(3):
        assert accuracy(known, seed) > accuracy(get_method("cross-entropy"), seed) + margin


def test_the_transition_is_estimated() -> None:
    inputs, truth, said = blobs(2500, 0, apart=6, rate=0.3)
    config = TrainingConfig(epochs=6, batch_size=100, learning_rate=0.005)
    job = Job(inputs[:2000], Annotations.from_labels(said[:2000]), "mlp:16", config, seed=0)
    expected, error = asymmetric(4, 0.3, CYCLE).float(), {}
    for quantile in (0.87, 0.97, None):
        learned = learn(FORWARD.with_options(quantile=quantile), job, CPU)
        error[quantile] = (noise_of(learned).transition - expected).abs()
        answer = clean_probs(learned.learner, torch.from_numpy(inputs[2000:])).argmax(-1).numpy()
        assert (answer == truth[2000:]).mean() > 0.97
    # The identity is off by 0.3. A quarter of the points are of each class: 0.87 is in its middle, 0.97 among the sure.
    assert error[0.87].max() < 0.15
    assert error[0.97].max() < 0.2
    assert error[0.97].mean() < 0.08
    assert error[0.97].max() < error[None].max(), "the surest example of all is overconfident"


def test_an_estimate_is_read_off_the_training_part_of_the_warm_up(brief: Job) -> None:
    assert brief.folder is not None
    learned = learn(FORWARD.with_options(warm_up=1, quantile=0.9), brief, CPU)
    warm = plain_classifier(Blueprint("mlp:32", (5,), classes=4, annotators=1))
    load(warm, read_tensors(brief.folder / "1-warm-up" / "best.safetensors")[0])
    train = Run(brief, CPU.fabric("32-true")).split.train
    assert len(train) == 900
    posterior = clean_probs(warm, torch.from_numpy(brief.inputs))
    kept = read_tensors(brief.folder / "1-transition.safetensors")[0]["transition"]
    torch.testing.assert_close(kept, estimate_transition(posterior[train], 0.9))
    assert not torch.allclose(kept, estimate_transition(posterior, 0.9)), "what is held out must matter here"
    assert torch.equal(noise_of(learned).transition, kept)


def load(learner: Learner, stored: dict[str, Tensor]) -> None:
    """Weights of the only peer, whatever it is called in the file."""
    names = list(learner.state_dict())
    learner.load_state_dict({name: next(v for k, v in stored.items() if k.endswith(name)) for name in names})


def test_an_estimate_given_by_hand_is_the_same_training(brief: Job, tmp_path: Path) -> None:
    # Forward starts from scratch, so that nothing else of the warm-up is left.
    first = learn(FORWARD.with_options(warm_up=1), brief, CPU)
    rows = tuple(map(tuple, noise_of(first).transition.tolist()))
    second = learn(FORWARD.with_options(transition=rows), replace(brief, folder=tmp_path / "given"), CPU)
    assert sorted(path.name for path in (tmp_path / "given").iterdir()) == ["main", "run.json"]
    for ours, theirs in zip(second.learner.parameters(), first.learner.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("method", "stages"),
    [
        (FORWARD, ["1-transition.safetensors", "1-warm-up", "main", "run.json"]),
        (REWEIGHT, ["1-transition.safetensors", "1-warm-up", "main", "run.json"]),
        (REVISION, ["1-transition.safetensors", "1-warm-up", "2-reweight", "3-revision", "run.json"]),
    ],
    ids=["forward", "reweight", "t-revision"],
)
def test_the_stages(method: Method, stages: list[str], brief: Job) -> None:
    assert brief.folder is not None
    learned = learn(method.with_options(warm_up=1), brief, CPU)
    assert sorted(path.name for path in brief.folder.iterdir()) == stages
    assert epochs_of(brief.folder, "1-warm-up") == 1
    assert len(learned.history.rows) == 2
    times = {path: path.stat().st_mtime_ns for path in brief.folder.rglob("*")}
    again = learn(method.with_options(warm_up=1), brief, CPU)
    assert {path: path.stat().st_mtime_ns for path in brief.folder.rglob("*")} == times
    for ours, theirs in zip(again.learner.state_dict().values(), learned.learner.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_warm_up_is_no_longer_than_the_training(brief: Job) -> None:
    assert brief.folder is not None
    learn(FORWARD.with_options(warm_up=50), brief, CPU)
    assert epochs_of(brief.folder, "1-warm-up") == 2


@pytest.mark.parametrize("select", ["best", "last"])
def test_anchors_are_found_by_the_weights_asked_for(select: str, brief: Job) -> None:
    assert brief.folder is not None
    learn(FORWARD.with_options(warm_up=2, warm_up_select=select), brief, CPU)
    assert json.loads((brief.folder / "1-warm-up" / "finished.json").read_text())["weights"] == select


def test_a_revision_moves_the_slack_and_the_papers_rate_hardly_does(brief: Job, tmp_path: Path) -> None:
    options: dict[str, Any] = {"transition": ROWS, "revision_epochs": 3}
    far = noise_of(learn(REVISION.with_options(**options, revision_rate=0.01), brief, CPU))
    near = noise_of(learn(REVISION.with_options(**options), replace(brief, folder=tmp_path / "near"), CPU))
    assert far.slack is not None
    assert near.slack is not None
    assert far.slack.abs().max() > 0.01
    assert 0 < near.slack.abs().max() < 1e-4
    for noise in (far, near):
        torch.testing.assert_close(noise.transition, T.float())
        torch.testing.assert_close(noise.revised().sum(-1), torch.ones(4))
    assert epochs_of(tmp_path / "near", "3-revision") == 3
    assert epochs_of(tmp_path / "near", "2-reweight") == 2


def test_a_revision_starts_from_the_weights_of_reweighting(brief: Job) -> None:
    assert brief.folder is not None
    learned = learn(REVISION.with_options(transition=ROWS, revision_rate=1e-12, revision_epochs=1), brief, CPU)
    before = corrected(Blueprint("mlp:32", (5,), classes=4, annotators=1), T, Reweight())
    load(before, read_tensors(brief.folder / "2-reweight" / "best.safetensors")[0])
    after = dict(learned.learner.named_parameters())
    for name, weight in before.named_parameters():
        torch.testing.assert_close(after[name], weight, atol=1e-8, rtol=0)


def test_earlier_weights_are_taken_up_and_the_transition_is_not() -> None:
    torch.manual_seed(1)
    plan = Blueprint("mlp:8", (2,), classes=4, annotators=1)
    start, identity = plain_classifier(plan), corrected(plan, torch.eye(4), Reweight())
    later = corrected(plan, T, Reweight(attached=True), revise=True)
    for earlier in (start, identity):
        take_up(later, earlier)
        for name, weight in earlier.named_parameters():
            assert torch.equal(later.state_dict()[name], weight), name
        torch.testing.assert_close(later.state_dict()["noise.transition"], T.float())
        assert not later.state_dict()["noise.slack"].any()


@pytest.mark.parametrize(
    ("method", "loss", "revise"),
    [(FORWARD, CrossEntropy(), False), (REWEIGHT, Reweight(), False), (REVISION, Reweight(attached=True), True)],
    ids=["forward", "reweight", "t-revision"],
)
def test_the_learner_that_is_rebuilt(method: Method, loss: object, revise: bool) -> None:
    rows = ((0.8, 0.1, 0.1), (0.0, 1.0, 0.0), (0.3, 0.0, 0.7))
    for given, expected in ((method, torch.eye(3)), (method.with_options(transition=rows), torch.tensor(rows))):
        learner = given.learner(PLAN)
        assert isinstance(learner, Classifier)
        assert learner.loss == loss
        assert isinstance(learner.noise, Transition)
        assert torch.equal(learner.noise.transition, expected)
        assert (learner.noise.slack is not None) == revise


@pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)
def test_a_transition_of_another_size_is_refused_before_training(method: Method, brief: Job) -> None:
    assert brief.folder is not None
    small = method.with_options(transition=((0.9, 0.1), (0.2, 0.8)))
    for attempt in (lambda: learn(small, brief, CPU), lambda: small.learner(PLAN)):
        refused(attempt)
    assert not [path for path in brief.folder.glob("*") if path.is_dir()], "no stage has begun"


def refused(attempt: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="transition") as caught:
        attempt()
    assert "\n" not in str(caught.value)


def test_a_transition_of_another_size_leaves_no_folder_behind(brief: Job) -> None:
    assert brief.folder is not None
    with pytest.raises(ValueError, match="transition"):
        learn(FORWARD.with_options(transition=((0.9, 0.1), (0.2, 0.8))), brief, CPU)
    assert not brief.folder.exists()


NO_MATRIX = "^transition must be square, with rows of probabilities that sum to one$"


@pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warm_up": 0}, "^warm_up must be at least 1, got 0$"),
        ({"warm_up_select": "first"}, "^warm_up_select must be one of best, .*, last, got 'first'$"),
        ({"quantile": 0.0}, r"^quantile must lie in \(0, 1\], or be None, got 0.0$"),
        ({"quantile": 97.0}, r"^quantile must lie in \(0, 1\], or be None, got 97.0$"),
        ({"transition": ((0.5, 0.5),)}, NO_MATRIX),
        ({"transition": ((0.5, 0.4), (0.5, 0.5))}, NO_MATRIX),
        ({"transition": ((1.5, -0.5), (0.5, 0.5))}, NO_MATRIX),
        pytest.param(
            {"transition": ((math.nan, 0.5), (0.5, 0.5))},
            NO_MATRIX,
        ),
    ],
)
def test_the_options_check_themselves(method: Method, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        method.with_options(**options)


def test_a_revision_has_options_of_its_own() -> None:
    assert (
        FORWARD.options()
        == REWEIGHT.options()
        == {"transition": None, "warm_up": 20, "warm_up_select": "best", "quantile": 0.97}
    )
    assert REVISION.options() == {**FORWARD.options(), "revision_epochs": None, "revision_rate": 5e-7}
    with pytest.raises(ValueError, match="^revision_epochs must be at least 1, or None, got 0$"):
        REVISION.with_options(revision_epochs=0)
    with pytest.raises(ValueError, match="^revision_rate must be positive, got 0.0$"):
        REVISION.with_options(revision_rate=0.0)


def test_a_matrix_may_come_as_lists() -> None:
    assert FORWARD.with_options(transition=[[1, 0], [0.5, 0.5]]).options()["transition"] == ((1.0, 0.0), (0.5, 0.5))
