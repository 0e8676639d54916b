"""The table of label quality."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.report.label_rows import read_label_rows, read_text_columns
from truelabel.training import RunFolderError

HEAD = "example,annotator,label,probability_right"


def test_names_stay_what_they_are(tmp_path: Path) -> None:
    file = tmp_path / "label_quality.csv"
    file.write_text(f'{HEAD},suggested,suggested_probability\n007,NA,"a, ""b""\nc",0.25,true,0.5\n8,,1.0,,1.0,\n')
    rows = read_label_rows(file)
    assert rows.example.tolist() == ["007", "8"]
    assert rows.annotator.tolist() == ["NA", ""]
    assert rows.label.tolist() == ['a, "b"\nc', "1.0"]
    assert rows.suggested is not None
    assert rows.suggested.tolist() == ["true", "1.0"]
    assert rows.suggested_probability is not None
    assert np.isnan(rows.probability).tolist() == [False, True]
    assert np.isnan(rows.suggested_probability).tolist() == [False, True]
    assert rows.doubted.tolist() == [True, False]
    assert (rows.region, rows.places) == (None, {})


def test_without_suggestions_the_improbable_is_doubted(tmp_path: Path) -> None:
    file = tmp_path / "label_quality.csv"
    file.write_text(f"{HEAD}\n1,a,x,0.49\n2,a,x,0.5\n")
    rows = read_label_rows(file)
    assert rows.suggested is None
    assert rows.doubted.tolist() == [True, False]
    assert len(rows) == 2


def test_regions_have_places(masks_trained: Path) -> None:
    rows = read_label_rows(masks_trained / "label_quality.csv")
    assert rows.region is not None
    assert rows.region.tolist() == ["1", "2"]
    assert {name: values.tolist() for name, values in rows.places.items()}["bottom"] == [12, 11]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read"),
        ("example,label\n1,a\n", "has no column 'annotator'"),
        (f"{HEAD}\n1,a,x,much\n", "column 'probability_right': could not convert"),
        (f"{HEAD}\n1,a\n", "cannot read"),
    ],
)
def test_damage_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "label_quality.csv"
    file.write_text(text)
    with pytest.raises(RunFolderError, match=message) as raised:
        read_label_rows(file)
    assert "\n" not in str(raised.value)


def test_a_table_of_no_rows_has_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("example\n")
    assert read_text_columns(tmp_path / "a.csv") == {"example": []}
