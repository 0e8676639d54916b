"""A fusion, then a network on its consensus: the methods that judge annotators by each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from truelabel import Annotations
from truelabel.fusion import Fused, confusion_from_posterior, dawid_skene, glad, mace, majority_vote, one_coin
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, clean_probs
from truelabel.training.files import read_tensors

CPU = Engine(device="cpu")
SEED = 3
CASES: list[tuple[str, dict[str, Any], Callable[[Annotations], Fused]]] = [
    ("majority-vote", {}, lambda said: majority_vote(said, seed=SEED)),
    ("majority-vote", {"ties": "lowest"}, lambda said: majority_vote(said, ties="lowest")),
    ("dawid-skene", {}, dawid_skene),
    ("dawid-skene", {"smoothing": 1.0}, lambda said: dawid_skene(said, smoothing=1.0)),
    ("one-coin", {"smoothing": 0.5}, lambda said: one_coin(said, smoothing=0.5)),
    ("glad", {}, glad),
    ("mace", {"restarts": 2}, lambda said: mace(said, restarts=2, seed=SEED)),
]


@pytest.fixture
def torn(short: Job) -> Job:
    """Four annotators, so that there are ties."""
    matrix = short.annotations.matrix()[:, :4]
    matrix[::7, 1:] = -1
    return replace(short, annotations=Annotations.from_matrix(matrix, classes=2), seed=SEED)


@pytest.mark.parametrize(("name", "options", "fuse"), CASES, ids=[f"{name} {options}" for name, options, _ in CASES])
def test_the_network_learns_what_the_fusion_says(
    name: str, options: dict[str, Any], fuse: Callable[[Annotations], Fused], torn: Job, tmp_path: Path
) -> None:
    learned = learn(get_method(name).with_options(**options), replace(torn, folder=tmp_path), CPU)
    expected = fuse(torn.annotations)
    kept = read_tensors(tmp_path / "fused.safetensors")[0]
    np.testing.assert_array_equal(kept["labels"], expected.labels)
    np.testing.assert_allclose(kept["posterior"], expected.posterior)
    np.testing.assert_allclose(kept["confusion"], expected.confusion)
    assert learned.confusion is not None
    if name == "majority-vote":  # whose network judges annotators better than the vote does
        posterior = clean_probs(learned.learner, torch.from_numpy(torn.inputs)).double().numpy()
        np.testing.assert_allclose(learned.confusion, confusion_from_posterior(torn.annotations, posterior))
    else:
        np.testing.assert_allclose(learned.confusion, expected.confusion)
    alone = learn(get_method("cross-entropy"), replace(torn, annotations=Annotations.from_labels(expected.labels)), CPU)
    for ours, theirs in zip(learned.learner.parameters(), alone.learner.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dawid-skene", {"smoothing": -1.0}, "^smoothing must be a number of at least 0, got -1.0$"),
        ("one-coin", {"smoothing": -0.1}, "^smoothing must be a number of at least 0, got -0.1$"),
        ("one-coin", {"smoothing": 0.0}, "^smoothing must be above 0"),
        ("mace", {"restarts": 0}, "^restarts must be a whole number of at least 1, got 0$"),
        ("glad", {"base": "mixup"}, "^base must be one of .*, got 'mixup'$"),
    ],
)
def test_the_options_check_themselves(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_method(name).with_options(**options)
