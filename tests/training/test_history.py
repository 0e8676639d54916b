from __future__ import annotations

import csv
from pathlib import Path

import pytest

from truelabel.training import History


def rows(*pairs: tuple[float, float]) -> History:
    history = History()
    for accuracy, loss in pairs:
        history.add({"valid_accuracy": accuracy, "valid_loss": loss, "test": accuracy * 10})
    return history


def test_best_is_highest_accuracy_then_lowest_loss_then_earliest() -> None:
    history = rows((0.5, 1.0), (0.7, 0.9), (0.7, 0.8), (0.7, 0.8), (0.6, 0.1))
    assert history.best_epoch == 2
    assert history.epochs_since_best == 2
    assert history.best("test") == 7


def test_without_validation_the_last_epoch_counts() -> None:
    history = History()
    assert not history.add({"test": 1.0})
    assert not history.add({"test": 2.0})
    assert history.best("test") == 2
    assert history.epochs_since_best == 0


def test_mean_of_the_last_ten() -> None:
    history = rows(*[(float(i), 0.0) for i in range(15)])
    assert history.mean_of_last("test") == pytest.approx(10 * sum(range(5, 15)) / 10)
    assert rows((1.0, 0.0), (3.0, 0.0)).mean_of_last("test") == 20


def test_csv_has_every_column_and_exact_numbers(tmp_path: Path) -> None:
    history = History()
    history.add({"a": 0.1 + 0.2})
    history.add({"a": 1.0, "late": 2.0})
    history.write_csv(tmp_path / "metrics.csv")
    with (tmp_path / "metrics.csv").open() as file:
        read = list(csv.DictReader(file))
    assert [row["epoch"] for row in read] == ["0", "1"]
    assert float(read[0]["a"]) == 0.1 + 0.2
    assert (read[0]["late"], read[1]["late"]) == ("", "2.0")


def test_the_best_epoch_may_be_that_of_the_lowest_loss() -> None:
    rows = [{"valid_accuracy": a, "valid_loss": b} for a, b in ((0.9, 1.0), (0.8, 0.5), (0.95, 0.7))]
    by_accuracy, by_loss = History(), History(chosen_by="loss")
    assert [by_accuracy.add(row) for row in rows] == [True, False, True]
    assert [by_loss.add(row) for row in rows] == [True, True, False]
    assert (by_accuracy.best_epoch, by_loss.best_epoch) == (2, 1)
