from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truelabel.frames
from truelabel.frames import ALIASES, Table, TableError, guess_columns, is_category, write_table

CONTENT: dict[str, list[Any]] = {"task": [3, 4, 5], "worker": ["ann", None, "bob"], "score": [0.5, None, 2.0]}


def content_of(table: Table) -> dict[str, list[Any]]:
    return {name: table.column(name).to_pylist() for name in table.columns}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_files_of_each_kind_agree(tmp_path: Path) -> None:
    pq.write_table(pa.table(CONTENT), tmp_path / "a.parquet", row_group_size=2)
    pq.write_table(pa.table(CONTENT), tmp_path / "a.pq")
    paths = [
        written(tmp_path, "a.csv", "task,worker,score\n3,ann,0.5\n4,,\n5,bob,2\n"),
        written(tmp_path, "a.tsv", "task\tworker\tscore\r\n3\tann\t0.5\r\n4\tNA\tNA\r\n5\tbob\t2\r\n"),
        written(tmp_path, "a.txt", 'task\tworker\tscore\n3\t"ann"\t0.5\n4\tnull\tNaN\n5\tbob\t2\n'),
        written(tmp_path, "bom.CSV", b"\xef\xbb\xbftask,worker,score\n3,ann,0.5\n4,N/A,nan\n5,bob,2.0"),
        tmp_path / "a.parquet",
        tmp_path / "a.pq",
    ]
    for path in paths:
        for source in (path, str(path)):
            table = Table(source)
            assert table.name == path.name
            assert content_of(table) == CONTENT
            assert len(table) == 3


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_data_frames_of_each_kind_agree(make: Any) -> None:
    table = Table(make(CONTENT))
    assert table.name == "the table"
    assert content_of(table) == CONTENT
    assert len(table) == 3


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, np.nan]),
        pd.Series([1.0, None]),
        pl.Series([1.0, float("nan")]),
        [1.0, None],
        (1.0, float("nan")),
        np.array([1, np.nan], np.float16),
    ],
)
def test_nan_is_missing_in_sequences_of_each_kind(values: Any) -> None:
    assert Table({"a": values}).column("a").to_pylist() == [1, None]


def test_nan_is_missing_in_frames_and_parquet(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0, float("nan"), None]})
    pq.write_table(table, tmp_path / "a.parquet")
    for source in (table, pl.DataFrame({"a": [1.0, float("nan"), None]}), tmp_path / "a.parquet"):
        assert Table(source).column("a").to_pylist() == [1, None, None]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=6).map(lambda text: "x" + text)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=6), st.sampled_from([(".csv", ","), (".tsv", "\t")]))
def test_quoted_cells_hold_delimiters_quotes_and_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], kind: tuple[str, str]
) -> None:
    path = tmp_path_factory.mktemp("quoted") / f"a{kind[0]}"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=kind[1], lineterminator="\n").writerows([("text", "label"), *rows])
    table = Table(path)
    assert [table.column("text").to_pylist(), table.column("label").to_pylist()] == [
        [text for text, _ in rows],
        [label for _, label in rows],
    ]


def test_a_quoted_line_break_across_blocks_is_read_whole(tmp_path: Path) -> None:
    # pyarrow cuts a file into blocks of one megabyte, at line ends unless told that cells hold some.
    texts = [f"{i}\n" * 200 for i in range(3000)]
    path = written(tmp_path, "a.csv", "text,label\n" + "".join(f'"{text}",{i}\n' for i, text in enumerate(texts)))
    assert path.stat().st_size > 2 << 20
    assert Table(path).column("label").to_pylist() == list(range(3000))
    assert Table(path).column("text").to_pylist() == texts


def test_several_columns_come_in_the_order_asked(tmp_path: Path) -> None:
    for name in ("a.csv", "a.parquet"):
        write_table(pa.table(CONTENT), tmp_path / name)
    for source in (CONTENT, tmp_path / "a.csv", tmp_path / "a.parquet"):
        names = ["score", "task", "score"]
        assert [column.to_pylist() for column in Table(source).read(names)] == [CONTENT[name] for name in names]


def test_reading_a_column_of_a_file_reads_no_other(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"text,label\n\xe9t\xe9,1\nx,2\n")
    assert Table(path).column("label").to_pylist() == [1, 2]
    with pytest.raises(TableError, match="column 'text' of .*a.csv is not UTF-8 text: save the file as UTF-8"):
        Table(path).column("text")


