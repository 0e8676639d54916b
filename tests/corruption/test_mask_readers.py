from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import (
    Blank,
    Corruption,
    Faithful,
    GreyDilation,
    MaskReaders,
    Relabelling,
    TrueMask,
    digit_readers,
    lesion_readers,
    tumour_readers,
)

GROUPS = {
    "digits": (digit_readers, 2, (24, 24)),
    "tumours": (tumour_readers, 4, (9, 8)),
    "tumours in 3d": (tumour_readers, 4, (5, 6, 7)),
    "lesions": (lesion_readers, 2, (8, 9, 10)),
}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(params=GROUPS)
def group(request: pytest.FixtureRequest, digits: NDArray[Any]) -> tuple[Any, Tensor]:
    """A way to make readers, and twenty masks."""
    make, classes, space = GROUPS[request.param]
    if request.param == "digits":
        return make, torch.from_numpy(digits[:20])
    blocks = torch.randint(classes, (20, *[-(-size // 4) for size in space]), generator=generator(3))
    for axis, size in enumerate(space, 1):
        blocks = blocks.repeat_interleave(4, axis).narrow(axis, 0, size)
    return make, blocks


def test_it_keeps_the_contract_of_corruptions(group: tuple[Any, Tensor]) -> None:
    make, masks = group
    readers: MaskReaders = make()
    assert isinstance(make(), Corruption)
    before, state = masks.clone(), torch.get_rng_state()
    annotations = readers(masks, None, generator())
    assert torch.equal(masks, before), "the truth is left alone"
    assert torch.equal(torch.get_rng_state(), state), "all chance comes from the generator"
    assert annotations.space == tuple(masks.shape[1:])
    assert annotations.annotators.tolist() == list(readers.readers)
    assert annotations.classes == tuple(range(readers.classes))
    assert annotations.counts.tolist() == [len(readers.readers)] * 20
    assert 0 <= annotations.label.min() <= annotations.label.max() < readers.classes
    # What the public way to make annotations gives of the same masks.
    again = Annotations.from_masks(
        annotations.matrix(), classes=readers.classes, annotators=annotations.annotators.tolist()
    )
    for name in ("example", "annotator", "label", "examples", "annotators"):
        ours, theirs = getattr(annotations, name), getattr(again, name)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def test_equal_seeds_give_equal_masks(group: tuple[Any, Tensor]) -> None:
    make, masks = group
    first, second, other = (make(labels_per_example=(1, 3))(masks, None, generator(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.matrix(), second.matrix())
    assert (first.matrix() != other.matrix()).any()


@pytest.mark.parametrize("labels_per_example", [None, 1, (1, 3)])
def test_confusion_is_counted(group: tuple[Any, Tensor], labels_per_example: Any) -> None:
    make, masks = group
    readers = make(labels_per_example=labels_per_example)
    k = readers.classes
    assert torch.equal(readers.confusion, torch.eye(k).double().expand(len(readers.readers), k, k))
    annotations = readers(masks, None, generator())
    torch.testing.assert_close(readers.confusion.sum(-1), torch.ones(len(readers.readers), k).double())
    for r in range(len(readers.readers)):
        mine = annotations.annotator == r
        true = masks.numpy()[annotations.example[mine]].ravel()
        expected = confusion_matrix(true, annotations.label[mine].ravel(), labels=range(k), normalize="true")
        absent = expected.sum(1) == 0
        expected[absent] = np.eye(k)[absent]
        np.testing.assert_allclose(readers.confusion[r], expected)


def test_a_class_that_never_occurs_gets_the_identity() -> None:
    readers = MaskReaders({"wrong": Relabelling((1, 2, 0)), "idle": Blank()}, classes=3, labels_per_example=1)
    readers(torch.tensor([[[0, 2]]]), None, generator(1))
    rows = readers.confusion.tolist()
    eye = np.eye(3).tolist()
    assert rows in ([[eye[1], eye[1], eye[0]], eye], [eye, [eye[0], eye[1], eye[0]]])


def test_what_others_draw_changes_nothing(digits: NDArray[Any]) -> None:
    masks = torch.from_numpy(digits)
    dense = digit_readers()(masks, None, generator(7)).matrix()
    few = digit_readers(labels_per_example=1)(masks, None, generator(7))
    assert few.counts.tolist() == [1] * len(masks)
    assert (few.workload > 0).all()
    np.testing.assert_array_equal(few.label, dense[few.example, few.annotator])


def test_every_image_and_reader_has_their_own_draws(digits: NDArray[Any]) -> None:
    same = torch.from_numpy(np.repeat(digits[:1], 40, 0))
    twins = MaskReaders({"one": GreyDilation(0.5), "two": GreyDilation(0.5)})
    grown = twins(same, None, generator()).matrix().sum((2, 3)) > digits[0].sum()
    assert 8 <= grown[:, 0].sum() <= 32
    assert 8 <= (grown[:, 0] != grown[:, 1]).sum() <= 32


def test_readers_are_drawn_evenly() -> None:
    readers = MaskReaders({str(r): Faithful() for r in range(4)}, labels_per_example=1)
    share = readers(torch.zeros(4000, 1, 1, dtype=torch.long), None, generator()).workload / 4000
    assert (np.abs(share - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)).all()


def test_images_of_no_one_are_empty() -> None:
    annotations = digit_readers()(torch.zeros(0, 5, 6, dtype=torch.long), None, generator())
    assert annotations.size == 0
    assert annotations.matrix().shape == (0, 5, 5, 6)


def test_one_s_own_reader_is_welcome() -> None:
    def upside_down(truth: TrueMask, generator: torch.Generator) -> NDArray[Any]:
        return truth.mask[::-1]

    drawn = MaskReaders({"me": upside_down})(torch.tensor([[[1], [0]]]), None, generator())
    assert drawn.matrix().tolist() == [[[[0], [1]]]]


def test_masks_of_any_integers_are_taken(digits: NDArray[Any]) -> None:
    expected = digit_readers()(torch.from_numpy(digits[:3]), None, generator()).matrix()
    for kind in (torch.uint8, torch.int64, torch.bool):
        drawn = digit_readers()(torch.from_numpy(digits[:3]).to(kind), None, generator())
        np.testing.assert_array_equal(drawn.matrix(), expected)


@pytest.mark.parametrize(
    "masks",
    [torch.tensor([[[0, 2]]]), torch.tensor([[[-1, 0]]]), torch.zeros(3, dtype=torch.long), torch.zeros(1, 2, 2)],
)
def test_masks_that_are_none_are_refused(masks: Tensor) -> None:
    with pytest.raises(ValueError, match=r"masks must be \(N, \*space\) integers in 0\.\.1"):
        digit_readers()(masks, None, generator())


def test_groups_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="readers must name at least one reader"):
        MaskReaders({})
    with pytest.raises(ValueError, match="classes must be a whole number of at least 2, got 1"):
        MaskReaders({"good": Faithful()}, classes=1)
    with pytest.raises(ValueError, match=r"labels_per_example must lie in 1\.\.1, got 2"):
        MaskReaders({"good": Faithful()}, labels_per_example=2)
