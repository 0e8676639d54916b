from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import ConfusedAnnotators, Corruption, hammer_spammers, symmetric


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def eyes(annotators: int, classes: int = 3) -> Tensor:
    return torch.eye(classes).expand(annotators, classes, classes)


def test_it_keeps_its_contract() -> None:
    assert isinstance(ConfusedAnnotators(eyes(2)), Corruption)
    assert not isinstance(symmetric, Corruption), "a transition alone simulates nobody"


def test_who_never_errs_says_the_truth() -> None:
    labels = torch.tensor([2, 0, 1, 1])
    annotations = ConfusedAnnotators(eyes(2))(labels, None, generator())
    assert annotations.matrix().tolist() == [
        [2, 2],
        [0, 0],
        [1, 1],
        [1, 1],
    ]


def test_rows_are_true_and_columns_observed() -> None:
    # Annotator 0 says the next class, annotator 1 always says 0.
    confusion = torch.stack([torch.eye(3).roll(1, -1), torch.tensor([[1.0, 0.0, 0.0]]).expand(3, 3)])
    annotations = ConfusedAnnotators(confusion)(torch.tensor([0, 1, 2]), None, generator())
    assert annotations.matrix().tolist() == [[1, 0], [2, 0], [0, 0]]


def test_one_matrix_is_one_annotator() -> None:
    corruption = ConfusedAnnotators(symmetric(4, 0.5))
    assert corruption.confusion.shape == (1, 4, 4)
    assert corruption(torch.zeros(5, dtype=torch.long), None, generator()).matrix().shape == (5, 1)


def test_what_has_no_probability_is_never_said() -> None:
    confusion = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]]).expand(5, 5)
    annotations = ConfusedAnnotators(confusion)(torch.randint(5, (20_000,)), None, generator())
    assert set(annotations.label.tolist()) == {1, 3}


def test_annotators_err_independently() -> None:
    n = 20_000
    confusion = symmetric(2, 0.5, kind="flip").expand(2, 2, 2)
    first, second = ConfusedAnnotators(confusion)(torch.zeros(n, dtype=torch.long), None, generator()).matrix().T
    assert abs((first == second).mean() - 0.5) < 4 * np.sqrt(0.25 / n)


def test_by_default_all_annotators_label_everything() -> None:
    annotations = ConfusedAnnotators(eyes(4))(torch.zeros(10, dtype=torch.long), None, generator())
    assert annotations.counts.tolist() == [4] * 10
    assert annotations.workload.tolist() == [10] * 4


def some(low: int, high: int, annotators: int = 5, n: int = 12_000) -> Annotations:
    corruption = ConfusedAnnotators(eyes(annotators), labels_per_example=(low, high))
    return corruption(torch.randint(3, (n,)), None, generator(1))


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 4), (1, 5), (5, 5)])
def test_the_number_of_labels_is_drawn_evenly_between_its_bounds(low: int, high: int) -> None:
    counts = some(low, high).counts
    share = np.bincount(counts, minlength=6) / len(counts)
    expected = np.array([1 / (high - low + 1) if low <= count <= high else 0.0 for count in range(6)])
    assert (np.abs(share - expected) <= 4 * np.sqrt(expected * (1 - expected) / len(counts))).all()


def test_annotators_are_drawn_evenly_and_without_replacement() -> None:
    annotations = some(2, 2)
    pairs = set(zip(annotations.example.tolist(), annotations.annotator.tolist(), strict=True))
    assert len(pairs) == annotations.size == 24_000
    share = annotations.workload / 12_000
    assert (np.abs(share - 0.4) < 4 * np.sqrt(0.4 * 0.6 / 12_000)).all()
    # Every pair of annotators meets equally often: 1 in C(5, 2).
    given = annotations.matrix() >= 0
    together = (given.T.astype(int) @ given)[np.triu_indices(5, 1)] / 12_000
    assert (np.abs(together - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 12_000)).all()


def test_the_table_is_sorted_as_annotations_ask() -> None:
    annotations = some(1, 4, n=500)
    order = np.lexsort((annotations.annotator, annotations.example))
    np.testing.assert_array_equal(order, np.arange(annotations.size))


