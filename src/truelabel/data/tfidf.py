"""Texts to numbers by the words in them, learned from texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FIT_TEXTS = 100_000
"""Texts that words are counted in; of more, so many evenly spaced ones. Bounds the memory that pairs of words take."""
CHUNK = 10_000
"""Texts that are turned into numbers at once."""


@dataclass(frozen=True, eq=False)
class Tfidf:
    r"""TF-IDF of words and pairs of words, then latent semantic analysis (Deerwester 1990).

    :math:`x_w = (1 + \log n_w)(1 + \log \frac{1 + N}{1 + d_w})`, brought to length one, where :math:`n_w` is how often
    the term :math:`w` stands in the text and :math:`d_w` in how many of the N training texts. The features are
    :math:`x V / s`, with the leading right singular vectors V of the training matrix. One number s for all brings the
    mean square of the training features to one. To standardise each feature instead would blow up the last components,
    which are noise; with as many components as texts nothing is learned then (docs/text.md has the figures).

    Attributes:
        terms: the V words and pairs of words, sorted.
        idf: ``(V,)`` float32, the second factor.
        components: ``(C, V)`` float32; None where so few terms are that each is a feature.
        scale: s.

    Example:
        >>> tfidf = Tfidf.learn(["good film", "bad film"], components=9, terms=100, words=1, least=1)
        >>> tfidf.terms, tfidf.width
        (('bad', 'film', 'good'), 3)
        >>> tfidf(["film film", "unknown"]).round(3)
        array([[0.   , 1.732, 0.   ],
               [0.   , 0.   , 0.   ]], dtype=float32)
    """

    terms: tuple[str, ...]
    idf: npt.NDArray[np.float32]
    components: npt.NDArray[np.float32] | None
    scale: float = 1.0

    @classmethod
    def learn(
        cls, texts: Sequence[str], *, components: int, terms: int, words: int, least: int | None, seed: int = 0
    ) -> Tfidf:
        """Learn terms, their weights and the components from training texts.

        Args:
            texts: the N training texts.
            components: C, numbers a text; no more than half the texts.
            terms: the most terms, those that occur most often.
            words: the longest term, in words.
            least: texts that a term must stand in; None for :func:`least_texts`.
            seed: of the randomised decomposition.
        """
        from sklearn.decomposition import TruncatedSVD

        chosen = texts
        if len(texts) > FIT_TEXTS:
            chosen = [texts[row] for row in np.linspace(0, len(texts) - 1, FIT_TEXTS).astype(int)]
        vectoriser = _vectoriser(
            ngram_range=(1, words), min_df=least_texts(len(chosen)) if least is None else least, max_features=terms
        )
        try:
            counted = vectoriser.fit_transform(chosen)
        except ValueError as error:
            raise ValueError(
                f"no word of two letters or more stands in enough of the {len(chosen)} texts: is it the right column?"
            ) from error
        found, idf = tuple(vectoriser.get_feature_names_out().tolist()), vectoriser.idf_.astype(np.float32)
        if len(found) <= components:
            return cls(found, idf, None, _scale(counted.toarray()))
        decomposition = TruncatedSVD(max(1, min(components, len(chosen) // 2)), random_state=seed)
        features = decomposition.fit_transform(counted)
        return cls(found, idf, decomposition.components_.astype(np.float32), _scale(features))

    @property
    def width(self) -> int:
        """Numbers a text."""
        return len(self.terms) if self.components is None else len(self.components)

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """``(N, C)``; a text with no known term becomes zeros."""
        longest = max(term.count(" ") for term in self.terms) + 1
        vectoriser = _vectoriser(
            ngram_range=(1, longest), vocabulary={term: position for position, term in enumerate(self.terms)}
        )
        vectoriser.idf_ = self.idf
        features = np.empty((len(texts), self.width), np.float32)
        for start in range(0, len(texts), CHUNK):
            counted = vectoriser.transform(texts[start : start + CHUNK])
            dense = counted.toarray() if self.components is None else counted @ self.components.T
            features[start : start + CHUNK] = dense / np.float32(self.scale)
        return features


def least_texts(count: int) -> int:
    """In how many of ``count`` texts a term must stand: 1 below a hundred, 2, and from 20,000 on one in 10,000.

    Example:
        >>> least_texts(50), least_texts(5_000), least_texts(100_000)
        (1, 2, 10)
    """
    return 1 if count < 100 else max(2, count // 10_000)


def _scale(features: npt.NDArray[Any]) -> float:
    """The root of the mean square; 1 where all is zero."""
    return float(np.sqrt(np.mean(np.square(features, dtype=np.float64)))) or 1.0


def _vectoriser(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **options)
