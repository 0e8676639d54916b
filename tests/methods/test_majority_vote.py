from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel import Annotations
from truelabel.data import Dataset
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, clean_probs
from truelabel.training.files import read_tensors

CPU = Engine(device="cpu")


def votes(folder: Path) -> list[int]:
    labels: list[int] = read_tensors(folder / "fused.safetensors")[0]["labels"].tolist()
    return labels


def test_it_is_far_better_than_the_labels_and_better_than_the_vote(
    job: Job, moons: tuple[Dataset, Dataset], said: NDArray[np.int64]
) -> None:
    train, test = moons
    learned = learn(get_method("majority-vote"), job, CPU)
    answer = clean_probs(learned.learner, torch.from_numpy(test.inputs)).argmax(-1).numpy()
    accuracy = (answer == test.labels).mean()
    assert accuracy > (said == train.labels[:, None]).mean() + 0.2
    assert accuracy > ((said.sum(-1) > 2) == train.labels).mean() + 0.08


def test_it_learns_from_one_label_an_example_that_most_gave(
    short: Job, said: NDArray[np.int64], tmp_path: Path
) -> None:
    learned = learn(get_method("majority-vote"), replace(short, folder=tmp_path), CPU)
    expected = [int(sum(row) > 2) for row in said.tolist()]
    assert votes(tmp_path) == expected
    # The same as cross entropy on the vote itself, given as labels.
    alone = learn(
        get_method("cross-entropy"), replace(short, annotations=Annotations.from_labels(np.array(expected))), CPU
    )
    for first, second in zip(learned.learner.parameters(), alone.learner.parameters(), strict=True):
        assert torch.equal(first, second)


def test_ties_are_drawn_from_the_seed_or_go_to_the_lowest_class(short: Job, tmp_path: Path) -> None:
    torn = Annotations.from_matrix(np.tile([1, 2, 0, 2, 1], (len(short.inputs), 1)))
    drawn = get_method("majority-vote")

    def vote(name: str, seed: int = 0, ties: str = "random") -> list[int]:
        folder = tmp_path / name
        learn(drawn.with_options(ties=ties), replace(short, annotations=torn, seed=seed, folder=folder), CPU)
        return votes(folder)

    assert set(vote("lowest", ties="lowest")) == {1}
    first = vote("first")
    assert set(first) == {1, 2}
    assert 0.4 < np.mean([label == 1 for label in first]) < 0.6
    assert vote("again") == first
    assert vote("other", seed=1) != first


def test_what_nobody_labelled_has_no_vote(short: Job, said: NDArray[np.int64]) -> None:
    gaps = said.copy()
    gaps[::4] = -1
    annotations = Annotations.from_matrix(gaps)
    with_gaps = learn(get_method("majority-vote"), replace(short, annotations=annotations), CPU)
    vote = np.where(np.arange(400) % 4 > 0, said.sum(-1) > 2, -1)
    voted = Annotations.from_matrix(vote[:, None], classes=2)
    alone = learn(get_method("cross-entropy"), replace(short, annotations=voted), CPU)
    for first, second in zip(with_gaps.learner.parameters(), alone.learner.parameters(), strict=True):
        assert torch.equal(first, second)


def test_the_option_checks_itself() -> None:
    method = get_method("majority-vote")
    assert method.options() == {"base": "cross-entropy", "soft": False, "ties": "random"}
    assert method.with_options(ties="lowest").options()["ties"] == "lowest"
    with pytest.raises(ValueError, match="ties must be one of random, lowest, got 'highest'"):
        method.with_options(ties="highest")
    with pytest.raises(ValueError, match="majority-vote has no option 'tie': it has base, soft, ties"):
        method.with_options(tie="lowest")