def test_examples_of_no_one_are_empty() -> None:
    annotations = ConfusedAnnotators(eyes(2))(torch.zeros(0, dtype=torch.long), None, generator())
    assert annotations.size == 0
    assert annotations.matrix().shape == (0, 2)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (1, 2, 3, 3)])
def test_a_confusion_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"confusion must be \(R, K, K\) or \(K, K\), got"):
        ConfusedAnnotators(torch.full(shape, 1 / shape[-1]))


@pytest.mark.parametrize(
    "row", [[0.5, 0.6], [1.5, -0.5], [0.0, 0.0], [float("nan"), 1.0]], ids=["sum", "negative", "zero", "nan"]
)
def test_rows_that_are_no_probabilities_are_refused(row: list[float]) -> None:
    with pytest.raises(ValueError, match="rows of confusion must be probabilities that sum to one"):
        ConfusedAnnotators(torch.tensor([[1.0, 0.0], row]))


@pytest.mark.parametrize("bounds", [(0, 1), (2, 1), (1, 4), (4, 4)])
def test_bounds_that_cannot_be_are_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"labels_per_example must lie in 1\.\.3"):
        ConfusedAnnotators(eyes(3), labels_per_example=bounds)


@pytest.mark.parametrize("labels", [torch.tensor([0, 3]), torch.tensor([-1, 0]), torch.zeros(2, 2, dtype=torch.long)])
def test_labels_that_are_no_classes_are_refused(labels: Tensor) -> None:
    with pytest.raises(ValueError, match=r"labels must be \(N,\) integers in 0\.\.2"):
        ConfusedAnnotators(eyes(1))(labels, None, generator())


def test_one_number_of_labels_is_for_all_examples() -> None:
    one = ConfusedAnnotators(eyes(5), labels_per_example=2)
    two = ConfusedAnnotators(eyes(5), labels_per_example=(2, 2))
    assert one.labels_per_example == two.labels_per_example == (2, 2)
    labels = torch.randint(3, (50,))
    np.testing.assert_array_equal(one(labels, None, generator()).matrix(), two(labels, None, generator()).matrix())
    with pytest.raises(ValueError, match=r"labels_per_example must lie in 1\.\.5, got 6"):
        ConfusedAnnotators(eyes(5), labels_per_example=6)


def test_draws_are_those_of_earlier_versions() -> None:
    # Figures in the documentation rest on these.
    confusion = hammer_spammers(4, [0.5] * 5)
    annotations = ConfusedAnnotators(confusion, (2, 4))(torch.arange(6) % 4, None, generator(7))
    assert annotations.matrix().tolist() == [
        [0, -1, 3, -1, -1],
        [3, 3, -1, -1, 1],
        [1, -1, 3, -1, 2],
        [3, 3, -1, 0, 3],
        [-1, 1, 0, -1, 1],
        [-1, 2, 1, -1, -1],
    ]


def test_who_works_more_labels_more() -> None:
    n, load = 20_000, [1, 2, 5]
    corruption = ConfusedAnnotators(eyes(3), labels_per_example=1, workload=load)
    share = corruption(torch.zeros(n, dtype=torch.long), None, generator()).workload / n
    expected = np.array(load) / 8
    assert (np.abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / n)).all()


def test_labels_do_not_depend_on_the_size_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    corruption = ConfusedAnnotators(hammer_spammers(4, [0.5] * 5))
    labels = torch.arange(100) % 4
    whole = corruption(labels, None, generator()).matrix()
    monkeypatch.setattr("truelabel.corruption.corruption._CHUNK", 30)
    np.testing.assert_array_equal(corruption(labels, None, generator()).matrix(), whole)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ([1.0, 2.0], "workload must have a weight for each of 3 annotators, got 2"),
        ([1.0, 0.0, 2.0], "workload must be positive, got 0.0: leave out annotators who label nothing"),
        ([1.0, float("inf"), 2.0], "workload must be positive, got inf"),
        ([1.0, float("nan"), 2.0], "workload must be positive, got nan"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(load: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ConfusedAnnotators(eyes(3), labels_per_example=1, workload=load)


def test_a_workload_without_a_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="workload says nothing if all annotators label every example"):
        ConfusedAnnotators(eyes(3), workload=[1, 2, 3])
