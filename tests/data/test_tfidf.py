"""TF-IDF and its decomposition, against the same formula in plain numpy."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel.data import tfidf as module
from truelabel.data.tfidf import Tfidf, least_texts

WORDS = [
    "bad",
    "film",
    "good",
    "dull",
    "plot",
    "fine",
    "cast",
    "story",
    "long",
    "short",
    "actor",
    "score",
    "scene",
    "line",
    "end",
    "start",
    "hero",
    "joke",
    "tear",
    "laugh",
]


def texts(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 12))) for _ in range(count)]


def terms_of(text: str) -> list[str]:
    words = re.findall(r"\b\w\w+\b", text.lower())
    return words + [f"{a} {b}" for a, b in itertools.pairwise(words)]


def by_hand(train: list[str], new: list[str], terms: tuple[str, ...]) -> NDArray[np.float64]:
    """The formula of the docstring, text by text."""
    documents = Counter(term for text in train for term in set(terms_of(text)))
    rows = np.zeros((len(new), len(terms)))
    for n, text in enumerate(new):
        for term, count in Counter(terms_of(text)).items():
            if term in terms:
                idf = 1 + math.log((1 + len(train)) / (1 + documents[term]))
                rows[n, terms.index(term)] = (1 + math.log(count)) * idf
        length = np.linalg.norm(rows[n])
        rows[n] /= length or 1
    return rows


def test_each_term_is_a_feature_where_there_are_few() -> None:
    train, new = texts(20), [*texts(5, seed=1), "unknown", "", "Good GOOD film!"]
    learned = Tfidf.learn(train, components=1000, terms=1000, words=2, least=1)
    assert learned.components is None
    assert learned.terms == tuple(sorted({term for text in train for term in terms_of(text)}))
    expected = by_hand(train, new, learned.terms)
    scale = np.sqrt(np.mean(by_hand(train, train, learned.terms) ** 2))
    np.testing.assert_allclose(learned(new), expected / scale, rtol=1e-5, atol=1e-6)
    assert not learned(["unknown", ""]).any()


def test_the_components_are_the_leading_singular_vectors() -> None:
    train, new = texts(60), texts(7, seed=1)
    learned = Tfidf.learn(train, components=5, terms=1000, words=2, least=2)
    assert learned.components is not None
    assert learned.components.shape == (5, len(learned.terms))
    matrix = by_hand(train, train, learned.terms)
    _, _, right = np.linalg.svd(matrix, full_matrices=False)
    # The randomised decomposition finds nearly the same subspace.
    overlap = np.linalg.svd(learned.components.astype(float) @ right[:5].T, compute_uv=False)
    assert overlap.min() > 0.9
    projected = matrix @ learned.components.T
    scale = np.sqrt((projected**2).mean())
    expected = by_hand(train, new, learned.terms) @ learned.components.T / scale
    np.testing.assert_allclose(learned(new), expected, rtol=1e-4, atol=1e-4)
    assert np.mean(learned(train) ** 2) == pytest.approx(1, rel=1e-4)


def test_never_more_components_than_half_the_texts() -> None:
    assert Tfidf.learn(texts(12), components=20, terms=1000, words=2, least=1).width == 6
    assert Tfidf.learn(texts(12), components=4, terms=1000, words=2, least=1).width == 4


def test_the_most_frequent_terms_are_kept() -> None:
    train = ["film film film", "film plot", "plot rare"]
    assert Tfidf.learn(train, components=9, terms=2, words=1, least=1).terms == ("film", "plot")
    assert Tfidf.learn(train, components=9, terms=9, words=1, least=2).terms == ("film", "plot")


def test_chunks_and_batches_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = Tfidf.learn(texts(60), components=5, terms=1000, words=2, least=1)
    new = texts(23, seed=1)
    whole = learned(new)
    assert np.array_equal(learned(new[:5]), whole[:5])
    monkeypatch.setattr(module, "CHUNK", 4)
    assert np.array_equal(learned(new), whole)
    assert np.array_equal(Tfidf.learn(texts(60), components=5, terms=1000, words=2, least=1)(new), whole)


def test_of_very_many_texts_some_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIT_TEXTS", 3)
    train = ["one", "two", "three", "four", "five"]
    assert Tfidf.learn(train, components=9, terms=9, words=1, least=1).terms == ("five", "one", "three")


def test_how_often_a_term_must_occur_grows_with_the_data() -> None:
    assert [least_texts(n) for n in (1, 99, 100, 29_999, 30_000, 100_000)] == [1, 1, 2, 2, 3, 10]


@pytest.mark.parametrize("train", [["", " "], ["a b c"], ["one", "two"]])
def test_texts_without_words_are_refused(train: list[str]) -> None:
    with pytest.raises(ValueError, match="no word of two letters or more stands in enough of the . texts"):
        Tfidf.learn(train, components=5, terms=10, words=1, least=2)
