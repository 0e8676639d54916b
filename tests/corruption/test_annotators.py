from __future__ import annotations

import pytest
import torch
from torch import Tensor

from truelabel.corruption import cifar10_annotators, hammer_spammers, pairwise_flippers, perturbed_skills


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


def column_dominant(confusion: Tensor) -> bool:
    mean = confusion.mean(0).tolist()
    pairs = [(i, j) for i in range(len(mean)) for j in range(len(mean)) if i != j]
    return all(mean[i][i] > mean[j][i] + 1e-12 for i, j in pairs)


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("skill", [0.27, 0.3, 0.35, 0.4])
def test_flippers_are_dominant_or_not_as_wanted(skill: float, wanted: bool) -> None:
    for seed in range(3):
        skills = perturbed_skills(skill, 5, generator(seed))
        confusion = pairwise_flippers(10, skills, generator(seed), dominant=wanted)
        assert column_dominant(confusion) == wanted
        torch.testing.assert_close(confusion.sum(-1), torch.ones(5, 10, dtype=torch.double))
        torch.testing.assert_close(confusion[:, 0, 0], torch.tensor(skills, dtype=torch.double))
        assert ((confusion > 0).sum(-1) == 2).all()


@pytest.mark.parametrize("wanted", [True, False])
def test_searched_draws_are_those_that_rejection_would_give(wanted: bool) -> None:
    # Three flippers of skill 0.45 and four classes: only three who share a target (0.55) break dominance.
    skills, draws = [0.45] * 3, 1000
    plain = [pairwise_flippers(4, skills, generator(seed)) for seed in range(draws)]
    kept = torch.stack([confusion for confusion in plain if column_dominant(confusion) == wanted])
    found = torch.stack([pairwise_flippers(4, skills, generator(9000 + s), dominant=wanted) for s in range(draws)])
    for statistic in (lambda T: T[:, 0, 0, 1] > 0, lambda T: (T[:, 0, 0] == T[:, 1, 0]).all(-1)):
        a, b = statistic(found).double(), statistic(kept).double()
        error = (0.25 / len(a) + 0.25 / len(b)) ** 0.5
        assert (a.mean() - b.mean()).abs() < 4 * error


def test_fifty_annotators_of_a_hundred_classes_are_found_at_once() -> None:
    confusion = pairwise_flippers(100, [0.3] * 50, generator(), dominant=True)
    mean = confusion.mean(0)
    assert (mean - torch.diag(mean.diagonal())).max() < 0.3


def test_rare_draws_are_found_class_by_class() -> None:
    # All ten classes without a shared target: one in a million draws.
    assert column_dominant(pairwise_flippers(10, [0.2] * 5, generator(), dominant=True))


def test_dominance_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"skills of mean 0.15 gave no dominant draw in 100,000: .* exceed 0.17,"):
        pairwise_flippers(10, [0.15] * 5, generator(), dominant=True)
    with pytest.raises(ValueError, match=r"skills of mean 0.55 gave no undominant draw in 100,000: .* not exceed 0.5"):
        pairwise_flippers(10, [0.55] * 5, generator(), dominant=False)


def test_the_bound_of_equal_skills_is_sharp() -> None:
    # Four annotators, two targets: two share each, and 2 (1 - p) / 4 < p from p = 1/3 on.
    assert column_dominant(pairwise_flippers(3, [0.34] * 4, generator(), dominant=True))
    with pytest.raises(ValueError, match=r"equal ones must exceed 0.33"):
        pairwise_flippers(3, [0.33] * 4, generator(), dominant=True)


def test_without_a_wish_the_first_draw_is_taken() -> None:
    shift = torch.randint(1, 6, (4, 6), generator=generator(5))
    target = (torch.arange(6) + shift) % 6
    confusion = pairwise_flippers(6, [0.5] * 4, generator(5))
    assert (confusion.gather(-1, target.unsqueeze(-1)) == 0.5).all()


def test_perturbed_skills_have_the_spread_asked_for() -> None:
    skills = torch.tensor(perturbed_skills(0.35, 20_000, generator(), spread=0.02))
    assert skills.mean() == pytest.approx(0.35, abs=4 * 0.02 / 20_000**0.5)
    assert skills.std() == pytest.approx(0.02, abs=4 * 0.02 / 40_000**0.5)
    assert perturbed_skills(0.35, 3, generator(1)) == perturbed_skills(0.35, 3, generator(1))


def test_perturbed_skills_stay_probabilities() -> None:
    skills = perturbed_skills(0.99, 1000, generator(), spread=0.1)
    assert min(skills) > 0.5
    assert max(skills) == 1.0
    assert min(perturbed_skills(0.01, 1000, generator(), spread=0.1)) == 0.0
    assert perturbed_skills(0.4, 2, generator(), spread=0.0) == (0.4, 0.4)


def test_skills_that_cannot_be_perturbed_are_refused() -> None:
    with pytest.raises(ValueError, match="skill must be a probability, got 1.5"):
        perturbed_skills(1.5, 2, generator())
    with pytest.raises(ValueError, match="annotators must be at least 1, got 0"):
        perturbed_skills(0.5, 0, generator())
    with pytest.raises(ValueError, match="spread must not be negative, got -1"):
        perturbed_skills(0.5, 2, generator(), spread=-1)


def test_hammers_who_draw_any_class_anew_by_hand() -> None:
    hammer, middling, spammer = hammer_spammers(4, [1.0, 0.6, 0.0], kind="redraw")
    eye = torch.eye(4, dtype=torch.double)
    torch.testing.assert_close(hammer, eye)
    torch.testing.assert_close(middling, 0.6 * eye + 0.1)
    torch.testing.assert_close(spammer, torch.full((4, 4), 0.25, dtype=torch.double))
    with pytest.raises(ValueError, match="kind must be 'exact' or 'redraw', got 'flip'"):
        hammer_spammers(4, [0.5], kind="flip")  # type: ignore[arg-type]


def test_the_four_annotators_of_cifar_10() -> None:
    confusion = cifar10_annotators()
    assert confusion.shape == (4, 10, 10)
    assert confusion.dtype == torch.double
    torch.testing.assert_close(confusion.sum(-1), torch.ones(4, 10, dtype=torch.double))
    mean = confusion.mean(0)
    torch.testing.assert_close(mean.diagonal(), torch.full((10,), 0.45, dtype=torch.double))
    assert column_dominant(confusion)
    off = mean - torch.diag(mean.diagonal())
    assert off.max() == pytest.approx(0.36, abs=0.005)
    assert divmod(int(off.argmax()), 10) == (4, 7)
    _, similar, neighbours, adversary = confusion
    assert torch.equal(similar, similar.T)
    assert similar[3, 5] == similar[9, 1] == 0.4
    assert neighbours[0, 9] == neighbours[0, 1] == neighbours[9, 0] == 0.2
    assert adversary.argmax(-1).tolist() == [3, 4, 5, 6, 7, 8, 9, 0, 1, 2]
