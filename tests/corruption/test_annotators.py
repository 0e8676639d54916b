from __future__ import annotations

import pytest
import torch

from truelabel.corruption import hammer_spammers, pairwise_flippers


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_flipper_mistakes_each_class_for_one_other() -> None:
    skills = [0.9, 0.5, 0.2]
    confusion = pairwise_flippers(5, skills, generator())
    assert confusion.shape == (3, 5, 5)
    for matrix, skill in zip(confusion.tolist(), skills, strict=True):
        for true, row in enumerate(matrix):
            others = [cell for observed, cell in enumerate(row) if observed != true and cell]
            assert row[true] == pytest.approx(skill)
            assert others == pytest.approx([1 - skill])


def test_flippers_at_the_ends_of_the_scale() -> None:
    perfect, hopeless = pairwise_flippers(4, [1.0, 0.0], generator())
    assert torch.equal(perfect, torch.eye(4, dtype=torch.double))
    assert torch.equal(hopeless.sum(-1), torch.ones(4, dtype=torch.double))
    assert torch.equal(hopeless.max(-1).values, torch.ones(4, dtype=torch.double))
    assert not hopeless.diagonal().any()


def test_targets_are_drawn_evenly_for_every_annotator_and_class() -> None:
    annotators, classes = 3000, 4
    confusion = pairwise_flippers(classes, [0.0] * annotators, generator(1))
    share = confusion.mean(0)
    off = ~torch.eye(classes, dtype=torch.bool)
    bound = 4 * (1 / 3 * 2 / 3 / annotators) ** 0.5
    assert ((share[off] - 1 / 3).abs() < bound).all()
    # Two classes of an annotator fall on targets independently of each other.
    both = (confusion[:, 0, 1] * confusion[:, 1, 0]).mean()
    assert (both - 1 / 9).abs() < 4 * (1 / 9 * 8 / 9 / annotators) ** 0.5


def test_flippers_follow_from_the_generator() -> None:
    first = pairwise_flippers(6, [0.5] * 4, generator(0))
    assert torch.equal(pairwise_flippers(6, [0.5] * 4, generator(0)), first)
    assert not torch.equal(pairwise_flippers(6, [0.5] * 4, generator(1)), first)


def test_with_two_classes_both_kinds_are_one() -> None:
    skills = [0.9, 0.4]
    torch.testing.assert_close(pairwise_flippers(2, skills, generator()), hammer_spammers(2, skills))


def test_hammers_and_spammers_by_hand() -> None:
    hammer, middling, spammer = hammer_spammers(4, [1.0, 0.7, 0.25])
    eye = torch.eye(4, dtype=torch.double)
    torch.testing.assert_close(hammer, eye)
    torch.testing.assert_close(middling, 0.7 * eye + 0.1 * (1 - eye))
    torch.testing.assert_close(spammer, torch.full((4, 4), 0.25, dtype=torch.double))


@pytest.mark.parametrize("skills", [[], [0.5, 1.2], [-0.1], [float("nan")]])
def test_skills_must_be_probabilities(skills: list[float]) -> None:
    with pytest.raises(ValueError, match="skills must be probabilities, one for each annotator"):
        hammer_spammers(3, skills)
    with pytest.raises(ValueError, match="skills must be probabilities, one for each annotator"):
        pairwise_flippers(3, skills, generator())


def test_one_class_cannot_be_mistaken() -> None:
    with pytest.raises(ValueError, match="classes must be at least 2, got 1"):
        hammer_spammers(1, [0.5])
    with pytest.raises(ValueError, match="classes must be at least 2, got 1"):
        pairwise_flippers(1, [0.5], generator())
