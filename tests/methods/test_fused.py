from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel import Annotations
from truelabel.learners import Learner
from truelabel.methods import get_method, learn
from truelabel.methods.fused import consensus_of
from truelabel.methods.one_stage import ONE_STAGE
from truelabel.training import Engine, Job, TrainingConfig, clean_probs

CPU = Engine(device="cpu")
VOTE = get_method("majority-vote")


def assert_same(first: Learner, second: Learner) -> None:
    for ours, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("base", ["soft-bootstrap", "generalized-cross-entropy", "single-confusion"])
def test_any_method_learns_the_vote(base: str, short: Job, said: NDArray[np.int64]) -> None:
    vote = Annotations.from_labels((said.sum(-1) > 2).astype(np.int64))
    ours = learn(VOTE.with_options(base=base), short, CPU).learner
    assert_same(ours, learn(get_method(base), replace(short, annotations=vote), CPU).learner)
    plain = learn(VOTE, short, CPU).learner
    pairs = zip(ours.parameters(), plain.parameters(), strict=False)
    assert not all(torch.equal(a, b) for a, b in pairs), "the base must matter"


@pytest.mark.parametrize("base", ONE_STAGE)
def test_the_consensus_is_one_annotator(base: str, short: Job) -> None:
    learner = learn(VOTE.with_options(base=base), short, CPU).learner
    confusion = learner.annotator_confusion()
    assert confusion is None or len(confusion) == 1


def of_ten(config: dict[str, Any]) -> float:
    """Probability of class 0 of points that all look alike, which seven of ten annotators call 0."""
    matrix = np.tile([0] * 7 + [1] * 3, (50, 1))
    settings = TrainingConfig(epochs=60, batch_size=50, learning_rate=0.05, select="last", validation=0.0)
    job = Job(np.ones((50, 2), np.float32), Annotations.from_matrix(matrix), "mlp:4", settings)
    learned = learn(VOTE.with_options(**config), job, CPU)
    return float(clean_probs(learned.learner, torch.ones(1, 2))[0, 0])


def test_soft_targets_are_the_posterior() -> None:
    assert of_ten({"soft": True}) == pytest.approx(0.7, abs=0.01)
    assert of_ten({"soft": False}) > 0.95


def test_soft_targets_of_annotators_who_agree_are_hard(short: Job, said: NDArray[np.int64]) -> None:
    agreed = replace(short, annotations=Annotations.from_matrix(np.tile(said[:, :1], (1, 3))))
    hard, soft = (learn(VOTE.with_options(soft=soft), agreed, CPU).learner for soft in (False, True))
    for ours, theirs in zip(soft.parameters(), hard.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_soft_targets_stand_where_labels_are(short: Job, said: NDArray[np.int64]) -> None:
    # The order of the table of labels, not that of examples, is what soft targets follow.
    gaps = said.copy()
    gaps[1::3] = -1
    job = replace(short, annotations=Annotations.from_matrix(gaps))
    alone = replace(job, inputs=job.inputs[gaps[:, 0] >= 0], annotations=Annotations.from_matrix(gaps[gaps[:, 0] >= 0]))
    config = replace(short.config, epochs=40, validation=0.0, learning_rate=0.01, select="last")
    answers = []
    for one in (job, alone):
        learned = learn(VOTE.with_options(soft=True), replace(one, config=config), CPU)
        answers.append(clean_probs(learned.learner, torch.from_numpy(short.inputs)))
    assert (answers[0] - answers[1]).abs().mean() < 0.1
    assert (answers[0].argmax(-1) == answers[1].argmax(-1)).float().mean() > 0.9


def test_the_consensus_keeps_names_and_leaves_out_what_nobody_labelled() -> None:
    annotations = Annotations.from_matrix([["cat", None], [None, None], ["dog", "dog"], ["cat", "owl"]])
    consensus = consensus_of(annotations, torch.tensor([0, 2, 1, 2]))
    assert consensus.example.tolist() == [0, 2, 3]
    assert consensus.label.tolist() == [0, 1, 2]
    assert list(consensus.classes) == ["cat", "dog", "owl"]
    assert len(consensus.examples) == 4


def test_the_options_check_themselves() -> None:
    with pytest.raises(ValueError, match=r"^base must be one of cross-entropy, .*, got 'forward'$"):
        VOTE.with_options(base="forward")
    with pytest.raises(ValueError, match="^soft must be true or false, got 1$"):
        VOTE.with_options(soft=1)
