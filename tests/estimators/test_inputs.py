"""What may be passed as X and y, and what is said when it may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from truelabel import Annotations, TrueLabelClassifier
from truelabel.estimators.inputs import Scaling, check_inputs, read_labels
from truelabel.methods import get_method

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
Pictures = tuple[NDArray[np.uint8], NDArray[np.int64]]
Settings = dict[str, Any]
NAN = float("nan")

GAPS: list[list[str | None]] = [["a", None], ["b", "a"], ["a", "a"], [None, "b"]]
"""Four examples, two annotators, a gap each."""
CODES = [[0, -1], [1, 0], [0, 0], [-1, 1]]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["no", "yes", "no"], ["no", "yes"]),
        (np.array([True, False, True]), [False, True]),
        (np.array([30, 4, 100]), [4, 30, 100]),
        (np.array([2.0, 1.0, 2.0]), [1, 2]),
        (np.array([-1, 1, -1]), [-1, 1]),
        (np.array([-1, 0, 1], np.int8), [-1, 0, 1]),
        (pd.Series(["b", "a", "b"]), ["a", "b"]),
        (pl.Series([3, 2, 3]), [2, 3]),
        (torch.tensor([1, 0, 1]), [0, 1]),
        ([3, 2, 3], [2, 3]),
    ],
)
def test_one_label_an_example(y: Any, classes: list[Any]) -> None:
    annotations = read_labels(y, 3, "it")
    assert list(annotations.classes) == classes
    assert [annotations.classes[code] for code in annotations.label] == list(y)
    assert annotations.annotators.tolist() == [0]


@pytest.mark.parametrize(
    "y",
    [
        np.array(CODES),
        np.array(CODES, np.float32),
        np.where(np.array(CODES) < 0, NAN, CODES),
        torch.tensor(CODES),
        CODES,
        [[value if value >= 0 else None for value in row] for row in CODES],
        [[value if value >= 0 else NAN for value in row] for row in CODES],
        pd.DataFrame(CODES),
        pd.DataFrame(CODES).replace(-1, NAN),
        pd.DataFrame(CODES).replace(-1, pd.NA).astype("Int64"),
        pl.DataFrame(np.array(CODES), schema=["ann", "bob"], orient="row"),
        pa.table({"ann": [0, 1, 0, None], "bob": [None, 0, 0, 1]}),
        Annotations.from_matrix(CODES),
    ],
    ids=lambda y: f"{type(y).__module__.partition('.')[0]} {type(y).__name__} {getattr(y, 'dtype', '')}",
)
def test_a_matrix_with_gaps_in_every_form(y: Any) -> None:
    annotations = read_labels(y, 4, "it")
    assert annotations.matrix().tolist() == CODES
    assert annotations.classes == (0, 1)


@pytest.mark.parametrize(
    "y",
    [
        GAPS,
        np.array(GAPS, object),
        [[value or NAN for value in row] for row in GAPS],
        pd.DataFrame(GAPS),
        pl.DataFrame(GAPS, schema=["ann", "bob"], orient="row"),
    ],
    ids=["lists with None", "objects", "lists with NaN", "pandas", "polars"],
)
def test_a_matrix_of_names_with_gaps_in_every_form(y: Any) -> None:
    annotations = read_labels(y, 4, "it")
    assert annotations.classes == ("a", "b")
    assert annotations.matrix().tolist() == CODES


def test_the_columns_of_a_data_frame_are_the_annotators(blobs: Blobs, quick: Settings) -> None:
    points, truth = blobs
    said = pd.DataFrame({"ann": truth, "bob": (truth + 1) % 3})
    classifier = TrueLabelClassifier(**quick).fit(points, said)
    assert classifier.annotators_.tolist() == ["ann", "bob"]
    assert classifier.label_quality(points, said, folds=0).shape == (600,)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_a_single_column_is_a_vector_with_a_warning(form: Callable[[Any], Any], blobs: Blobs, quick: Settings) -> None:
    points, truth = blobs
    with pytest.warns(DataConversionWarning, match="column-vector y") as caught:
        column = TrueLabelClassifier(**quick).fit(points, form(truth[:, None]))
    assert caught[0].filename == __file__, "it points at the line that passed the column"
    flat = TrueLabelClassifier(**quick).fit(points, truth)
    assert np.array_equal(column.predict_proba(points), flat.predict_proba(points))


@pytest.mark.parametrize(
    "names",
    [np.array(["low", "mid", "top"]), np.array([-1, 0, 7]), np.array(["ä", "b", "ß" * 40])],
    ids=["text", "whole", "umlauts"],
)
def test_answers_are_in_the_words_of_the_labels(names: NDArray[Any], blobs: Blobs, thorough: Settings) -> None:
    points, truth = blobs
    classifier = TrueLabelClassifier(**thorough).fit(points, names[truth])
    assert classifier.classes_.tolist() == sorted(names.tolist())
    answer = classifier.predict(points)
    assert answer.dtype.kind == names.dtype.kind
    assert (answer == names[truth]).mean() > 0.95


def test_classes_that_nobody_named_are_kept(blobs: Blobs, quick: Settings) -> None:
    points, truth = blobs
    annotations = Annotations.from_labels(truth, classes=[2, 1, 0, 9])
    classifier = TrueLabelClassifier(**quick).fit(points, annotations)
    assert classifier.classes_.tolist() == [2, 1, 0, 9]
    assert classifier.predict_proba(points).shape == (300, 4)


def test_a_table_of_names_remembers_them(blobs: Blobs, quick: Settings) -> None:
    frame = pd.DataFrame(blobs[0], columns=["east", "north"])
    classifier = TrueLabelClassifier(**quick).fit(frame, blobs[1])
    assert classifier.feature_names_in_.tolist() == ["east", "north"]
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame[["north", "east"]])


def test_what_was_learned_of_a_table_is_forgotten_with_images(
    blobs: Blobs, pictures: Pictures, quick: Settings
) -> None:
    classifier = TrueLabelClassifier(**quick).fit(pd.DataFrame(blobs[0], columns=["a", "b"]), blobs[1])
    classifier.fit(*pictures)
    assert not hasattr(classifier, "feature_names_in_")
    assert getattr(classifier, "n_features_in_", None) != 2


NO_TABLE = np.where(np.arange(80).reshape(40, 2) == 7, NAN, 1.0)
NO_IMAGES = np.where(np.arange(40 * 64).reshape(40, 1, 8, 8) == 640, np.inf, 1.0)
POINTS = np.arange(80.0).reshape(40, 2)
HALVES = np.arange(40) % 2
BOTH = np.column_stack([HALVES, HALVES])
ROWS = np.arange(40)[:, None]


@pytest.mark.parametrize(
    ("X", "y", "parameters", "message"),
    [
        (NO_TABLE, HALVES, {}, "NaN"),
        (NO_IMAGES, HALVES, {}, "X contains NaN or infinity, first in example 10: remove or fill it"),
        (POINTS[:0], HALVES[:0], {}, "0 sample"),
        (NO_IMAGES[:0], HALVES[:0], {}, "X has no examples"),
        (POINTS, HALVES[:30], {}, "inconsistent numbers of samples: X has 40, y has 30"),
        (POINTS, None, {}, "requires y to be passed"),
        (POINTS, np.zeros(40, int), {}, "all labels are of one class, 0"),
        (POINTS, np.where(ROWS == 3, -1, BOTH), {}, r"example 3 \(row 4\) is without labels"),
        (POINTS, np.where([True, False], BOTH, -1), {}, r"annotator 1 \(row 2\) is without labels"),
        (POINTS, np.full((40, 2), -1), {}, "there are no labels: every entry is missing"),
        (POINTS, np.where(HALVES > 0, NAN, 1.0), {}, "every example needs a label"),
        (POINTS, POINTS[:, 0] / 3, {}, "continuous"),
        (POINTS, BOTH[:, :, None], {}, r"y must be \(N,\), \(N, R\) or Annotations, got shape \(40, 2, 1\)"),
        (POINTS, Annotations.from_masks(np.arange(40 * 18).reshape(40, 2, 3, 3) % 2), {}, "mask"),
        (POINTS, HALVES, {"method": "nope"}, "there is no method 'nope': choose from "),
        (POINTS, HALVES, {"network": "nope"}, "unknown network 'nope': choose from auto"),
        (POINTS, HALVES, {"network": "lenet-5"}, "takes .* images, got 2 flat features"),
        (POINTS, HALVES, {"network": torch.nn.Linear(3, 4)}, r"Linear cannot take inputs of shape \(1, 2\)"),
        (POINTS, HALVES, {"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        (POINTS, HALVES, {"batch_size": 2.5}, "batch_size must be a whole number"),
        (POINTS, HALVES, {"optimizer": "nope"}, "optimizer must be one of adam, adamw, sgd, got 'nope'"),
        (POINTS, HALVES, {"schedule": "step"}, "schedule 'step' needs step_epochs"),
        (POINTS, HALVES, {"validation": 1.0}, r"validation must lie in \[0, 1\), got 1.0"),
        (POINTS, HALVES, {"device": "tpu"}, "device must be one of auto, cpu"),
        (POINTS, HALVES, {"processes": 0}, "processes must be at least 1, got 0"),
    ],
)
def test_bad_input_is_told_in_one_line(X: Any, y: Any, parameters: Settings, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        TrueLabelClassifier(**parameters).fit(X, y)
    assert "\n" not in str(caught.value)


def test_an_unknown_option_is_told_in_one_line() -> None:
    with pytest.raises(ValueError, match="majority-vote has no option 'nope': it has base, soft, ties"):
        get_method("majority-vote").with_options(nope=1)


def test_new_examples_must_be_like_those_of_fit(blobs: Blobs, pictures: Pictures, quick: Settings) -> None:
    table = TrueLabelClassifier(**quick).fit(*blobs)
    with pytest.raises(ValueError, match=r"X has 1 features, but TrueLabelClassifier is expecting 2"):
        table.predict(blobs[0][:, :1])
    with pytest.raises(ValueError, match=r"X has images of shape \(1, 8, 8\), but fit saw \(2,\)"):
        table.predict(pictures[0])
    images = TrueLabelClassifier(**quick).fit(*pictures)
    with pytest.raises(ValueError, match=r"X has images of shape \(1, 8, 7\), but fit saw \(1, 8, 8\)"):
        images.predict(pictures[0][..., :7])
    with pytest.raises(ValueError, match=r"X has examples of shape \(2,\), but fit saw \(1, 8, 8\)"):
        images.predict(blobs[0])


def test_checked_inputs_are_doubles_or_bytes_or_floats() -> None:
    for X, kind in (
        (np.ones((2, 3), np.uint8), np.float64),
        ([[1, 2]], np.float64),
        (np.ones((2, 1, 4, 4), np.uint8), np.uint8),
        (np.ones((2, 1, 4, 4)), np.float32),
        (torch.ones(2, 1, 4, 4, dtype=torch.float64), np.float32),
        (torch.ones(2, 1, 4, 4, dtype=torch.uint8), np.uint8),
    ):
        checked = check_inputs(TrueLabelClassifier(), X, reset=True)
        assert checked.dtype == kind
        assert isinstance(checked, np.ndarray)


def test_scaling_gives_mean_zero_and_variance_one_and_is_kept() -> None:
    inputs = np.random.default_rng(0).normal([3.0, -100.0], [0.1, 50.0], (200, 2))
    scaling = Scaling.of(inputs, True)
    scaled = scaling(inputs)
    assert scaled.dtype == np.float32
    assert np.allclose(scaled.mean(0), 0, atol=1e-5)
    assert np.allclose(scaled.std(0), 1, atol=1e-5)
    other = np.array([[3.5, 20.0]])
    assert np.allclose(scaling(other), (other - inputs.mean(0)) / inputs.std(0), rtol=1e-5)
    assert np.array_equal(Scaling.of(inputs, False)(inputs), inputs.astype(np.float32))


@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, 1e8 + 0.1])
def test_a_constant_feature_is_not_blown_up(value: float) -> None:
    # The mean of equal numbers is off by a rounding error, so their deviation is not always zero.
    for rows in (3, 30, 333):
        scaling = Scaling.of(np.full((rows, 1), value), True)
        assert scaling.scale.tolist() == [1.0]
        assert abs(scaling(np.array([[value + 1]])).item() - 1) < 1e-6


def test_images_pass_unscaled(pictures: Pictures) -> None:
    images = pictures[0]
    assert Scaling.of(images, True)(images) is images
    assert np.array_equal(Scaling.of(images / 255, True)(images / 255), (images / 255).astype(np.float32))


def test_a_long_table_is_not_taken_for_a_matrix() -> None:
    import pandas as pd

    rows = pd.DataFrame({"task": range(6), "worker": list("abcabc"), "label": [0, 1] * 3})
    with pytest.raises(ValueError, match=r"^y looks like a table with one row a label \(task, worker, label\)"):
        read_labels(rows, 6, "TrueLabelClassifier")
    matrix = pd.DataFrame({"ann": [0, 1, 0], "bob": [1, 1, 0]})
    assert read_labels(matrix, 3, "TrueLabelClassifier").annotators.tolist() == ["ann", "bob"]
