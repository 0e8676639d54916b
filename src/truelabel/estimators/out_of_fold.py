"""What networks say of examples that they have not learned from, by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations
from truelabel.quality import assign_folds

Probabilities = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What was found of examples while they were held out.

    Attributes:
        fold: ``(N,)``, the fold in which each example was held out.
        probs: ``(N, K)``, p(y|x) by the network that was trained without it.
        confusion: ``(F, R, K, K)``, the annotators' matrices of each fold.
    """

    fold: NDArray[np.int64]
    probs: Probabilities
    confusion: Probabilities

    @property
    def folds(self) -> int:
        """F."""
        return len(self.confusion)

    def at(self, places: NDArray[np.int64], probs: Probabilities, confusion: Probabilities) -> OutOfFold:
        """The examples at ``places (n,)``; where one is -1, what a model says that has seen none of these.

        Args:
            places: of each example among those that were held out.
            probs: ``(n, K)``, by the model.
            confusion: ``(R, K, K)``, by the model.
        """
        seen = places >= 0
        return OutOfFold(
            np.where(seen, self.fold[places], self.folds),
            np.where(seen[:, None], self.probs[places], probs),
            np.concatenate([self.confusion, confusion[None]]),
        )


def trained_folds(
    estimator: Any, inputs: NDArray[Any], annotations: Annotations, folds: int
) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    """Estimators with the same settings, each trained without the examples that come with it.

    Annotators and classes stay all known. With a folder, the runs are kept in ``folder/folds/1`` and so on, and what
    had finished, or was stopped, is gone on with.

    Args:
        estimator: a fitted one; options that it searched for are not searched again.
        inputs: ``(N, ...)``, those of its fit.
        annotations: those of its fit.
        folds: F.
    """
    seed = estimator.seen_.seed
    fold = assign_folds(annotations, folds, seed)
    settings = estimator.get_params(deep=False)
    settings |= {"method": estimator.method_, "search": None, "trials": None, "random_state": seed}
    for number in range(int(fold.max()) + 1):
        folder = None if estimator.folder is None else Path(estimator.folder) / "folds" / str(number + 1)
        own = type(estimator)(**settings | {"folder": folder})
        kept = np.flatnonzero(fold != number)
        with warnings.catch_warnings():
            # What is to be said of the labels as a whole, the fit to all of them has said.
            warnings.simplefilter("ignore", UserWarning)
            own._learn_from(inputs[kept], annotations.take(kept))
        yield own, np.flatnonzero(fold == number)
