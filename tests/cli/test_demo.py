"""``truelabel demo``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from truelabel import Annotations, TrueLabelClassifier
from truelabel.cli.demo import FLIPPERS, HAMMERS, TRUTH

METHODS = ("majority-vote", "cross-entropy")

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def two_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method of the catalogue would take minutes; what the demo does with them is the same."""
    monkeypatch.setattr("truelabel.cli.demo.SHOWN", METHODS)


@pytest.fixture
def results(cli: Cli, tmp_path: Path) -> tuple[dict[str, Any], str, Path]:
    """One repeat with the settings that users get."""
    out = tmp_path / "demo"
    code, printed, errors = cli("demo", "--seeds", 1, "--out", out)
    assert (code, errors) == (0, "")
    return json.loads((out / "results.json").read_text()), printed, out


def test_a_network_is_far_better_than_the_labels_it_learned_from(results: tuple[dict[str, Any], str, Path]) -> None:
    found, printed, out = results
    assert found["epochs"] == 40
    (repeat,) = found["repeats"]
    accuracy = {name: value["test_accuracy"] for name, value in repeat["methods"].items()}
    assert set(accuracy) == {"cross-entropy", "majority-vote", TRUTH}
    assert accuracy["cross-entropy"] > repeat["given"] + 0.2
    assert accuracy["majority-vote"] > repeat["vote"] + 0.2
    assert accuracy[TRUTH] > 0.93
    for value in (repeat["given"], repeat["vote"], *accuracy.values()):
        assert f"{value:.1%}" in printed

    annotations = Annotations.from_table(out / "seed-0" / "labels.csv")
    assert annotations.counts.min() == 1
    assert annotations.counts.max() == 3
    truly, estimated = np.array(repeat["skills"]).T
    assert np.allclose(truly, [*FLIPPERS, *HAMMERS], atol=0.07)
    # Without the truth, the best annotator and the worst are still told apart from the rest.
    assert estimated.argmax() == truly.argmax()
    assert estimated.argmin() == truly.argmin()
    assert roc_auc_score(truly > 0.5, estimated) == 1

    page = out / "seed-0" / METHODS[-1] / "report.html"
    assert printed.rstrip().endswith(str(page))
    assert page.read_text(encoding="utf-8").count('"picture":') > 100

    for name in ("cross-entropy", "majority-vote", "true-labels"):
        again = TrueLabelClassifier.load(out / "seed-0" / name)
        assert again.classes_.tolist() == list(range(10))


def test_repeats_are_averaged_and_the_same_again(cli: Cli, tmp_path: Path) -> None:
    for name in ("a", "b"):
        code, printed, errors = cli("demo", "--seeds", 2, "--epochs", 1, "--out", tmp_path / name)
        assert (code, errors) == (0, "")
    first, second = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("a", "b"))
    assert first == second
    given = [repeat["given"] for repeat in first["repeats"]]
    assert given[0] != given[1]
    assert f"{np.mean(given):.1%} ± {np.std(given, ddof=1):.1%}" in printed
    assert "2 repeats" in printed


@pytest.mark.parametrize(
    ("option", "message"), [("--seeds", "--seeds must be at least 1"), ("--epochs", "epochs must")]
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(option: str, message: str, cli: Cli, tmp_path: Path) -> None:
    code, _, errors = cli("demo", option, 0, "--out", tmp_path / "demo")
    assert code == 1
    assert errors.startswith(f"error: {message}")
    assert errors.count("\n") == 1
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden files count
