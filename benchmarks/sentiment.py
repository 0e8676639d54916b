"""Texts that 203 people labelled (Rodrigues 2013): accuracy on texts that nobody saw, method by method.

``python benchmarks/sentiment.py FOLDER`` with a folder that holds train.csv (task, label, text), answers.csv (task,
annotator, label) and test.csv (task, label, in_train, text). Prints a table for docs/text.md.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import truelabel as tl
from truelabel.data import TextFeatures
from truelabel.frames import Table

METHODS = ("majority-vote", "dawid-skene", "annotator-confusion")
SEEDS = range(5)
EPOCHS = 20


def read(folder: Path) -> tuple[Any, Any, tl.Annotations, Any, Any]:
    """Training texts, their truth and labels; test texts that are not among them, and their truth."""
    train, test = Table(folder / "train.csv"), Table(folder / "test.csv")
    said = tl.Annotations.from_table(folder / "answers.csv", examples=train.column("task").to_pylist())
    new = test.column("in_train").to_numpy() == 0
    texts = [np.array(table.texts("text").to_pylist(), object) for table in (train, test)]
    truth = [table.column("label").to_numpy() for table in (train, test)]
    return texts[0], truth[0], said, texts[1][new], truth[1][new]


def scores(X: Any, y: Any, X_test: Any, truth: Any, method: str, standardize: bool) -> list[float]:
    return [
        tl.TrueLabelClassifier(method, epochs=EPOCHS, standardize=standardize, random_state=seed)
        .fit(X, y)
        .score(X_test, truth)
        for seed in SEEDS
    ]


def row(name: str, found: Sequence[float]) -> None:
    spread = f" ± {np.std(found, ddof=1):.1%}" if len(found) > 1 else ""
    print(f"| {name} | {np.mean(found):.1%}{spread} |".replace("%", ""), flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    texts, truth, said, new, answers = read(Path(sys.argv[1]))
    print(f"{len(texts)} texts to learn from, {len(new)} to test on, {said}")
    print(f"labels right {(said.label == truth[said.example]).mean():.1%}")
    vote = tl.fusion.majority_vote(said).labels
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2, max_features=20_000).fit(texts)
    linear = LogisticRegression(max_iter=1000)
    row(
        "logistic regression, all terms, vote",
        [linear.fit(words.transform(texts), vote).score(words.transform(new), answers)],
    )
    row(
        "logistic regression, all terms, truth",
        [linear.fit(words.transform(texts), truth).score(words.transform(new), answers)],
    )
    for model in (None, *sys.argv[2:]):
        features = TextFeatures(embed=model).fit(texts)
        X, X_test = features.transform(texts), features.transform(new)
        for standardize in (False, True):
            for method in METHODS:
                row(
                    f"{model or 'TF-IDF'}, {method}, standardize={standardize}",
                    scores(X, said, X_test, answers, method, standardize),
                )
            row(
                f"{model or 'TF-IDF'}, truth, standardize={standardize}",
                scores(X, truth, X_test, answers, "cross-entropy", standardize),
            )


if __name__ == "__main__":
    main()
