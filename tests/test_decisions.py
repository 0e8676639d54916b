from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel import Annotations
from truelabel.coding import LabelError
from truelabel.decisions import COLUMNS, Decisions
from truelabel.frames import TableError

SAID = {
    "task": ["a", "a", "a", "b", "b", "c"],
    "worker": ["ann", "bob", "eve", "ann", "bob", "eve"],
    "label": ["cat", "cat", "dog", "dog", "dog", "bird"],
}


def said() -> Annotations:
    return Annotations.from_table(SAID)


def table(*rows: tuple[Any, ...]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def labels(annotations: Annotations) -> dict[tuple[Any, Any], Any]:
    """What everybody said, by example and annotator."""
    names = annotations.to_table().to_pylist()
    return {(row["example"], row["annotator"]): row["label"] for row in names}


BEFORE = labels(Annotations.from_table(SAID))


def test_accept_replaces_the_label_and_the_reviewer_confirms() -> None:
    after = said().apply(table(("a", "ann", "cat", "accept", "dog")))
    assert labels(after) == {**BEFORE, ("a", "ann"): "dog", ("a", "reviewer"): "dog"}
    assert after.annotators.tolist() == ["ann", "bob", "eve", "reviewer"]
    assert (after.classes, after.examples.tolist()) == (("bird", "cat", "dog"), ["a", "b", "c"])


def test_add_keeps_the_mistake_as_evidence_of_its_annotator() -> None:
    after = said().apply(table(("a", "ann", "cat", "choose", "bird")), how="add", reviewer="me")
    assert labels(after) == {**BEFORE, ("a", "me"): "bird"}


def test_keep_changes_nothing_but_has_the_reviewer_say_it_too() -> None:
    for how in ("replace", "add"):
        after = said().apply(table(("c", "eve", "bird", "keep", None)), how=how)
        assert labels(after) == {**BEFORE, ("c", "reviewer"): "bird"}


def test_remove_deletes_and_says_nothing_of_the_truth() -> None:
    after = said().apply(table(("b", "bob", "dog", "remove", None)))
    assert labels(after) == {key: value for key, value in BEFORE.items() if key != ("b", "bob")}
    assert "reviewer" not in after.annotators


def test_an_empty_annotator_is_everybody_who_gave_this_label() -> None:
    after = said().apply(table(("a", None, "cat", "accept", "dog")))
    expected = {**BEFORE, ("a", "ann"): "dog", ("a", "bob"): "dog", ("a", "reviewer"): "dog"}
    assert labels(after) == expected


def test_what_is_decided_twice_follows_the_last_row() -> None:
    after = said().apply(table(("a", "ann", "cat", "accept", "dog"), ("a", "ann", "cat", "keep", None)))
    assert labels(after) == {**BEFORE, ("a", "reviewer"): "cat"}
    after = said().apply(table(("a", "ann", "cat", "keep", None), ("a", "ann", "cat", "remove", None)))
    assert labels(after) == {key: value for key, value in BEFORE.items() if key != ("a", "ann")}


def test_two_truths_of_one_example_are_told_and_the_last_counts() -> None:
    rows = table(("a", "ann", "cat", "accept", "dog"), ("a", "bob", "cat", "accept", "bird"))
    with pytest.warns(UserWarning, match=r"example 'a' both dog and bird \(row 2 of the table\); the last"):
        after = said().apply(rows)
    assert labels(after)["a", "reviewer"] == "bird"
    assert labels(after)["a", "ann"] == "dog"


def test_numbers_as_names_match_however_they_are_written(tmp_path: Path) -> None:
    annotations = Annotations.from_matrix([[0, 1], [2, -1], [1, 1]])
    frame = pd.DataFrame(
        {
            "example": [0, 2],
            "annotator": [1.0, np.nan],
            "label": [1, 1],
            "decision": ["accept", "accept"],
            "new_label": [0, 2],
        }
    )
    path = tmp_path / "decisions.csv"
    frame.to_csv(path, index=False, float_format="%.0f")
    for source in (frame, path, Decisions.from_table(path)):
        after = annotations.apply(source)
        assert after.matrix().tolist() == [[0, 0, 0], [2, -1, -1], [2, 2, 2]]
        assert after.annotators.tolist() == ["0", "1", "reviewer"]
    assert after.to_table().column("annotator").to_pylist()[:3] == ["0", "1", "reviewer"]


def test_text_that_looks_like_a_number_stays_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, ("1e5", "", "x", "keep", "")])
    annotations = Annotations.from_table({"task": ["1e5", "b"], "label": ["x", "y"]})
    assert annotations.apply(path).counts.tolist() == [2, 1]


