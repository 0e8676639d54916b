"""Confusion matrices in the network: one an annotator, one for all, the true ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel import Annotations
from truelabel.learners import Classifier
from truelabel.methods import Method, get_method, learn
from truelabel.metrics import confusion_error
from truelabel.noise import AnnotatorConfusion, FixedConfusion
from truelabel.noise.confusion_cells import LowRankCells
from truelabel.training import Blueprint, Engine, Job, Run

Score = Callable[[Method, int], tuple[float, NDArray[np.float64] | None]]

CPU = Engine(device="cpu")
OURS, SINGLE, ORACLE = (get_method(f"{kind}-confusion") for kind in ("annotator", "single", "oracle"))
PLAN = Blueprint("mlp:8", (2,), classes=3, annotators=5)


def noise_of(method: Method, plan: Blueprint = PLAN) -> AnnotatorConfusion | FixedConfusion:
    learner = method.learner(plan)
    assert isinstance(learner, Classifier)
    assert isinstance(learner.noise, AnnotatorConfusion | FixedConfusion)
    return learner.noise


def test_it_beats_the_vote_and_finds_who_confuses_what(crowded: Score, confusions: NDArray[np.float64]) -> None:
    ours, confusion = crowded(OURS, 5)
    assert ours > crowded(get_method("majority-vote"), 5)[0] + 0.1
    assert confusion is not None
    assert confusion_error(confusion, confusions) < 0.05


def test_one_label_an_example_is_enough(crowded: Score, confusions: NDArray[np.float64]) -> None:
    ours, confusion = crowded(OURS, 1)
    assert ours > crowded(get_method("cross-entropy"), 1)[0] + 0.03
    assert confusion is not None
    assert confusion_error(confusion, confusions) < 0.03
    assert confusion[-1].diagonal().max() < 0.2, "the last one is an adversary"


def test_one_matrix_for_all_is_not_enough(crowded: Score) -> None:
    assert crowded(SINGLE, 1)[0] < crowded(OURS, 1)[0] - 0.05


def test_the_true_matrices_help_as_much(crowded: Score, confusions: NDArray[np.float64]) -> None:
    oracle, confusion = crowded(ORACLE.with_options(confusion=confusions), 1)
    assert oracle > crowded(get_method("cross-entropy"), 1)[0] + 0.03
    assert confusion is not None
    np.testing.assert_allclose(confusion, confusions, atol=1e-6)


@pytest.mark.parametrize("options", [{"shrinkage": 0.0}, {"by_input": True, "shrinkage": 0.0}, {"trace": 0.0}], ids=str)
def test_the_options_learn_too(options: dict[str, Any], crowded: Score) -> None:
    assert crowded(OURS.with_options(**options), 1)[0] > crowded(get_method("cross-entropy"), 1)[0] + 0.03


def test_the_options_are_those_of_the_noise_model() -> None:
    assert OURS.options() == {"trace": 0.01, "rank": None, "shrinkage": 0.1, "by_input": False}
    assert SINGLE.options() == {"trace": 0.01}
    noise = noise_of(OURS.with_options(trace=0.3, rank=2, shrinkage=0.5, by_input=True))
    assert isinstance(noise, AnnotatorConfusion)
    assert (noise.annotators, noise.trace, noise.shrinkage) == (5, 0.3, 0.5)
    assert isinstance(noise.cells, LowRankCells)
    assert noise.cells.rank == 2
    assert noise.shift is not None
    single = noise_of(SINGLE.with_options(trace=0.2))
    assert isinstance(single, AnnotatorConfusion)
    assert (single.annotators, single.trace) == (1, 0.2)


def test_the_prior_knows_how_much_everybody_said(short: Job) -> None:
    matrix = short.annotations.matrix()
    matrix[10:, 2] = -1
    job = replace(short, annotations=Annotations.from_matrix(matrix, classes=2))
    run = Run(job, CPU.fabric("32-true"))
    noise = noise_of(OURS.with_options(shrinkage=1.0), run.plan)
    assert isinstance(noise, AnnotatorConfusion)
    few = sum(n < 10 for n in run.split.train.tolist())
    assert noise.workload.tolist() == [360, 360, few, 360, 360]
    loaded = noise_of(OURS.with_options(shrinkage=1.0))
    assert isinstance(loaded, AnnotatorConfusion)
    assert loaded.workload.tolist() == [1] * 5


def test_matrices_that_are_known_may_come_as_lists_arrays_or_tensors_and_one_may_be_everybodys() -> None:
    matrix = [[0.8, 0.1, 0.1], [0.0, 1.0, 0.0], [0.3, 0.0, 0.7]]
    for given in (matrix, np.array(matrix), torch.tensor(matrix), [matrix] * 5):
        noise = noise_of(ORACLE.with_options(confusion=given))
        assert isinstance(noise, FixedConfusion)
        torch.testing.assert_close(noise.matrices, torch.tensor(matrix).expand(5, 3, 3))


def test_matrices_that_are_known_must_be_given_and_fit(short: Job) -> None:
    with pytest.raises(ValueError, match="^oracle-confusion needs confusion, the true matrices"):
        learn(ORACLE, short, CPU)
    with pytest.raises(ValueError, match="^confusion is for 3 annotators, but there are 5$"):
        learn(ORACLE.with_options(confusion=np.stack([np.eye(2)] * 3)), short, CPU)
    with pytest.raises(ValueError, match=r"^confusion must be \(annotators, 2, 2\), got \(5, 3, 3\)$"):
        learn(ORACLE.with_options(confusion=np.eye(3)), short, CPU)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (OURS, {"trace": -1.0}, "^trace must be a number of at least 0, got -1.0$"),
        (OURS, {"rank": 0}, "^rank must be a whole number of at least 1, got 0$"),
        (OURS, {"shrinkage": -1.0}, "^shrinkage must be a number of at least 0, got -1.0$"),
        (OURS, {"by_input": "yes"}, "^by_input must be true or false, got 'yes'$"),
        (SINGLE, {"trace": -1.0}, "^trace must be a number of at least 0, got -1.0$"),
        (ORACLE, {"confusion": [[0.5, 0.4], [0.0, 1.0]]}, "^the rows of confusion must be probabilities"),
        (ORACLE, {"confusion": [[1.0, 0.0]]}, r"^confusion must be \(annotators, classes, classes\), got \(1, 1, 2\)$"),
        (ORACLE, {"confusion": "eye"}, r"^confusion must be numbers \[annotator\]\[true\]\[observed\], got 'eye'$"),
    ],
)
def test_the_options_check_themselves(method: Method, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        method.with_options(**options)
