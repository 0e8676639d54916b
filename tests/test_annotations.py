from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from truelabel import fusion, metrics
from truelabel.annotations import Annotations
from truelabel.coding import LabelError
from truelabel.frames import TableError

ROWS = {"task": [3, 3, 1, 2], "worker": ["bob", "ann", "ann", "bob"], "label": ["x", "y", "x", "y"]}
EXPECTED = [[0, -1], [-1, 1], [1, 0]]  # tasks 1, 2, 3 by ann, bob


def long_form(matrix: np.ndarray[Any, Any]) -> set[tuple[int, int, int]]:
    """The slow reference: every label by a loop."""
    n, r = matrix.shape
    return {(i, j, int(matrix[i, j])) for i in range(n) for j in range(r) if matrix[i, j] >= 0}


@pytest.mark.parametrize(
    "matrix",
    [
        np.array([[0, -1], [1, 0]]),
        np.array([[0.0, np.nan], [1.0, 0.0]]),
        [[0, None], [1, 0]],
        [[0, float("nan")], [1, 0]],
        [[0, pd.NA], [1, 0]],
        torch.tensor([[0, -1], [1, 0]]),
        pd.DataFrame({"0": [0, 1], "1": [None, 0]}),
        pd.DataFrame({"0": [0, 1], "1": [-1, 0]}, dtype="Int64"),
        pl.DataFrame({"0": [0, 1], "1": [None, 0]}),
    ],
)
def test_every_kind_of_missing_means_missing(matrix: Any) -> None:
    annotations = Annotations.from_matrix(matrix)
    assert annotations.matrix().tolist() == [[0, -1], [1, 0]]
    assert annotations.classes == (0, 1)
    assert [type(c) for c in annotations.classes] == [int, int]


def test_strings_and_booleans_keep_their_type_and_sorted_order() -> None:
    assert Annotations.from_matrix([["dog", "cat"], [None, "ant"]]).classes == ("ant", "cat", "dog")
    booleans = Annotations.from_matrix([[True, False], [None, True]])
    assert booleans.classes == (False, True)
    assert booleans.matrix().tolist() == [[1, 0], [-1, 1]]
    assert Annotations.from_matrix(np.array([[True, False]])).classes == (False, True)
    json.dumps(booleans.classes)


def test_numbers_sort_by_size_not_by_digits() -> None:
    assert Annotations.from_matrix([[10, 9, 100]]).classes == (9, 10, 100)


def test_classes_given_are_never_reordered() -> None:
    annotations = Annotations.from_matrix([["mild", "none"]], classes=["none", "mild", "severe"])
    assert annotations.classes == ("none", "mild", "severe")
    assert annotations.matrix().tolist() == [[1, 0]]
    assert Annotations.from_matrix([[2, 0]], classes=4).classes == (0, 1, 2, 3)


def test_minus_one_can_be_a_class_when_asked() -> None:
    assert Annotations.from_matrix([[-1, 1]], missing=None).classes == (-1, 1)
    assert Annotations.from_labels([-1, 1, -1]).classes == (-1, 1)
    assert Annotations.from_matrix([[9, 1]], missing=9).classes == (1,)


def test_data_frame_columns_name_the_annotators() -> None:
    assert Annotations.from_matrix(pd.DataFrame({"ann": [0, 1], "bob": [1, 1]})).annotators.tolist() == [
        "ann",
        "bob",
    ]


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "lazy", "arrow", "csv", "tsv", "parquet"])
def test_every_kind_of_table_reads_the_same(kind: str, tmp_path: Path) -> None:
    table = pa.table(ROWS)
    sources: dict[str, Any] = {
        "dict": ROWS,
        "pandas": pd.DataFrame(ROWS),
        "polars": pl.DataFrame(ROWS),
        "lazy": pl.LazyFrame(ROWS),
        "arrow": table,
        "csv": tmp_path / "t.csv",
        "tsv": tmp_path / "t.tsv",
        "parquet": tmp_path / "t.parquet",
    }
    pd.DataFrame(ROWS).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame(ROWS).to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    pq.write_table(table, tmp_path / "t.parquet")
    annotations = Annotations.from_table(sources[kind])
    assert annotations.examples.tolist() == [1, 2, 3]
    assert annotations.annotators.tolist() == ["ann", "bob"]
    assert annotations.classes == ("x", "y")
    assert annotations.matrix().tolist() == EXPECTED


