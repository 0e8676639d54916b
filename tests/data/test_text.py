"""Texts to features in the manner of scikit-learn, and back from a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import truelabel as tl
from truelabel.data import TextFeatures, embedding
from truelabel.data.text import LONGEST, as_texts

GOOD, BAD = ["good", "fine", "lovely", "great"], ["bad", "dull", "poor", "awful"]


def reviews(count: int, seed: int = 0) -> tuple[list[str], list[int]]:
    rng = np.random.default_rng(seed)
    truth = [n % 2 for n in range(count)]
    texts = [
        f"the {rng.choice(['film', 'plot', 'cast'])} was {rng.choice(GOOD if y else BAD)} and {rng.integers(99)} long"
        for y in truth
    ]
    return texts, truth


@pytest.mark.parametrize("components", [3, 500], ids=["components", "terms"])
def test_what_was_learned_is_restored_to_the_bit(components: int, tmp_path: Path) -> None:
    train, new = reviews(120)[0], [*reviews(30, seed=1)[0], "", "nothing known"]
    features = TextFeatures(components=components).fit(train)
    features.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.json", "text.safetensors"]
    restored = TextFeatures.load(tmp_path)
    expected = features.transform(new)
    assert expected.dtype == np.float32
    assert expected.tobytes() == restored.transform(new).tobytes()
    assert restored.get_params() == features.get_params()
    assert restored.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
    assert len(features.get_feature_names_out()) == expected.shape[1]


def test_only_training_texts_are_learned_from() -> None:
    features = TextFeatures().fit(reviews(120)[0])
    assert features.tfidf_ is not None
    before = features.tfidf_.terms
    features.transform(["unheard of words"] * 9)
    assert features.tfidf_.terms == before
    assert "unheard" not in before


def test_parameters_pass_through_clone_and_set_params() -> None:
    features = TextFeatures(components=7, terms=30, words=1, min_texts=3, random_state=2)
    copy = clone(features)
    assert copy.get_params() == features.get_params()
    assert copy.set_params(components=4).fit(reviews(120)[0]).transform(["good"]).shape == (1, 4)
    model = make_pipeline(TextFeatures(), tl.TrueLabelClassifier()).set_params(textfeatures__words=1)
    assert model.get_params()["textfeatures__words"] == 1


def test_in_front_of_a_classifier() -> None:
    texts, truth = reviews(160)
    said = np.column_stack([truth, truth, 1 - np.array(truth)])  # two who are right, one who is wrong
    classifier = tl.TrueLabelClassifier("majority-vote", standardize=False, epochs=15, device="cpu", random_state=0)
    model = make_pipeline(TextFeatures(), classifier).fit(texts, tl.Annotations.from_matrix(said))
    new, answers = reviews(60, seed=1)
    assert model.score(new, answers) > 0.95
    assert cross_val_score(model, np.array(texts, object), np.array(truth), cv=2).min() > 0.9


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda t: np.array(t, object)[:, None],
        pd.Series,
        pl.Series,
        lambda t: pd.DataFrame({"a": t}),
        lambda t: pl.DataFrame({"a": t}),
    ],
)
def test_texts_may_come_in_any_form(make: Any) -> None:
    assert as_texts(make(["one", "two"])) == ["one", "two"]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_what_is_missing_is_a_text_without_words(missing: Any) -> None:
    assert as_texts(["one", missing]) == ["one", ""]
    features = TextFeatures(words=1, min_texts=1).fit(["one", missing, "two"])
    assert not features.transform([missing]).any()


def test_a_very_long_text_is_cut_with_one_warning() -> None:
    long = "a" * LONGEST
    assert as_texts([long]) == [long]
    with pytest.warns(UserWarning, match="the text in row 2, and 1 more, are longer than 100000 characters") as seen:
        assert as_texts(["b", long + "c", long + "dd"]) == ["b", long, long]
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("one text", "X is a single text: pass a list of texts"),
        ([], "X has no texts"),
        (["a", 3], "X has int in row 2, not text"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "X has 2 columns: choose the one with the texts"),
    ],
)
def test_what_is_no_texts(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextFeatures().fit(X)


@pytest.mark.parametrize("name", ["components", "terms", "words", "min_texts"])
def test_wrong_parameters_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, got 0"):
        TextFeatures().set_params(**{name: 0}).fit(["a text"])


def test_unfitted_and_damaged(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        TextFeatures().transform(["a"])
    with pytest.raises(ValueError, match="cannot read .*text.json .*: train again"):
        TextFeatures.load(tmp_path)
    TextFeatures(components=3).fit(reviews(120)[0]).save(tmp_path)
    note = json.loads((tmp_path / "text.json").read_text())
    for change in ({"terms": note["terms"][:-1]}, {"width": 2}, {"parameters": {"nope": 1}}):
        (tmp_path / "text.json").write_text(json.dumps({**note, **change}))
        with pytest.raises(ValueError, match="cannot read .*: train again"):
            TextFeatures.load(tmp_path)
    (tmp_path / "text.json").write_text(json.dumps(note))
    (tmp_path / "text.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ValueError, match="cannot read .*: train again"):
        TextFeatures.load(tmp_path)


def test_embeddings_are_kept_by_the_name_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    width = 2

    class Stand:
        def __init__(self, model: str, **_: Any) -> None: ...

        def encode(self, texts: list[str], **_: Any) -> Any:
            return np.array([[float(len(text))] * width for text in texts])

    stand = ModuleType("sentence_transformers")
    stand.__dict__.update(SentenceTransformer=Stand, __version__="6.0")
    monkeypatch.setitem(sys.modules, "sentence_transformers", stand)
    embedding._encoder.cache_clear()
    features = TextFeatures(embed="some/model").fit(["a", "bb"])
    assert features.tfidf_ is None
    features.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.json"]
    restored = TextFeatures.load(tmp_path)
    assert np.array_equal(restored.transform(["ccc"]), features.transform(["ccc"]))
    width = 3
    with pytest.raises(ValueError, match="embed='some/model' gives 3 numbers, but fit saw 2"):
        restored.transform(["ccc"])
    embedding._encoder.cache_clear()
