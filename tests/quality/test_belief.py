"""What is believed of the true class, against sums over classes written out."""

from __future__ import annotations

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.quality import belief as module
from truelabel.quality import label_quality, true_class_probs


def random_case(seed: int = 0) -> tuple[Annotations, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 3, (50, 4))
    matrix[7] = -1
    annotations = Annotations.from_matrix(matrix, classes=3)
    return annotations, rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), (2, 4, 3))


def slow(annotations: Annotations, probs: np.ndarray, confusion: np.ndarray, group: np.ndarray) -> np.ndarray:
    found = []
    for example, row in enumerate(annotations.matrix()):
        joint = probs[example].copy()
        for who, said in enumerate(row):
            for true in range(3):
                if said >= 0:
                    joint[true] *= confusion[group[example], who, true, said]
        found.append(joint / joint.sum())
    return np.array(found)


@pytest.mark.parametrize("chunk", [2**18, 10])
def test_it_is_bayes_rule_over_all_labels_of_an_example(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", chunk)
    annotations, probs, confusion = random_case()
    one = true_class_probs(annotations, probs, confusion[1])
    np.testing.assert_allclose(one, slow(annotations, probs, confusion, np.ones(50, int)), atol=1e-12)
    np.testing.assert_allclose(one[7], probs[7], atol=1e-12)
    group = np.arange(50) % 2
    several = true_class_probs(annotations, probs, confusion, group)
    np.testing.assert_allclose(several, slow(annotations, probs, confusion, group), atol=1e-12)


def test_what_is_impossible_leaves_the_belief_as_it_was() -> None:
    annotations = Annotations.from_matrix([[1], [0]])
    belief = true_class_probs(annotations, [[0.3, 0.7], [0.3, 0.7]], [[[1.0, 0.0], [1.0, 0.0]]])
    np.testing.assert_allclose(belief, [[0.3, 0.7], [0.3, 0.7]])


def test_many_labels_do_not_vanish() -> None:
    annotations = Annotations.from_matrix(np.zeros((1, 2000), int), classes=2)
    confusion = np.tile([[0.011, 0.989], [0.01, 0.99]], (2000, 1, 1))
    assert true_class_probs(annotations, [[0.5, 0.5]], confusion)[0, 0] > 0.999


def test_the_quality_of_a_label_is_the_belief_in_its_class() -> None:
    annotations, probs, confusion = random_case(1)
    belief = true_class_probs(annotations, probs, confusion[0])
    expected = [belief[e, k] for e, k in zip(annotations.example, annotations.label, strict=True)]
    assert label_quality(annotations, belief).tolist() == expected


def test_bad_input_is_one_line() -> None:
    annotations, probs, confusion = random_case()
    for arguments, message in (
        ((annotations, probs[:9], confusion[0]), r"probs must be \(50, 3\), a row an example"),
        ((annotations, probs * 3, confusion[0]), "probs must be probabilities that sum to one in every row"),
        ((annotations, probs, confusion), r"confusion must be \(4, 3, 3\), one matrix an annotator"),
        (([[0]], probs, confusion), "annotations must be Annotations"),
        ((Annotations.from_masks(np.ones((1, 1, 2, 2), int), classes=2), [[0.5, 0.5]], [np.eye(2)]), "holds masks"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            true_class_probs(*arguments)
        assert "\n" not in str(caught.value)