@pytest.mark.parametrize(
    "names",
    [
        ("task", "worker", "label"),
        ("Task_ID", "WorkerId", "Answer"),
        ("image", "rater", "class"),
        ("item", "annotator", "labels"),
        ("question id", "user-id", "response"),
    ],
)
def test_common_column_names_are_recognised(names: tuple[str, str, str]) -> None:
    rows = dict(zip(names, ROWS.values(), strict=True))
    assert Annotations.from_table({"note": ["a"] * 4, **rows}).matrix().tolist() == EXPECTED


def test_a_guess_that_fails_names_the_columns() -> None:
    with pytest.raises(TableError, match=r"no column of the table looks like the label: pass label= one of task, foo"):
        Annotations.from_table({"task": [1], "foo": [2]})
    twice = {"task": [8, 1, 8], "foo": [2, 2, 3], "label": [0, 0, 1]}
    with pytest.raises(
        TableError, match=r"labels example 8 more than once, .* pass annotator= one of task, foo, label"
    ):
        Annotations.from_table(twice)
    assert Annotations.from_table(twice, annotator="foo").matrix().tolist() == [[0, -1], [0, 1]]


def test_a_table_without_annotators_has_one_source() -> None:
    annotations = Annotations.from_table({"image": ["b", "a"], "label": ["x", "y"]})
    assert annotations.annotators.tolist() == [0]
    assert annotations.matrix().tolist() == [[1], [0]]


def test_wrong_column_names_are_told() -> None:
    with pytest.raises(TableError, match=r"has no column 'who' for annotator: it has task, worker, label"):
        Annotations.from_table(ROWS, annotator="who")


@pytest.mark.parametrize("stored", ["pandas", "arrow", "parquet", "enum"])
def test_categories_keep_their_order(stored: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS)
    frame["label"] = pd.Categorical(frame["label"], categories=["y", "x", "z"], ordered=True)
    source: Any = frame
    if stored == "arrow":
        source = pa.Table.from_pandas(frame)
    if stored == "parquet":
        source = tmp_path / "t.parquet"
        frame.to_parquet(source)
    if stored == "enum":
        source = pl.DataFrame(ROWS).with_columns(pl.col("label").cast(pl.Enum(["y", "x", "z"])))
    annotations = Annotations.from_table(source)
    assert annotations.classes == ("y", "x", "z")
    assert annotations.matrix().tolist() == [[1, -1], [-1, 0], [0, 1]]


def test_a_polars_categorical_has_no_order_of_its_own() -> None:
    frame = pl.DataFrame({"task": [0, 1], "worker": [0, 0], "label": ["b", "a"]}).with_columns(
        pl.col("label").cast(pl.Categorical)
    )
    assert Annotations.from_table(frame).classes == ("a", "b")


