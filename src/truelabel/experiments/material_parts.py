"""What an experiment works on, and how to take the first examples of it."""

from __future__ import annotations

from dataclasses import dataclass

from truelabel.annotations import Annotations
from truelabel.checks import check_whole
from truelabel.data import Dataset


@dataclass(frozen=True)
class Material:
    """What an experiment works on: data with their true labels, and what people really said about them.

    Attributes:
        train: labels are the truth: ``(N,)``, or masks ``(N, *space)`` in segmentation.
        test: likewise, with the same classes.
        given: real annotators' labels or masks of the N training examples, in their order; None where noise is
            simulated.
        test_given: real readers' masks of the test examples, where a score compares with all of them; else None.

    Raises:
        ValueError: if the parts do not fit together.
    """

    train: Dataset
    test: Dataset
    given: Annotations | None = None
    test_given: Annotations | None = None

    def __post_init__(self) -> None:
        if not len(self.train) or not len(self.test):
            what = "train" if not len(self.train) else "test"
            raise ValueError(f"{self.train.name} has no examples to {what} on: add some")
        if self.train.classes != self.test.classes or self.train.inputs.shape[1:] != self.test.inputs.shape[1:]:
            raise ValueError(
                f"train and test of {self.train.name} do not fit: {self.train.inputs.shape} with "
                f"{len(self.train.classes)} classes, {self.test.inputs.shape} with {len(self.test.classes)}"
            )
        for data, said in ((self.train, self.given), (self.test, self.test_given)):
            if said is not None and (len(said.examples) != len(data) or len(said.classes) != len(data.classes)):
                raise ValueError(f"{said} does not fit {data.name}: {len(data)} examples, {len(data.classes)} classes")


def first(data: Dataset, count: int | None) -> Dataset:
    """The first ``count`` examples, or all where there are fewer or None is asked for."""
    return data if count is None else data.take(slice(count))


def check_counts(train: int | None, test: int | None) -> None:
    """Refuse what is no number of examples."""
    for name, count in (("train", train), ("test", test)):
        if count is not None:
            check_whole(name, count)