def test_parquet_columns_are_told_apart_by_their_whole_name(tmp_path: Path) -> None:
    folder = tmp_path / "a=9"  # which is no partition to be added
    folder.mkdir()
    content = {"a.b": [1, 2], "a": ["x", "y"], "nested": [{"a": 1}, {"a": 2}]}
    pq.write_table(pa.table(content), folder / "t.parquet")
    assert content_of(Table(folder / "t.parquet")) == content


def test_bytes_in_parquet_are_left_as_they_are(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [b"\xe9"]}), tmp_path / "a.parquet")
    assert Table(tmp_path / "a.parquet").column("a").to_pylist() == [b"\xe9"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", "x", "is not a table that can be read: expected a file ending in .csv"),
        ("a", "x", "is not a table that can be read"),
        ("a.csv", None, "there is no file .*: check the path"),
        ("a.csv", "", "is empty: the first line should name the columns"),
        ("a.csv", "\n\n", "cannot read .*: CSV parse error"),
        ("a.csv", "a,b\n1\n", "cannot read .*: CSV parse error"),
        ("a.csv", b"\xe9\n1\n", "the header of .* is not UTF-8 text: save the file as UTF-8"),
        ("a.csv", "a,b,a\n1,2,3\n", "a.csv has two columns of the same name, 'a': rename one"),
        ("a.parquet", "no parquet", "cannot read"),
        ("a.parquet", "", "cannot read"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_it(
    tmp_path: Path, name: str, content: str | bytes | None, message: str
) -> None:
    path = tmp_path / name if content is None else written(tmp_path, name, content)
    with pytest.raises(TableError, match=message) as caught:
        Table(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


def test_a_wrong_row_further_down_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "a,b\n" + "1,2\n" * 400_000 + "1\n")
    with pytest.raises(TableError, match="cannot read .*a.csv: CSV parse error") as caught:
        Table(path).column("a")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([1, 2], "must be a path to CSV or Parquet, a data frame or a dict of columns, not list"),
        (pd.Series([1]), "not Series"),
        (None, "not NoneType"),
        ({"a": [1], "b": [1, 2]}, "the columns do not make a table"),
        ({"a": [1, "x"]}, "the columns do not make a table"),
        ({"a": 1}, "the columns do not make a table"),
        ({1: [1], "1": [2]}, "two columns of the same name"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns of the same name.*: rename one"),
        (pa.table([[1], [2]], names=["a", "a"]), "two columns of the same name.*: rename one"),
    ],
)
def test_what_is_no_table_is_one_line(source: Any, message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        Table(source)
    assert "\n" not in str(caught.value)


def test_an_absent_column_names_those_there_are() -> None:
    with pytest.raises(TableError, match="the table has no column 'who': it has task, worker, score"):
        Table(CONTENT).column("who")
    with pytest.raises(TableError, match="the table has no column 'who': it has 0, 1"):
        Table(pd.DataFrame([[1, 2]])).column("who")


def test_a_column_of_mixed_types_is_named() -> None:
    with pytest.raises(TableError, match="column 'a' of the table is not of one type"):
        Table(pd.DataFrame({"a": [1, "x"]}, dtype=object)).column("a")


def test_pandas_columns_may_be_numbers() -> None:
    table = Table(pd.DataFrame([[1, 2], [3, 4]]))
    assert list[Any](table.columns) == [0, 1]
    assert table.column(table.columns[1]).to_pylist() == [2, 4]


def test_a_table_without_columns_is_empty() -> None:
    assert len(Table(pd.DataFrame())) == 0
    assert Table(pd.DataFrame()).columns == ()


def test_importing_needs_nothing_but_python() -> None:
    script = (
        "import sys, runpy; runpy.run_path(sys.argv[1]); "
        "print(*{'numpy', 'pyarrow', 'narwhals', 'torch'} & set(sys.modules))"
    )
    path = truelabel.frames.__file__
    done = subprocess.run([sys.executable, "-c", script, path], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


LABELS = ["b", "a", "b"]
ORDER = ["b", "a", "c"]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pd.DataFrame({"label": pd.Categorical(LABELS, categories=ORDER)}), True),
        (pd.DataFrame({"label": LABELS}), False),
        (pl.DataFrame({"label": pl.Series(LABELS, dtype=pl.Enum(ORDER))}), True),
        (pl.DataFrame({"label": pl.Series(LABELS, dtype=pl.Categorical)}), False),
        (pl.DataFrame({"label": LABELS}), False),
        (pa.table({"label": pa.array(LABELS).dictionary_encode()}), True),
        (pa.table({"label": LABELS}), False),
        (pa.table({"label": [1, 2, 3]}), False),
    ],
)
def test_a_category_is_one_with_an_order_of_its_own(frame: Any, expected: bool, tmp_path: Path) -> None:
    assert is_category(Table(frame), "label") is expected
    path = tmp_path / "a.parquet"
    if isinstance(frame, pa.Table):
        pq.write_table(frame, path)
    else:
        frame.write_parquet(path) if isinstance(frame, pl.DataFrame) else frame.to_parquet(path)
        arrow = frame.to_arrow() if isinstance(frame, pl.DataFrame) else pa.Table.from_pandas(frame)
        assert is_category(Table(arrow), "label") is expected
    assert is_category(Table(path), "label") is expected


