from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from truelabel.corruption import Corruption, InstanceDependent
from truelabel.experiments.noises import NOISES, make_noise

OPTIONS: dict[str, dict[str, Any]] = {
    "symmetric": {"rate": 0.3},
    "asymmetric": {"rate": 0.3, "which": "cifar10"},
    "by-class": {"rates": [0.1] * 10},
    "by-instance": {"rate": 0.3},
    "flippers": {"skill": 0.7},
    "hammer-spammers": {"skill": 0.7},
}


def noise(name: str, classes: int = 10, seed: int = 0, **options: Any) -> Corruption:
    return make_noise(name, classes, torch.Generator().manual_seed(seed), **{**OPTIONS.get(name, {}), **options})


def confusion(name: str, classes: int = 10, **options: Any) -> Tensor:
    return noise(name, classes, **options).confusion


def of_masks(name: str) -> bool:
    return name.endswith("readers")


@pytest.mark.parametrize("name", [name for name in NOISES if not of_masks(name)])
def test_every_noise_has_rows_of_probabilities_and_labels_every_example(name: str) -> None:
    made = noise(name)
    assert made.confusion.shape[1:] == (10, 10)
    torch.testing.assert_close(made.confusion.sum(-1), torch.ones(made.confusion.shape[:2]).double(), check_dtype=False)
    labels = torch.arange(30) % 10
    said = made(labels, torch.rand(30, 4), torch.Generator().manual_seed(0))
    assert set(said.example.tolist()) == set(range(30))
    assert len(said.annotators) == len(made.confusion)


READERS = {"digit-readers": 5, "lesion-readers": 5, "tumour-readers": 4}
"""How many there are in Zhang 2020: on tumours nobody draws nothing at all."""


@pytest.mark.parametrize("name", [name for name in NOISES if of_masks(name)])
def test_every_group_of_readers_draws_every_mask(name: str) -> None:
    masks = torch.zeros(2, 24, 24, dtype=torch.long)
    masks[:, 6:18, 6:18] = 1
    classes = 4 if name == "tumour-readers" else 2
    said = noise(name, classes)(masks, torch.rand(2, 1, 24, 24), torch.Generator().manual_seed(0))
    assert said.space == (24, 24)
    assert len(said.annotators) == READERS[name]
    assert set(said.example.tolist()) == {0, 1}


def test_no_noise_is_the_identity() -> None:
    torch.testing.assert_close(confusion("none", 4), torch.eye(4).unsqueeze(0), check_dtype=False)


@given(st.integers(2, 20), st.floats(0, 1))
def test_symmetric_noise_redraws_from_all_classes(classes: int, rate: float) -> None:
    (found,) = confusion("symmetric", classes, rate=rate)
    assert float(found.diagonal().mean()) == pytest.approx(1 - rate * (classes - 1) / classes)
    off = found[~torch.eye(classes, dtype=torch.bool)]
    torch.testing.assert_close(off, torch.full_like(off, rate / classes))


@pytest.mark.parametrize(
    ("which", "classes", "pairs"),
    [
        ("mnist", 10, {7: 1, 2: 7, 5: 6, 6: 5, 3: 8}),
        ("cifar10", 10, {9: 1, 2: 0, 3: 5, 5: 3, 4: 7}),
        ("cifar100", 100, {k: (k + 1) % 100 for k in range(100)}),
    ],
)
def test_asymmetric_noise_takes_the_papers_classes_for_another(which: str, classes: int, pairs: dict[int, int]) -> None:
    (found,) = confusion("asymmetric", classes, rate=0.4, which=which)
    for true in range(classes):
        expected = torch.zeros(classes, dtype=torch.double)
        expected[true] = 1.0
        if true in pairs:
            expected[true], expected[pairs[true]] = 0.6, 0.4
        torch.testing.assert_close(found[true], expected)


def test_asymmetric_noise_of_fewer_classes_keeps_the_pairs_that_are_there() -> None:
    (found,) = confusion("asymmetric", 8, rate=0.4, which="mnist")
    (whole,) = confusion("asymmetric", 10, rate=0.4, which="mnist")
    expected = whole[:8, :8].clone()
    # There is no eight for which a three could be taken.
    expected[3, 3] = 1.0
    torch.testing.assert_close(found, expected)


def test_noise_by_class_has_the_rate_of_each() -> None:
    (found,) = confusion("by-class", 3, rates=[0.0, 0.3, 0.6])
    torch.testing.assert_close(found.diagonal(), torch.tensor([1.0, 0.8, 0.6]).double())


def test_noise_by_instance_is_that_of_xia() -> None:
    made = noise("by-instance", 10, rate=0.45)
    assert isinstance(made, InstanceDependent)
    assert (made.rate, made.spread, made.classes) == (0.45, 0.1, 10)


@pytest.mark.parametrize("name", ["flippers", "hammer-spammers"])
def test_skills_of_annotators_are_drawn_around_the_one_named(name: str) -> None:
    many = confusion(name, annotators=400, skill=0.6)
    assert len(many) == 400
    own = many.diagonal(dim1=-2, dim2=-1).mean(-1)
    # A hammer is always right and a spammer in a tenth of the cases, so that skill is the mean of both kinds too.
    assert float(own.mean()) == pytest.approx(0.6, abs=0.1)


@pytest.mark.parametrize("name", ["flippers", "hammer-spammers"])
def test_annotators_follow_from_the_generator(name: str) -> None:
    one, again = noise(name, seed=1).confusion, noise(name, seed=1).confusion
    torch.testing.assert_close(one, again, rtol=0, atol=0)
    assert not torch.equal(one, noise(name, seed=2).confusion)


@pytest.mark.parametrize("name", ["flippers", "hammer-spammers", "cifar10-annotators"])
@pytest.mark.parametrize("labels", [1, 2])
def test_an_example_may_be_labelled_by_few(name: str, labels: int) -> None:
    said = noise(name, labels=labels)(torch.arange(50) % 10, None, torch.Generator().manual_seed(0))
    assert said.counts.tolist() == [labels] * 50


def test_labels_may_be_drawn_once_for_runs_with_different_seeds() -> None:
    labels = torch.arange(200) % 10
    drawn = [noise("cifar10-annotators", draw=3)(labels, None, torch.Generator().manual_seed(s)) for s in (0, 1)]
    others = noise("cifar10-annotators", draw=4)(labels, None, torch.Generator().manual_seed(0))
    assert (drawn[0].label == drawn[1].label).all()
    assert (drawn[0].label != others.label).any()
    torch.testing.assert_close(confusion("cifar10-annotators", draw=3), confusion("cifar10-annotators"))


def test_an_unknown_noise_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no noise 'asymetric': choose from given, none, true-masks, symmetric"):
        make_noise("asymetric", 10, torch.Generator())
