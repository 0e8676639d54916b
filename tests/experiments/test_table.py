from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.table import Cell, Published, Table, printed

RUN = Calculation(calculation="attenuated-loss")


@pytest.mark.parametrize(
    ("text", "mean", "std"),
    [
        ("99.27±0.07", 99.27, 0.07),
        ("99.27 ± 0.07", 99.27, 0.07),
        ("**91.58±0.31**", 91.58, 0.31),
        ("**91.58**±0.31", 91.58, 0.31),
        ("**91.58**", 91.58, None),
        ("32.129±2.23", 32.129, 2.23),
        ("71", 71.0, None),
        ("-0.5", -0.5, None),
        ("−0.5±0.1", -0.5, 0.1),
        ("88.1±0.2*", 88.1, 0.2),
        ("88.1±0.2†", 88.1, 0.2),
        ("88.1‡", 88.1, None),
    ],
)
def test_a_cell_is_read_as_number_and_spread_and_kept_as_printed(text: str, mean: float, std: float | None) -> None:
    assert printed(f"CE | {text}", ["a"]) == {("CE", "a", "accuracy"): Published(mean, std, text)}


@pytest.mark.parametrize("text", ["0.1, 4", "< 0.001", "diverges", "1.2±", "99.27 (0.07)"])
def test_words_stay_words(text: str) -> None:
    assert printed(f"CE | {text}", ["a"]) == {("CE", "a", "accuracy"): Published(None, None, text)}


@pytest.mark.parametrize("nothing", ["", "n/a", "–", "-"])
def test_a_cell_without_a_number_is_left_out(nothing: str) -> None:
    assert set(printed(f"CE | {nothing} | 5", ["a", "b"])) == {("CE", "b", "accuracy")}


@given(
    st.lists(
        st.tuples(st.decimals(-999, 999, places=2), st.none() | st.decimals(0, 99, places=2)), min_size=1, max_size=6
    )
)
def test_any_row_of_numbers_is_read_back(numbers: list[tuple[object, object]]) -> None:
    columns = [f"column {n}" for n in range(len(numbers))]
    cells = [f"{mean}" if std is None else f"{mean}±{std}" for mean, std in numbers]
    read = printed(" row with spaces |" + "|".join(cells), columns)
    assert [(value.mean, value.std) for value in read.values()] == [
        (float(str(mean)), None if std is None else float(str(std))) for mean, std in numbers
    ]
    assert list(read) == [("row with spaces", column, "accuracy") for column in columns]


def test_several_metrics_stand_side_by_side_in_each_column() -> None:
    read = printed("A | 1 | 2 | 3 | 4\nB | 5 | 6 | n/a | 8", ["x", "y"], ["dice", "iou"], block="set: ")
    assert {place: value.mean for place, value in read.items()} == {
        ("set: A", "x", "dice"): 1,
        ("set: A", "x", "iou"): 2,
        ("set: A", "y", "dice"): 3,
        ("set: A", "y", "iou"): 4,
        ("set: B", "x", "dice"): 5,
        ("set: B", "x", "iou"): 6,
        ("set: B", "y", "iou"): 8,
    }


@pytest.mark.parametrize("line", ["CE | 1", "CE | 1 | 2 | 3", "CE"])
def test_a_row_with_too_few_or_too_many_numbers_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="numbers for 2 places"):
        printed(line, ["a", "b"])


def test_rows_and_columns_are_in_the_order_of_the_cells() -> None:
    cells = (Cell("b", "2", RUN), Cell("b", "1", RUN), Cell("a", "2", RUN))
    table = Table(name="t", title="", cells=cells)
    assert (table.rows, table.columns) == (("b", "a"), ("2", "1"))


def test_a_table_without_cells_or_with_two_in_one_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no cells"):
        Table(name="t", title="", cells=())
    with pytest.raises(ValueError, match="two cells in row 'a', column '2'"):
        Table(name="t", title="", cells=(Cell("a", "1", RUN), Cell("a", "2", RUN), Cell("a", "2", RUN)))


@pytest.mark.parametrize(
    ("place", "match"),
    [
        (("a", "1", "dice"), "no metric 'dice'"),
        (("b", "1", "accuracy"), "no place 'b'"),
        (("a", "2", "accuracy"), "no place 'a', '2'"),
    ],
)
def test_a_number_for_what_the_table_does_not_have_is_refused(place: tuple[str, str, str], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Table(name="t", title="", cells=(Cell("a", "1", RUN),), published={place: Published(1.0)})


def test_a_number_without_a_run_is_allowed_where_row_and_column_exist() -> None:
    """A paper may print a number for a place that cannot be run."""
    cells = (Cell("a", "1", RUN), Cell("b", "2", RUN))
    table = Table(name="t", title="", cells=cells, published={("a", "2", "accuracy"): Published(1.0)})
    assert table.rows == ("a", "b")


def test_seeds_are_at_least_one() -> None:
    with pytest.raises(ValueError, match="seeds"):
        Table(name="t", title="", cells=(Cell("a", "1", RUN),), seeds=0)
