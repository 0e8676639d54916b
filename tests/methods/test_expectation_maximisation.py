"""Generalized EM and model bootstrapped EM."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from truelabel import Annotations
from truelabel.learners import Learner
from truelabel.methods import Method, get_method, learn
from truelabel.methods.expectation_maximisation import EMMethod
from truelabel.metrics import confusion_error
from truelabel.training import Engine, Fitted, History, Job, Run, TrainingConfig

Floats = NDArray[np.float64]
Score = Callable[[Method, int], tuple[float, Floats | None]]

CPU = Engine(device="cpu")
GENERALIZED, MBEM = get_method("generalized-em"), get_method("mbem")
N, CLASSES, ANNOTATORS = 30, 3, 4


def some_labels() -> NDArray[np.int64]:
    """(30, 4), of which some are missing; nobody labelled the example 5."""
    matrix = np.random.default_rng(0).integers(-1, CLASSES, (N, ANNOTATORS))
    matrix[5] = -1
    return matrix


def a_job(matrix: NDArray[np.int64], epochs: int = 7) -> Job:
    inputs = np.random.default_rng(1).normal(size=(len(matrix), 2)).astype(np.float32)
    config = TrainingConfig(epochs=epochs, batch_size=8)
    return Job(inputs, Annotations.from_matrix(matrix, classes=CLASSES), "mlp:4", config)


def shares(matrix: NDArray[np.int64]) -> Floats:
    """Votes over labels present; the mean share where there are none."""
    rows = [[sum(j == k for j in row) / max(1, sum(j >= 0 for j in row)) for k in range(CLASSES)] for row in matrix]
    mean = np.mean([row for row in rows if sum(row)], 0)
    return np.array([row if sum(row) else mean for row in rows])


def m_step(matrix: NDArray[np.int64], q: Floats, smoothing: float = 0.01) -> Floats:
    """Expected counts with a little more in each cell, one label after the other."""
    counts = np.full((ANNOTATORS, CLASSES, CLASSES), smoothing)
    for n, row in enumerate(matrix.tolist()):
        for r, j in enumerate(row):
            if j >= 0:
                for k in range(CLASSES):
                    counts[r, k, j] += q[n, k]
    confusion: Floats = counts / counts.sum(-1, keepdims=True)
    return confusion


def e_step(matrix: NDArray[np.int64], prior: Floats, confusion: Floats) -> Floats:
    q = np.empty((len(matrix), CLASSES))
    for n, row in enumerate(matrix.tolist()):
        for k in range(CLASSES):
            q[n, k] = prior[n, k] * math.prod(confusion[r, k, j] for r, j in enumerate(row) if j >= 0)
        q[n] /= q[n].sum()
    return q


def generalized(matrix: NDArray[np.int64], network: Floats, old: Floats) -> tuple[Floats, Floats]:
    new = e_step(matrix, network, m_step(matrix, old))
    return new, m_step(matrix, new)


def bootstrapped(matrix: NDArray[np.int64], network: Floats, old: Floats) -> tuple[Floats, Floats]:
    confusion = m_step(matrix, np.eye(CLASSES)[network.argmax(-1)])
    return e_step(matrix, np.full((len(matrix), CLASSES), 1 / CLASSES), confusion), confusion


def unsmoothed(matrix: NDArray[np.int64], network: Floats, old: Floats) -> tuple[Floats, Floats]:
    new = e_step(matrix, network, m_step(matrix, old, 0.0))
    return new, m_step(matrix, new, 0.0)


def counted(matrix: NDArray[np.int64], network: Floats, old: Floats) -> tuple[Floats, Floats]:
    predicted = np.eye(CLASSES)[network.argmax(-1)]
    confusion = m_step(matrix, predicted)
    return e_step(matrix, np.tile(predicted.mean(0), (len(matrix), 1)), confusion), confusion


KINDS = pytest.mark.parametrize(
    ("method", "slow"),
    [
        (GENERALIZED, generalized),
        (GENERALIZED.with_options(smoothing=0), unsmoothed),
        (MBEM, bootstrapped),
        (MBEM.with_options(prior="counted"), counted),
    ],
    ids=["generalized-em", "generalized-em unsmoothed", "mbem", "mbem counted"],
)
Slow = Callable[[NDArray[np.int64], Floats, Floats], tuple[Floats, Floats]]


@KINDS
def test_a_guess_by_loops(method: EMMethod, slow: Slow) -> None:
    matrix, rng = some_labels(), np.random.default_rng(2)
    network, old = rng.dirichlet(np.ones(CLASSES), (2, N))
    run = Run(a_job(matrix), CPU.fabric("32-true"))
    for ours, theirs in zip(method.guess(run, network, old), slow(matrix, network, old), strict=True):
        np.testing.assert_allclose(ours, theirs)


@KINDS
def test_rounds(method: EMMethod, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every round trains the same learner on the guess of the one before, in its share of the epochs."""
    matrix, rng = some_labels(), np.random.default_rng(3)
    answers = [rng.dirichlet(np.ones(CLASSES), N) for _ in range(3)]
    seen: list[tuple[str, int, int, Annotations, Tensor]] = []

    def fit(
        self: Run, stage: str, peers: Sequence[Learner], *, annotations: Annotations, soft: Tensor, config: Any
    ) -> Fitted:
        seen.append((stage, id(peers[0]), config.epochs, annotations, soft))
        return Fitted(list(peers), History())

    monkeypatch.setattr(Run, "fit", fit)
    monkeypatch.setattr(Run, "posterior", lambda self, learner: torch.from_numpy(answers[len(seen) - 1]))
    learned = learn(method.with_options(rounds=3), a_job(matrix), CPU)
    targets, confusion = shares(matrix), np.empty(0)
    labelled = np.flatnonzero((matrix >= 0).any(1))
    for answer, (_, _, _, said, soft) in zip(answers, seen, strict=True):
        assert said.example.tolist() == labelled.tolist(), "what nobody labelled has nothing to learn from"
        assert len(said.annotators) == 1
        np.testing.assert_allclose(soft, targets[labelled], rtol=1e-6)
        targets, confusion = slow(matrix, answer, targets)
    assert [stage for stage, *_ in seen] == ["1-round", "2-round", "3-round"]
    assert [epochs for _, _, epochs, *_ in seen] == [2, 2, 3]
    assert len({who for _, who, *_ in seen}) == 1
    assert learned.confusion is not None
    np.testing.assert_allclose(learned.confusion, confusion)


