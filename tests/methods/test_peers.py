from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel import Annotations
from truelabel.learners import Learner
from truelabel.methods import Method, get_method, learn
from truelabel.methods.one_stage import ONE_STAGE
from truelabel.metrics import confusion_error
from truelabel.selection import CoTeaching, Disagreement, SelfPaced
from truelabel.training import Engine, Fitted, History, Job, Run, TrainingConfig, clean_probs

CPU = Engine(device="cpu")
RATE = 0.4


def accuracy(method: Method, seed: int) -> float:
    """On 1,000 points of four blobs, learned by heart from 400 of which 40 % have a wrong label of any class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 1400)
    inputs = (3 * np.eye(4, 5)[truth] + rng.normal(size=(1400, 5))).astype(np.float32)
    said = np.where(rng.random(1400) < RATE, (truth + rng.integers(1, 4, 1400)) % 4, truth)[:400]
    config = TrainingConfig(epochs=60, batch_size=100, learning_rate=0.005, validation=0.0)
    learned = learn(method, Job(inputs[:400], Annotations.from_labels(said), "mlp:64", config, seed), CPU)
    answer = clean_probs(learned.learner, torch.from_numpy(inputs[400:])).argmax(-1).numpy()
    return float((answer == truth[400:]).mean())


@pytest.fixture(scope="module")
def cross_entropy() -> float:
    return float(np.mean([accuracy(get_method("cross-entropy"), seed) for seed in range(3)]))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "options", "margin"),
    [
        ("co-teaching", {"noise_rate": RATE}, 0.08),
        ("mentornet", {"noise_rate": RATE, "burn_in": 5}, 0.08),
    ],
)
def test_small_losses_beat_cross_entropy(
    name: str, options: dict[str, Any], margin: float, cross_entropy: float
) -> None:
    method = get_method(name).with_options(**options)
    assert np.mean([accuracy(method, seed) for seed in range(3)]) > cross_entropy + margin


def spied(method: Method, job: Job, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, Any]]:
    seen = []

    def fit(self: Run, stage: str, peers: list[Learner], *, selector: Any = None, **options: object) -> Fitted:
        seen.append((stage, len(peers), selector))
        return Fitted(peers, History())

    monkeypatch.setattr(Run, "fit", fit)
    learn(method, job, CPU)
    return seen


def test_co_teaching_is_two_peers_and_a_ramp(short: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job = replace(short, config=replace(short.config, epochs=40))
    method = get_method("co-teaching").with_options(noise_rate=0.3)
    ((stage, peers, selector),) = spied(method, job, monkeypatch)
    assert (stage, peers) == ("main", 2)
    assert isinstance(selector, CoTeaching)
    assert (selector.rate, selector.ramp) == (0.3, 0.25)


def test_decoupling_is_two_peers_that_disagree(short: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    ((stage, peers, selector),) = spied(get_method("decoupling"), short, monkeypatch)
    assert (stage, peers) == ("main", 2)
    assert isinstance(selector, Disagreement)


def test_mentornet_is_one_network_with_a_curriculum(short: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job = replace(short, config=replace(short.config, epochs=40))
    method = get_method("mentornet").with_options(noise_rate=0.3, softness=0.5, decay=0.7, burn_in=4)
    ((stage, peers, selector),) = spied(method, job, monkeypatch)
    assert (stage, peers) == ("main", 1)
    assert isinstance(selector, SelfPaced)
    assert (selector.rate, selector.softness, selector.decay, selector.burn_in) == (0.3, 0.5, 0.7, 0.1)


@pytest.mark.parametrize("name", ["co-teaching", "decoupling", "mentornet"])
@pytest.mark.parametrize("base", ONE_STAGE)
def test_any_learner_can_be_a_peer(name: str, base: str, job: Job) -> None:
    options = {} if name == "decoupling" else {"noise_rate": 0.3}
    method = get_method(name).with_options(base=base, **options)
    job = replace(job, config=replace(job.config, epochs=2))
    learned = learn(method, job, CPU)
    assert type(learned.learner) is type(ONE_STAGE[base].learner(Run(job, CPU.fabric("32-true")).plan))
    assert np.isfinite(learned.history.rows[-1]["train_loss"])


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_logistic_normal_learners_teach_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 1500)
    inputs = (6 * np.eye(4, 5)[truth] + rng.normal(size=(1500, 5))).astype(np.float32)
    said = np.where(rng.random(1500) < 0.3, (truth + rng.integers(1, 4, 1500)) % 4, truth)
    config = TrainingConfig(epochs=60, batch_size=100, learning_rate=0.003, select="last")
    method = get_method("co-teaching").with_options(base="logistic-normal", noise_rate=0.3, ramp=30)
    learned = learn(method, Job(inputs, Annotations.from_labels(said), "mlp:32", config, seed), CPU)
    answer = clean_probs(learned.learner, torch.from_numpy(inputs)).argmax(-1).numpy()
    assert (answer == truth).mean() > 0.98


@pytest.mark.long
def test_learners_that_know_their_annotators_teach_each_other(
    crowded: Callable[[Method, int], tuple[float, NDArray[np.float64] | None]], confusions: NDArray[np.float64]
) -> None:
    method = get_method("co-teaching").with_options(base="annotator-confusion", noise_rate=0.1)
    accuracy, confusion = crowded(method, 5)
    assert accuracy > crowded(get_method("majority-vote"), 5)[0] + 0.1
    assert confusion is not None
    assert confusion_error(confusion, confusions) < 0.05


def test_peers_start_from_different_weights(short: Job) -> None:
    run = Run(short, CPU.fabric("32-true"))
    first, second = run.build("main", get_method("co-teaching").learner, peers=2)
    assert not torch.equal(next(first.parameters()), next(second.parameters()))


@pytest.mark.parametrize("name", ["co-teaching", "decoupling", "mentornet"])
def test_a_base_with_stages_of_its_own_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"^base must be one of cross-entropy, .*, got 'forward'$"):
        get_method(name).with_options(base="forward")


def test_options_check_themselves() -> None:
    with pytest.raises(ValueError, match="ramp must be a number of epochs, 0 or more, got -1"):
        get_method("co-teaching").with_options(ramp=-1)
    with pytest.raises(ValueError, match="burn_in must not be negative, got -1"):
        get_method("mentornet").with_options(burn_in=-1)
    with pytest.raises(ValueError, match="softness must not be negative, got -1"):
        get_method("mentornet").with_options(softness=-1)
