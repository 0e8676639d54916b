"""Counts and agreement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.metrics import fleiss_kappa, krippendorff_alpha
from truelabel.report import RunFolder, read_run
from truelabel.report.data_facts import data_facts
from truelabel.report.label_rows import LabelRows

from .conftest import CLASSES


@pytest.fixture
def run_of(trained: Path) -> RunFolder:
    return read_run(trained)


def rows_of(*rows: tuple[str, str, str]) -> LabelRows:
    example, annotator, label = (np.array(column, object) for column in zip(*rows, strict=True))
    return LabelRows(example, annotator, label, np.full(len(rows), 0.5))


def test_counts_are_those_of_the_labels(run_of: RunFolder) -> None:
    facts = data_facts(run_of)
    assert run_of.labels is not None
    assert facts.examples == 120
    assert facts.labels == len(run_of.labels) == sum(count for _, count in facts.per_class)
    assert [name for name, _ in facts.per_class] == CLASSES
    assert sum(count * examples for count, examples in facts.per_example) == facts.labels
    said = Annotations.from_table(
        {"example": run_of.labels.example, "annotator": run_of.labels.annotator, "label": run_of.labels.label}
    )
    assert facts.fleiss == pytest.approx(fleiss_kappa(said))
    assert facts.krippendorff == pytest.approx(krippendorff_alpha(said))


def test_examples_without_a_label_are_counted(run_of: RunFolder) -> None:
    rows = rows_of(("0", "ann", "zero"), ("0", "bob", "zero"), ("1", "ann", "new"))
    facts = data_facts(replace(run_of, labels=rows, examples=["0", "1", "2"]))
    assert facts.per_example == [(0, 1), (1, 1), (2, 1)]
    assert facts.per_class[-1] == ("new", 1)


def test_agreement_needs_two_labels_of_something_and_two_classes(run_of: RunFolder) -> None:
    alone = rows_of(("0", "ann", "zero"), ("1", "ann", "new"))
    same = rows_of(("0", "ann", "zero"), ("0", "bob", "zero"))
    for rows in (alone, same):
        facts = data_facts(replace(run_of, labels=rows))
        assert (facts.fleiss, facts.krippendorff) == (None, None)


def test_masks_are_counted_by_their_readers(masks_trained: Path) -> None:
    facts = data_facts(read_run(masks_trained))
    assert (facts.examples, facts.labels, facts.per_class) == (8, 16, [])