@pytest.mark.parametrize("method", [GENERALIZED, MBEM], ids=lambda method: method.name)
def test_with_many_labels_both_beat_the_vote(method: Method, crowded: Score, confusions: Floats) -> None:
    accuracy, confusion = crowded(method, 5)
    assert accuracy > crowded(get_method("majority-vote"), 5)[0] + 0.1
    assert confusion is not None
    assert confusion_error(confusion, confusions) < 0.02


def test_with_one_label_an_example_generalized_em_is_stuck(crowded: Score, confusions: Floats) -> None:
    # The first targets are the labels, so everybody seems to be right, so the next targets are the labels again.
    accuracy, confusion = crowded(GENERALIZED, 1)
    assert accuracy <= crowded(get_method("cross-entropy"), 1)[0]
    assert accuracy < crowded(get_method("annotator-confusion"), 1)[0] - 0.05
    assert confusion is not None
    assert confusion_error(confusion, np.stack([np.eye(4)] * 5)) < 0.02
    assert confusion_error(confusion, confusions) > 0.5
    exact = crowded(GENERALIZED.with_options(smoothing=0), 1)[1]
    assert exact is not None
    np.testing.assert_allclose(exact, np.stack([np.eye(4)] * 5), atol=1e-12)


def test_with_one_label_an_example_the_predictions_of_a_network_tell_annotators_apart(
    crowded: Score, confusions: Floats
) -> None:
    accuracy, confusion = crowded(MBEM, 1)
    assert accuracy > crowded(get_method("cross-entropy"), 1)[0] + 0.03
    assert confusion is not None
    assert confusion_error(confusion, confusions) < 0.02


@pytest.mark.parametrize("method", [GENERALIZED, MBEM], ids=lambda method: method.name)
def test_fewer_epochs_than_rounds_train_one_each(method: Method) -> None:
    learned = learn(method.with_options(rounds=4), a_job(some_labels(), epochs=2), CPU)
    assert len(learned.history.rows) == 4
    assert learned.history.best_epoch == 3, "the weights kept are those of the last round"


@pytest.mark.parametrize("method", [GENERALIZED, MBEM], ids=lambda method: method.name)
def test_silent_annotators_and_one_class_only(method: Method) -> None:
    matrix = np.full((20, ANNOTATORS), -1)
    matrix[:, 1] = 2
    learned = learn(method.with_options(rounds=2), a_job(matrix), CPU)
    assert learned.confusion is not None
    assert torch.isfinite(learned.confusion).all()
    torch.testing.assert_close(learned.confusion[0], torch.full((3, 3), 1 / 3, dtype=torch.double))


def test_the_options_check_themselves() -> None:
    assert GENERALIZED.options() == {"rounds": 5, "smoothing": 0.01}
    assert MBEM.options() == {"rounds": 5, "smoothing": 0.01, "prior": "even"}
    for method in (GENERALIZED, MBEM):
        with pytest.raises(ValueError, match="^rounds must be a whole number of at least 1, got 0$"):
            method.with_options(rounds=0)
        with pytest.raises(ValueError, match="^smoothing must be at least 0, and finite, got -1$"):
            method.with_options(smoothing=-1)
    with pytest.raises(ValueError, match="^prior must be one of even, counted, got 'network'$"):
        MBEM.with_options(prior="network")
