"""The summary in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from truelabel.report import RunFolder, read_run
from truelabel.report.class_noise import ClassNoise
from truelabel.report.data_facts import data_facts
from truelabel.report.run_tables import Person
from truelabel.report.words import first_steps, held_out_agreement, summary


@pytest.fixture
def told(trained: Path) -> RunFolder:
    people = [
        Person("rare", 2, 0.1, None, None),
        Person("good", 900, 0.9, 0.85, 0.95),
        Person("bad", 300, 0.2, None, None),
    ]
    return replace(read_run(trained), people=people)


def test_the_summary_has_the_numbers(told: RunFolder) -> None:
    facts = data_facts(told)
    size, wrong, people, model = summary(told, facts, 26)
    assert (
        size == f"120 examples with {facts.labels} labels in 4 classes by 3 annotators, learned by annotator-confusion."
    )
    assert wrong.split(". ") == [
        f"26 labels ({26 / facts.labels:.1%}) are suspected to be wrong",
        "By the estimate 31.0% of all labels are wrong.",
    ]
    assert people == "Most reliable is good (90%, between 85% and 95%), least reliable bad (20%)."
    best = max(row["valid_accuracy"] for row in told.history["rows"])
    assert 0 < best <= 1
    assert model.startswith(f"The model agrees with {held_out_agreement(told.history):.1%} of the labels")


def test_what_is_not_known_is_not_said(told: RunFolder) -> None:
    quiet = replace(told, history={}, quality={}, people=told.people[:1])
    assert len(summary(quiet, data_facts(quiet), None)) == 1
    one = replace(quiet, people=told.people[1:2])
    assert summary(one, data_facts(one), 1)[1:] == [
        f"1 label ({1 / data_facts(one).labels:.1%}) is suspected to be wrong.",
        "All labels come from one source, right 90% of the time by the estimate.",
    ]


def test_masks_have_readers_and_regions(masks_trained: Path) -> None:
    run = read_run(masks_trained)
    lines = summary(run, data_facts(run), 2)
    assert lines[0] == "8 images with 16 masks in 2 classes by 2 readers, learned by heteroscedastic."
    assert lines[1] == "2 regions of masks are in doubt."


def test_steps_name_what_stands_out(told: RunFolder) -> None:
    noise = [ClassNoise("cat", 0.3, None, 50, 0.4, ("dog", 9)), ClassNoise("dog", 0.0, None, 50, 0.0, None)]
    steps = first_steps(told, noise, ["fox"], 12)
    assert steps == [
        "Review the suspects below, from the top: 12 labels are in doubt.",
        "Talk to bad: more often wrong than right, with 25% of all labels.",
        "Look at labels that say cat: 40% are probably wrong; many of them are dog.",
        "Have some examples of fox labelled by somebody whom you trust; see the warning.",
    ]
    sound = replace(told, people=told.people[1:2])
    assert first_steps(sound, noise[1:], [], 0) == ["Nothing stands out: the labels look sound to this method."]


def test_the_epoch_that_was_chosen_counts() -> None:
    rows = [{"valid_accuracy": 0.4}, {"valid_accuracy": 0.6}]
    assert held_out_agreement({"rows": rows, "best_epoch": 0}) == 0.4
    assert held_out_agreement({"rows": rows, "best_epoch": None}) is None
    assert held_out_agreement({"rows": rows, "best_epoch": 7}) is None
    assert held_out_agreement({"rows": [{"train_loss": 1.0}], "best_epoch": 0}) is None