def test_rows_without_label_name_their_example_but_give_nothing(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("task,worker,label\n1,a,x\n2,a,\n3,b,NA\n1,b,y\n")
    annotations = Annotations.from_table(path)
    assert annotations.examples.tolist() == [1, 2, 3]
    assert annotations.counts.tolist() == [2, 0, 0]


def test_integers_with_gaps_from_pandas_stay_integers() -> None:
    frame = pd.DataFrame({"task": [0, 1, 2], "worker": [0, 0, 0], "label": [1.0, np.nan, 2.0]})
    assert Annotations.from_table(frame).classes == (1, 2)


def test_a_label_outside_the_classes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("task,worker,label\n0,0,3\n1,0,12\n")
    with pytest.raises(LabelError, match=r"label 12 in row 2 of labels.csv is outside 0..9: pass classes= or fix"):
        Annotations.from_table(path, classes=10)
    with pytest.raises(LabelError, match="label 7 in row 1 is outside 0..1"):
        Annotations.from_matrix([[7, 1]], classes=2)


def test_classes_given_as_text_match_numbers() -> None:
    assert Annotations.from_matrix([[1, 0]], classes=["1", "0"]).matrix().tolist() == [[0, 1]]


def test_duplicates_follow_the_rule() -> None:
    rows = {"task": [0, 0, 1], "worker": [5, 5, 5], "label": ["first", "last", "last"]}
    with pytest.warns(
        UserWarning, match=r"1 labels repeat .* annotator 5 labelled example 0\); the last of each is kept"
    ):
        assert Annotations.from_table(rows).matrix().ravel().tolist() == [1, 1]
    with pytest.warns(UserWarning, match="the first"):
        assert Annotations.from_table(rows, duplicates="first").matrix().ravel().tolist() == [0, 1]
    with pytest.raises(LabelError, match=r"annotator 5 labelled example 0 more than once"):
        Annotations.from_table(rows, duplicates="error")


def test_examples_given_fix_order_and_unlabelled_ones() -> None:
    annotations = Annotations.from_table(ROWS, examples=[3, 9, 2, 1], annotators=["bob", "ann", "eve"])
    assert annotations.counts.tolist() == [2, 0, 1, 1]
    assert annotations.workload.tolist() == [2, 2, 0]
    with pytest.raises(LabelError, match="example 2 in row 4 of the table is outside 3, 1: pass examples="):
        Annotations.from_table(ROWS, examples=[3, 1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("task,worker,label\n", "has no rows"),
        ("task,worker,label\n1,a,x\n1,a\n", "cannot read"),
        ("task,worker,label\n,a,x\n", "row 1 of bad.csv has no example"),
        ("task,worker,label\n1,a,0.5\n", "fractional"),
    ],
)
def test_bad_files_get_one_line(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        Annotations.from_table(path)
    assert "\n" not in str(caught.value)


def test_missing_and_foreign_files_get_one_line(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no file"):
        Annotations.from_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match=r"expected a file ending in .csv"):
        Annotations.from_table(tmp_path / "none.xlsx")
    (tmp_path / "fake.parquet").write_bytes(b"not parquet")
    with pytest.raises(TableError, match="cannot read"):
        Annotations.from_table(tmp_path / "fake.parquet")


def test_to_table_returns_the_names(tmp_path: Path) -> None:
    annotations = Annotations.from_table(ROWS)
    expected = sorted(zip(*ROWS.values(), strict=True))
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        table = annotations.to_table(path)
        assert sorted(zip(*(table.column(i).to_pylist() for i in range(3)), strict=True)) == expected
        again = Annotations.from_table(path)
        assert again.matrix().tolist() == annotations.matrix().tolist()
        assert again.classes == annotations.classes
    assert not list(tmp_path.glob("*.part"))


matrices = st.integers(1, 8).flatmap(
    lambda r: st.lists(st.lists(st.integers(-1, 4), min_size=r, max_size=r), min_size=1, max_size=12)
)


@settings(deadline=None, max_examples=60)
@given(matrices, st.randoms(use_true_random=False))
def test_matrix_table_and_slots_agree(rows: list[list[int]], random: Any) -> None:
    matrix = np.array(rows)
    annotations = Annotations.from_matrix(matrix, classes=5)
    assert np.array_equal(annotations.matrix(), matrix)
    triples = sorted(long_form(matrix))
    random.shuffle(triples)
    if triples:
        table = dict(zip(("task", "worker", "label"), zip(*triples, strict=True), strict=True))
        again = Annotations.from_table(table, classes=5, examples=range(len(matrix)), annotators=range(matrix.shape[1]))
        assert np.array_equal(again.matrix(), matrix)
    index = torch.tensor(random.sample(range(len(matrix)), k=random.randint(1, len(matrix))))
    slots = annotations.slots(index)
    found = {
        (int(index[i]), int(slots.annotators[i, s]), int(slots.labels[i, s]))
        for i in range(len(index))
        for s in range(slots.labels.shape[1])
        if slots.annotators[i, s] >= 0
    }
    assert found == {t for t in long_form(matrix) if t[0] in set(index.tolist())}
    assert torch.equal(slots.labels >= 0, slots.annotators >= 0)
    assert slots.labels.shape[1] == max(1, annotations.counts.max())


@settings(deadline=None, max_examples=40)
@given(matrices, st.randoms(use_true_random=False))
def test_take_equals_indexing_the_matrix(rows: list[list[int]], random: Any) -> None:
    matrix = np.array(rows)
    index = random.sample(range(len(matrix)), k=random.randint(1, len(matrix)))
    taken = Annotations.from_matrix(matrix, classes=5).take(index)
    assert np.array_equal(taken.matrix(), matrix[index])
    assert taken.examples.tolist() == index


def test_vote_counts_against_a_loop() -> None:
    generator = np.random.default_rng(0)
    matrix = generator.integers(-1, 3, (20, 6))
    counts = Annotations.from_matrix(matrix, classes=3).vote_counts()
    assert counts.tolist() == [[int((row == k).sum()) for k in range(3)] for row in matrix]


def test_masks_keep_missing_readers_and_pixels() -> None:
    masks = np.full((2, 3, 2, 2), -1)
    masks[0, 1] = [[0, 1], [1, -1]]
    masks[1, 0] = [[1, 1], [0, 0]]
    masks[1, 2] = [[0, 0], [0, 1]]
    annotations = Annotations.from_masks(masks, classes=["background", "cell"])
    assert np.array_equal(annotations.matrix(), masks)
    assert annotations.counts.tolist() == [1, 2]
    slots = annotations.slot_table().at(torch.tensor([1, 0]))
    assert slots.labels.shape == (2, 2, 2, 2)
    assert slots.labels[0, ..., 1].tolist() == [[0, 0], [0, 1]]
    assert slots.labels[1, ..., 0].tolist() == [[0, 1], [1, -1]]
    assert (slots.labels[1, ..., 1] == -1).all()
    assert slots.annotators.tolist() == [[0, 2], [1, -1]]
    floats = masks.astype(float)
    floats[floats < 0] = np.nan
    assert np.array_equal(Annotations.from_masks(floats, classes=2).matrix(), masks)
    assert Annotations.from_masks(masks[1:, [0, 2]] == 1).classes == (False, True)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[-1, -1]], "there are no labels"),
        ([[0, 1], [-1, -1]], r"example 1 \(row 2\) is without labels"),
        ([[0, -1], [1, -1]], r"annotator 1 \(row 2\) is without labels"),
        ([[1, 1], [1, -1]], "all labels are of one class, 1"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(matrix: list[list[int]], message: str) -> None:
    with pytest.raises(LabelError, match=message):
        Annotations.from_matrix(matrix).check_trainable()


def test_what_has_no_labels_can_be_left_out() -> None:
    annotations = Annotations.from_matrix([[-1, -1, -1], [0, -1, 1], [1, -1, -1]]).labelled()
    assert annotations.examples.tolist() == [1, 2]
    assert annotations.annotators.tolist() == [0, 2]
    assert annotations.matrix().tolist() == [[0, 1], [1, -1]]


def test_silent_annotators_can_be_dropped() -> None:
    annotations = Annotations.from_matrix([[0, -1, 1], [1, -1, -1]]).without_silent_annotators()
    assert annotations.annotators.tolist() == [0, 2]
    assert annotations.matrix().tolist() == [[0, 1], [1, -1]]
    annotations.check_trainable()


def test_ids_too_far_apart_to_count_are_sorted() -> None:
    rows = {"task": [10**15, 5, -(10**15)], "worker": [0, 0, 0], "label": [0, 1, 2]}
    assert Annotations.from_table(rows).matrix().ravel().tolist() == [2, 1, 0]


def test_many_labels_and_large_keys_sort_alike() -> None:
    generator = np.random.default_rng(1)
    task, worker = generator.integers(0, 500, 4000), generator.integers(0, 300, 4000)
    label = generator.integers(0, 4, 4000)
    reference: dict[tuple[int, int], int] = {}
    for key in zip(task.tolist(), worker.tolist(), label.tolist(), strict=True):
        reference[key[:2]] = key[2]
    with pytest.warns(UserWarning, match="repeat"):
        annotations = Annotations.from_table({"task": task, "worker": worker, "label": label})
    names = zip(annotations.examples[annotations.example], annotations.annotators[annotations.annotator], strict=True)
    assert {(int(e), int(a)): int(v) for (e, a), v in zip(names, annotations.label, strict=True)} == reference


def test_names_with_leading_zeros_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id,worker,label\n007,1,01\n010,1,02\n011,2,01\n")
    annotations = Annotations.from_table(path)
    assert annotations.examples.tolist() == ["007", "010", "011"]
    assert annotations.annotators.tolist() == [1, 2]
    assert annotations.classes == ("01", "02")


def test_classes_that_are_probably_one_are_told() -> None:
    with pytest.warns(UserWarning, match="the classes 'Dog' and 'dog' differ only in case or blanks"):
        Annotations.from_matrix([["Dog", "dog"], ["cat", "dog"]])


def test_a_matrix_as_it_is_is_refused_in_one_line() -> None:
    message = "^annotations must be Annotations, got list: use Annotations.from_matrix or from_table$"
    for function in (fusion.majority_vote, fusion.dawid_skene, metrics.fleiss_kappa):
        with pytest.raises(LabelError, match=message):
            function([[0, 1], [1, 1]])  # type: ignore[arg-type]


def test_units_are_those_that_somebody_labelled() -> None:
    masks = np.random.default_rng(0).integers(-1, 3, (4, 3, 5, 2))
    masks[1, 2], masks[2] = -1, -1
    np.testing.assert_array_equal(Annotations.from_masks(masks, classes=3).units(), (masks >= 0).any(1))
    said = Annotations.from_matrix([[0, -1], [-1, -1], [1, 1]])
    assert said.units().tolist() == [True, False, True]
