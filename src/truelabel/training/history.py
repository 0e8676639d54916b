"""What happened, epoch by epoch."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from truelabel.atomic import write_atomically
from truelabel.types import ChosenBy


@dataclass
class History:
    """One row of numbers an epoch, and which epoch was best on the validation part.

    Attributes:
        rows: numbers by name.
        best_epoch: counted from 0; None if nothing was held out.
        chosen_by: "accuracy" on noisy labels, ties by lower loss, or the "loss" alone.

    Example:
        >>> history = History()
        >>> for accuracy in (0.5, 0.9, 0.8):
        ...     improved = history.add({"valid_accuracy": accuracy, "valid_loss": 1.0, "test_accuracy": accuracy / 2})
        >>> history.best_epoch, history.best("test_accuracy"), round(history.mean_of_last("test_accuracy", 2), 3)
        (1, 0.45, 0.425)
    """

    rows: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int | None = None
    chosen_by: ChosenBy = "accuracy"

    def add(self, row: Mapping[str, float]) -> bool:
        """Append an epoch; say whether it is the best so far on the noisy validation labels."""
        self.rows.append(dict(row))
        if "valid_accuracy" not in row:
            return False
        if self.best_epoch is None or self._score(row) > self._score(self.rows[self.best_epoch]):
            self.best_epoch = len(self.rows) - 1
            return True
        return False

    @property
    def epochs_since_best(self) -> int:
        """How long nothing got better."""
        return 0 if self.best_epoch is None else len(self.rows) - 1 - self.best_epoch

    def best(self, name: str) -> float:
        """A number of the epoch that is best on the validation part; of the last one if nothing was held out."""
        return self.rows[-1 if self.best_epoch is None else self.best_epoch][name]

    def mean_of_last(self, name: str, epochs: int = 10) -> float:
        """Mean of a number over the last epochs, which needs no validation part (Yao 2021 reports this)."""
        values = [row[name] for row in self.rows[-epochs:]]
        return sum(values) / len(values)

    def after(self, earlier: Sequence[Mapping[str, float]]) -> History:
        """The same with the rows of earlier rounds in front; the best epoch is still that of this one.

        Example:
            >>> joined = History([{"train_loss": 1.0}], best_epoch=0).after([{"train_loss": 3.0}, {"train_loss": 2.0}])
            >>> joined.best_epoch, len(joined.rows)
            (2, 3)
        """
        best = None if self.best_epoch is None else len(earlier) + self.best_epoch
        return History([*map(dict, earlier), *self.rows], best, self.chosen_by)

    def _score(self, row: Mapping[str, float]) -> tuple[float, float]:
        return row["valid_accuracy"] if self.chosen_by == "accuracy" else 0.0, -row["valid_loss"]

    def write_csv(self, path: Path) -> None:
        """All rows, with the epoch in front; the file appears whole or not at all."""
        names = _columns(self.rows)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["epoch", *names])
        for epoch, row in enumerate(self.rows):
            writer.writerow([epoch, *(row.get(name, "") for name in names)])
        write_atomically(path, text.getvalue().encode())


def _columns(rows: Sequence[Mapping[str, float]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))
