"""Fusions by name, and their options."""

from __future__ import annotations

import inspect
import re
from functools import partial
from typing import Any

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.cli import fuse
from truelabel.cli.fusions import FUSIONS, MASK_FUSIONS, NO_OPTIONS, Fusion, parse_training, settled
from truelabel.fusion import dawid_skene, fuse_images, mace, majority_vote, staple
from truelabel.methods import METHODS
from truelabel.methods.fused import FusionMethod

TORN = Annotations.from_matrix(np.tile([0, 1], (40, 1)))


def test_the_names_are_those_of_the_methods_and_in_the_help() -> None:
    methods = [name for name, method in METHODS.items() if isinstance(method, FusionMethod)]
    # The mean label is the posterior of the vote.
    assert list(dict.fromkeys([*FUSIONS, *MASK_FUSIONS])) == [name for name in methods if name != "mean-label"]
    for name, task in [*((name, "classification") for name in FUSIONS), *((n, "segmentation") for n in MASK_FUSIONS)]:
        assert task in METHODS[name].tasks
        assert f"{name}: " in fuse.METHOD_HELP


@pytest.mark.parametrize("name", FUSIONS)
def test_options_not_given_are_those_of_the_function(name: str) -> None:
    parameters = inspect.signature(FUSIONS[name]).parameters
    fusion = Fusion.parse(name, {}, 3)
    assert fusion.options == {key: p.default for key, p in parameters.items() if key not in NO_OPTIONS}
    assert (fusion.name, fusion.seed) == (name, 3)


def test_options_and_seed_reach_the_function() -> None:
    rng = np.random.default_rng(0)
    said = Annotations.from_matrix(rng.integers(0, 3, (30, 4)))
    fused = Fusion.parse("dawid-skene", {"smoothing": 2, "max_iterations": 400}, 0)(said)
    assert np.array_equal(fused.posterior, dawid_skene(said, smoothing=2, max_iterations=400).posterior)
    assert not np.array_equal(fused.posterior, dawid_skene(said, max_iterations=400).posterior)
    assert Fusion.parse("mace", {"restarts": 2}, 5)(said).evidence == mace(said, restarts=2, seed=5).evidence
    assert np.array_equal(Fusion.parse("majority-vote", {}, 4)(TORN).labels, majority_vote(TORN, seed=4).labels)


def test_options_reach_the_fusion_of_masks() -> None:
    masks = Annotations.from_masks(np.random.default_rng(0).integers(0, 2, (2, 4, 5, 6)))
    fused = Fusion.parse("staple", {"disputed_only": True, "prior": [0.3, 0.7]}, 0, masks=True)(masks)
    same = fuse_images(masks, partial(staple, disputed_only=True, prior=[0.3, 0.7]))
    assert np.array_equal(fused.posterior, same.posterior)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("staple", {"disputed_only": 1}, "option disputed_only must be true or false, got 1"),
        ("staple", {"tolerance": "no"}, "option tolerance must be a number, got 'no'"),
        ("staple", {"window": 3}, "staple has no option 'window': it has prior, disputed_only, start, ties"),
        ("spatial-staple", {"classes": 3}, "spatial-staple has no option 'classes': it has window, anchor"),
        ("mace", {}, "mace is for one label an example: choose from majority-vote, staple, spatial-staple"),
        ("nope", {}, "there is no fusion 'nope': choose from majority-vote, staple, spatial-staple"),
    ],
)
def test_wrong_options_of_masks(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Fusion.parse(name, options, 0, masks=True)


def test_fusion_and_training_share_the_options_that_both_know() -> None:
    given = {"smoothing": 0.2, "tolerance": 1e-3, "soft": True}
    fusion, method = parse_training("dawid-skene", given, 0)
    assert fusion.options == {"smoothing": 0.2, "tolerance": 1e-3, "max_iterations": 300}
    assert method.options() == {"base": "cross-entropy", "soft": True, "smoothing": 0.2}
    with pytest.raises(ValueError, match="dawid-skene has no option 'soft'"):
        Fusion.parse("dawid-skene", given, 0)


def test_a_settled_method_is_the_same_but_for_its_fusion() -> None:
    _, method = parse_training("majority-vote", {"soft": True}, 0)
    fused = majority_vote(TORN, seed=0)
    same = settled(method, fused)
    assert isinstance(same, FusionMethod)
    assert same.fuse(TORN, seed=99) is fused
    assert (same.name, same.options()) == (method.name, method.options())