def test_text_files_have_no_categories(tmp_path: Path) -> None:
    assert not is_category(Table(written(tmp_path, "a.csv", "label\nx\n")), "label")


@pytest.mark.parametrize("what", ALIASES)
def test_every_alias_is_recognised_in_every_form(what: str) -> None:
    for alias in ALIASES[what]:
        for form in (alias, alias.upper(), f"{alias}_id", f"{alias}Id", f"{alias} name", f"{alias}-ID", f" {alias}s "):
            table = Table({"note": [1], form: [2], "n": [3]})
            assert guess_columns(table, {what: None}) == {what: form}


def test_aliases_of_different_things_differ() -> None:
    every = [alias for aliases in ALIASES.values() for alias in aliases]
    assert len(set(every)) == len(every)


def test_a_guess_prefers_the_earlier_alias_then_the_earlier_column() -> None:
    table = Table({"value": [1], "label": [1], "labels": [1]})
    assert guess_columns(table, {"label": None}) == {"label": "label"}


def test_a_column_that_was_given_is_not_guessed_again() -> None:
    table = Table({"task": [1], "label": [1], "answer": [1]})
    given = {"example": "label", "label": None}
    assert guess_columns(table, given) == {"example": "label", "label": "answer"}


@pytest.mark.parametrize(
    ("given_names", "message"),
    [
        ({"label": "x"}, "the table has no column 'x' for label: it has task, 7"),
        ({"label": None}, "no column of the table looks like the label: pass label= one of task, 7"),
        ({"example": "task", "label": "task"}, "one column serves twice in the table"),
    ],
)
def test_a_guess_that_fails_says_what_to_pass(given_names: dict[str, str | None], message: str) -> None:
    with pytest.raises(TableError, match=message):
        guess_columns(Table(pd.DataFrame([[1, 2]], columns=["task", 7])), given_names)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".pq", ".CSV"])
def test_what_is_written_reads_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    path.write_text("old")
    write_table(pa.table(CONTENT), path)
    assert content_of(Table(path)) == CONTENT
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "old")
    with pytest.raises(pa.ArrowException):
        write_table(pa.table({"a": [[1, 2]]}), path)  # a CSV holds no lists
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_ending_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot write .*a.xlsx: use an ending of .csv or .parquet"):
        write_table(pa.table(CONTENT), tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_texts_keep_what_types_would_lose(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n007,x\nNA,y\n1.50,\n")
    table = Table(tmp_path / "a.csv")
    assert table.texts("a").to_pylist() == ["007", "NA", "1.50"]
    assert table.texts("a", nulls=True).to_pylist() == ["007", None, "1.50"]
    assert table.texts("b").to_pylist() == ["x", "y", ""]
    assert Table({"a": [1, None]}).texts("a").to_pylist() == ["1", None]
    with pytest.raises(TableError, match="has no column 'c'"):
        table.texts("c")


@pytest.mark.parametrize("cell", ["word " * 600_000, '"never closed ' + "row\n" * 1_000_000])
@pytest.mark.parametrize("before", ["", "short\n"])
def test_an_absurdly_long_row_is_refused_in_words(cell: str, before: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"text\n{before}{cell}\nshort\n")
    with pytest.raises(
        TableError, match="cannot read .*a.csv: a row is longer than 1 MB, or a quotation mark is never"
    ):
        Table(tmp_path / "a.csv").texts("text")


def test_text_stands_as_in_the_file_and_numbers_as_python_writes_them(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "x,y\n007,1e5\n,2\n")
    assert Table(path).text("x") == ["007", None]
    assert Table(path).text("y") == ["1e5", "2"]
    assert Table(pd.DataFrame({"x": [3, None], "y": [0.5, 2.0]})).text("x") == ["3", None]
    assert Table({"x": [True, False]}).text("x") == ["True", "False"]
    with pytest.raises(TableError, match="has no column 'z'"):
        Table(path).text("z")