def test_truth_values_as_classes() -> None:
    annotations = Annotations.from_labels(np.array([True, False]))
    after = annotations.apply(table((0, None, "true", "choose", "false"), (1, None, "False", "keep", None)))
    assert after.matrix().tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("z", "ann", "cat", "keep", None), "example 'z' in row 2 of the table is not among the examples: are these"),
        (("a", "joe", "cat", "keep", None), "annotator 'joe' in row 2 of the table is not among the annotators: fix"),
        (("a", "ann", "cow", "keep", None), "label 'cow' in row 2 of the table is not among the classes: fix the row"),
        (("a", "ann", "cat", "accept", "cow"), "new_label 'cow' in row 2 of the table is not among the classes"),
        (("a", "ann", "cat", "maybe", None), "decision 'maybe' in row 2 of the table is unknown: use accept, keep"),
        (("a", "ann", "cat", "accept", None), "row 2 of the table has no new_label to accept: fill it in"),
        ((None, "ann", "cat", "keep", None), "row 2 of the table has no example: fill it in"),
        (("a", "ann", None, "keep", None), "row 2 of the table has no label: fill it in"),
        (
            ("a", "ann", "dog", "keep", None),
            "label 'dog' of example 'a' by annotator 'ann', but there it is cat: apply",
        ),
        (("b", "eve", "dog", "keep", None), "by annotator 'eve', but there it is not labelled"),
        (("b", None, "cat", "keep", None), "by anybody, but there it is dog"),
    ],
)
def test_a_wrong_row_is_one_line_with_its_number(row: tuple[Any, ...], message: str) -> None:
    with pytest.raises(LabelError) as error:
        said().apply(table(("c", "eve", "bird", "keep", None), row))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_other_mistakes_are_one_line_too() -> None:
    fine = table(("a", "ann", "cat", "keep", None))
    with pytest.raises(LabelError, match="an annotator is called 'eve' already: pass another name as reviewer="):
        said().apply(fine, reviewer="eve")
    with pytest.raises(ValueError, match="how must be 'replace' or 'add', got 'both'"):
        said().apply(fine, how="both")  # type: ignore[arg-type]
    with pytest.raises(TableError, match="has no column 'decision': decisions need example, annotator"):
        said().apply({"example": ["a"], "label": ["cat"]})
    with pytest.raises(LabelError, match="these are masks"):
        Annotations.from_masks(np.zeros((1, 1, 2, 2), int), classes=2).apply(fine)
    after = said().apply(fine)
    with pytest.raises(LabelError, match="already"):
        after.apply(fine)


VERDICTS = st.sampled_from(["accept", "keep", "choose", "remove"])
ROWS = st.lists(st.tuples(st.integers(0, 5), VERDICTS, st.sampled_from(["bird", "cat", "dog"])), max_size=12)


@given(ROWS, st.sampled_from(["replace", "add"]))
@pytest.mark.filterwarnings("ignore:the decisions call")
def test_any_decisions_do_what_a_plain_loop_does(rows: list[tuple[int, str, str]], how: Any) -> None:
    """The reference walks through the rows twice: who is spoken of last, and what follows from that."""
    keys = list(BEFORE)
    last = {keys[which]: (position, verdict, new) for position, (which, verdict, new) in enumerate(rows)}
    expected, truth = dict(BEFORE), dict[Any, Any]()
    for key, (_, verdict, new) in sorted(last.items(), key=lambda item: item[1][0]):
        if verdict == "remove":
            del expected[key]
            continue
        right = BEFORE[key] if verdict == "keep" else new
        truth[key[0], "reviewer"] = right
        expected[key] = right if how == "replace" else BEFORE[key]
    decided = [(*keys[which], BEFORE[keys[which]], verdict, new) for which, verdict, new in rows]
    decisions = Decisions.from_table(table(*decided)) if decided else Decisions(())
    assert labels(said().apply(decisions, how=how)) == {**expected, **truth}
