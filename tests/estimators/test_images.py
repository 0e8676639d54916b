"""What may be passed as images and masks, and what is said when it may not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray

from truelabel import Annotations, TrueLabelClassifier
from truelabel.estimators.images import (
    check_images,
    differ,
    padded,
    padded_masks,
    read_masks,
    space_axes,
    standardized,
)
from truelabel.estimators.inputs import check_inputs

NAN = float("nan")
RNG = np.random.default_rng(0)
IMAGES = RNG.normal(3.0, 5.0, (4, 2, 5, 6))
MASKS = RNG.integers(0, 2, (4, 3, 5, 6))
SPACE = (5, 6)


@pytest.mark.parametrize(
    ("images", "kind"),
    [
        (IMAGES, np.float32),
        (IMAGES.astype(np.float16), np.float32),
        (IMAGES.astype(np.int16), np.float32),
        (IMAGES > 0, np.float32),
        (list(IMAGES), np.float32),
        (torch.from_numpy(IMAGES), np.float32),
        (IMAGES.astype(np.uint8), np.uint8),
        (torch.from_numpy(IMAGES.astype(np.uint8)), np.uint8),
    ],
    ids=["doubles", "halves", "whole", "bool", "list", "tensor", "bytes", "tensor of bytes"],
)
def test_images_are_bytes_or_floats(images: Any, kind: type[Any]) -> None:
    checked = check_images(images, standardize=False)
    assert isinstance(checked, np.ndarray)
    assert checked.dtype == kind
    np.testing.assert_array_equal(checked, np.asarray(images if not isinstance(images, list) else IMAGES).astype(kind))


@pytest.mark.parametrize(
    "check",
    [
        lambda images: check_images(images, standardize=True),
        lambda images: check_inputs(TrueLabelClassifier(), images, reset=True),
    ],
    ids=["segmenter", "classifier"],
)
def test_bytes_that_torch_does_not_take_are_copied_and_others_not(check: Any) -> None:
    plain = IMAGES.astype(np.uint8)
    assert np.shares_memory(check(plain), plain)
    still = plain.copy()
    still.setflags(write=False)
    for images in (still, plain[..., ::-1]):
        np.testing.assert_array_equal(torch.from_numpy(check(images)).numpy(), images)


def test_pictures_without_a_channel_get_one() -> None:
    assert check_images(IMAGES[:, 0], standardize=False).shape == (4, 1, 5, 6)
    assert check_images(list(IMAGES[:, 0]), standardize=False).shape == (4, 1, 5, 6)
    assert check_images(np.zeros((4, 1, 3, 5, 6)), standardize=False).shape == (4, 1, 3, 5, 6)


@pytest.mark.parametrize("shape", [(2, 3, 5, 6), (2, 3, 4, 5, 6)], ids=str)
def test_every_channel_of_every_image_is_brought_to_mean_0_and_variance_1(shape: tuple[int, ...]) -> None:
    images = RNG.normal(100.0, 30.0, shape) * np.arange(1, 4).reshape(3, *[1] * (len(shape) - 2))
    checked = check_images(images, standardize=True)
    for image, own in zip(images, checked, strict=True):
        for channel, scaled in zip(image, own, strict=True):
            np.testing.assert_allclose(scaled, (channel - channel.mean()) / channel.std(), atol=1e-4)


def test_bytes_are_not_standardised() -> None:
    images = IMAGES.astype(np.uint8)
    assert check_images(images, standardize=True) is images


@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, 1e4 + 0.1])
def test_a_flat_channel_is_zero(value: float) -> None:
    # The mean of equal numbers is off by a rounding error, so their deviation is not always zero.
    for pixels in (3, 30, 333):
        images = np.stack([np.full((1, pixels), value), np.arange(pixels, dtype=float)[None]])[None].astype(np.float32)
        scaled = standardized(images)[0]
        assert not scaled[0].any()
        np.testing.assert_allclose(scaled[1].std(), 1, rtol=1e-5)


def test_padding_repeats_the_border_or_fills_behind() -> None:
    first, second = np.array([[[1, 2], [3, 4]]]), np.array([[[5, 6, 7]]])
    both = padded([first, second])
    assert both[0, 0].tolist() == [[1, 2, 2], [3, 4, 4]]
    assert both[1, 0].tolist() == [[5, 6, 7], [5, 6, 7]]
    filled = padded([first, second], fill=-1)
    assert filled[0, 0].tolist() == [[1, 2, -1], [3, 4, -1]]
    assert filled[1, 0].tolist() == [[5, 6, 7], [-1, -1, -1]]


@pytest.mark.parametrize("kind", [np.uint8, np.bool_, np.int8, np.uint16, np.int64, np.float32])
def test_padding_is_no_label_whatever_the_type(kind: type[Any]) -> None:
    # Bytes cannot hold -1: written into them it would be a class 255, and in booleans it would be True.
    filled = padded([np.ones((2, 2), kind), np.ones((1, 3), kind)], fill=-1)
    assert filled.tolist() == [[[1, 1, -1], [1, 1, -1]], [[1, 1, 1], [-1, -1, -1]]]


def test_lists_differ_if_their_shapes_do() -> None:
    assert differ([np.zeros((1, 2, 3)), np.zeros((1, 2, 4))])
    assert differ(([[1, 2]], [[1], [2]]))
    assert not differ([np.zeros((1, 2, 3))] * 2)
    assert not differ(IMAGES)
    assert not differ(Annotations.from_masks(MASKS))


@pytest.mark.parametrize(
    ("images", "masks", "axes"),
    [
        ((7, 5, 6), (7, 3, 5, 6), 2),
        ((7, 4, 5, 6), (7, 3, 5, 6), 2),
        ((7, 4, 5, 6), (7, 5, 6), 2),
        ((7, 4, 5, 6), (7, 4, 5, 6), 2),  # four readers, or one of volumes: so it always was
        ((7, 4, 5, 6), (7, 3, 4, 5, 6), 3),
        ((7, 4, 5, 6), (7, 1, 4, 5, 6), 3),
    ],
    ids=str,
)
def test_masks_tell_pictures_of_many_channels_from_volumes_of_one(
    images: tuple[int, ...], masks: tuple[int, ...], axes: int
) -> None:
    scans, drawn = RNG.normal(size=images), np.zeros(masks, int)
    assert space_axes(scans, drawn) == space_axes(list(scans), list(drawn)) == axes
    parts = (
        [scan[..., : 3 + n % 2] for n, scan in enumerate(scans)],
        [mask[..., : 3 + n % 2] for n, mask in enumerate(drawn)],
    )
    assert space_axes(*parts) == axes
    if len(masks) == len(images) + 1:
        assert space_axes(scans, Annotations.from_masks(drawn)) == axes
        checked = check_images(scans, standardize=False, dims=axes)
        np.testing.assert_array_equal(checked[:, 0], scans.astype(np.float32))
    # With an axis of channels nothing is left to tell.
    whole = RNG.normal(size=(7, 2, 4, 5, 6))
    assert (
        check_images(whole, standardize=False, dims=space_axes(whole, np.zeros((7, 3, 4, 5, 6)))).shape == whole.shape
    )


@pytest.mark.parametrize("channels", [0, 2], ids=["pictures", "channels"])
def test_images_of_different_sizes_are_standardised_as_if_alone(channels: int) -> None:
    lead = (channels,) if channels else ()
    sizes = [(3, 6), (5, 2), (5, 6)]
    images = [RNG.normal(size=(*lead, *size)) for size in sizes]
    checked = check_images(images, standardize=True)
    assert checked.shape == (3, channels or 1, 5, 6)
    for image, (height, width), own in zip(images, sizes, checked, strict=True):
        alone = check_images(image[None], standardize=True)[0]
        np.testing.assert_array_equal(own[:, :height, :width], alone)
        # What stands behind repeats the border.
        np.testing.assert_array_equal(own[:, height:, :width], np.repeat(alone[:, -1:], 5 - height, 1))
        np.testing.assert_array_equal(own[:, :, width:], np.repeat(own[:, :, width - 1 : width], 6 - width, 2))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((4, 5)), r"images must be \(N, C, H, W\) or \(N, C, D, H, W\), or these .*got shape \(4, 5\)"),
        (np.zeros((1, 2, 3, 4, 5, 6)), r"got shape \(1, 2, 3, 4, 5, 6\)"),
        ([], r"got shape \(0,\)"),
        (np.zeros((0, 1, 5, 6)), "images has no image in it"),
        (IMAGES.astype(str), "images must hold numbers, got <U32"),
        (IMAGES.astype(complex), "images must hold numbers, got complex128"),
        (np.where(np.arange(4)[:, None, None, None] == 2, NAN, IMAGES), "NaN or infinity, first in image 2: remove"),
        (np.full((1, 1, 2, 2), 1e39), "images contains NaN or infinity, first in image 0: remove or fill it"),
        ([np.zeros((1, 5, 6)), np.full((1, 4, 6), NAN)], "NaN or infinity, first in image 1: remove"),
        ([np.zeros((1, 5, 6)), np.zeros((3, 5, 6))], "images have 1 and 3 channels: give all the same"),
        ([np.zeros((1, 5, 6)), np.zeros((5, 6))], "arrays of a list have 2 and 3 axes: give all the same"),
    ],
)
def test_bad_images_are_told_in_one_line(images: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        check_images(images, standardize=True)
    assert "\n" not in str(caught.value)


def read(masks: Any, annotators: Any = None, **options: Any) -> Annotations:
    return read_masks(masks, SPACE, 4, annotators, **options)


GAPS = MASKS.copy()
GAPS[1, 2], GAPS[0, 0, 2:], GAPS[3, 1, :, 4] = -1, -1, -1


@pytest.mark.parametrize(
    "masks",
    [
        GAPS,
        GAPS.astype(np.int8),
        GAPS.astype(np.float32),
        np.where(GAPS < 0, NAN, GAPS),
        GAPS.tolist(),
        list(GAPS),
        torch.from_numpy(GAPS),
        Annotations.from_masks(GAPS),
    ],
    ids=["whole", "small", "floats", "NaN", "nested lists", "list", "tensor", "annotations"],
)
def test_masks_with_gaps_in_every_form(masks: Any) -> None:
    annotations = read(masks)
    assert np.array_equal(annotations.matrix(), GAPS)
    assert annotations.classes == (0, 1)
    assert annotations.annotators.tolist() == [0, 1, 2]
    assert annotations.counts.tolist() == [3, 2, 3, 3]


def test_columns_may_have_names() -> None:
    for names in (["ann", "bob", "cid"], ("ann", "bob", "cid"), np.array(["ann", "bob", "cid"])):
        annotations = read(GAPS, names)
        assert annotations.annotators.tolist() == ["ann", "bob", "cid"]
        assert np.array_equal(annotations.matrix(), GAPS)


def test_one_mask_an_image_by_one_reader_or_by_many() -> None:
    alone = read(MASKS[:, 0])
    assert np.array_equal(alone.matrix()[:, 0], MASKS[:, 0])
    assert alone.annotators.tolist() == [0]
    many = read(MASKS[:, 0], ["cid", "ann", "cid", "bob"])
    assert many.annotators.tolist() == ["ann", "bob", "cid"]
    expected = np.full((4, 3, 5, 6), -1)
    for image, column in enumerate([2, 0, 2, 1]):
        expected[image, column] = MASKS[image, 0]
    assert np.array_equal(many.matrix(), expected)


WHO: list[list[Any]] = [[7, 3], [3, None], [9, 7], [None, 9]]


@pytest.mark.parametrize(
    "who",
    [
        WHO,
        tuple(map(tuple, WHO)),
        np.array(WHO, object),
        [[-1 if name is None else name for name in row] for row in WHO],
        np.array([[-1 if name is None else name for name in row] for row in WHO]),
        [[NAN if name is None else name for name in row] for row in WHO],
        pd.DataFrame(WHO, dtype="Int64"),
    ],
    ids=["None", "tuples", "objects", "-1", "array of -1", "NaN", "pandas with NA"],
)
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, np.bool_])
def test_masks_find_the_column_of_their_reader(who: Any, kind: type[Any]) -> None:
    annotations = read(MASKS[:, :2].astype(kind), who)
    assert annotations.annotators.tolist() == [3, 7, 9]
    expected = np.full((4, 3, 5, 6), -1)
    for image, row in enumerate(WHO):
        for slot, name in enumerate(row):
            if name is not None:
                expected[image, [3, 7, 9].index(name)] = MASKS[image, slot]
    assert np.array_equal(annotations.matrix(), expected)


def test_who_drew_may_be_lists_of_different_lengths() -> None:
    annotations = read(MASKS[:, :2], [["b", "a"], ["c"], [], ["a"]])
    assert annotations.annotators.tolist() == ["a", "b", "c"]
    assert annotations.counts.tolist() == [2, 1, 0, 1]
    assert np.array_equal(annotations.matrix()[0, :2], MASKS[0, [1, 0]])


def test_a_reader_may_be_named_twice_if_one_mask_is_empty() -> None:
    masks = np.stack([np.full((4, 5, 6), -1), MASKS[:, 0]], 1)
    assert np.array_equal(read(masks, [["ann", "ann"]] * 4).matrix()[:, 0], MASKS[:, 0])


def test_values_are_the_classes_unless_named() -> None:
    assert read(255 * MASKS).classes == (0, 255)
    assert read(MASKS > 0).classes == (False, True)
    assert read(MASKS, classes=["back", "front"]).classes == ("back", "front")
    named = Annotations.from_masks(MASKS, classes=["back", "front"])
    assert read(named) is named
    assert read(named, classes=["back", "front"]) is named


@pytest.mark.parametrize("which", [slice(None), slice(1), 0], ids=["readers", "one reader", "masks"])
def test_masks_of_different_sizes_have_no_label_where_they_are_padded(which: int | slice) -> None:
    sizes = [(5, 4), (2, 6), (5, 6), (5, 6)]
    images = [np.zeros((1, *size)) for size in sizes]
    masks = [mask[which, ..., :height, :width] for mask, (height, width) in zip(MASKS, sizes, strict=True)]
    together = read(padded_masks([mask.astype(np.uint8) for mask in masks], images, SPACE))
    assert together.classes == (0, 1)
    for own, mask, (height, width) in zip(together.matrix(), masks, sizes, strict=True):
        assert np.array_equal(own[:, :height, :width], mask.reshape(-1, height, width))
        assert (own[:, height:] == -1).all()
        assert (own[:, :, width:] == -1).all()


def test_who_comes_last_may_be_missing_in_a_list() -> None:
    masks = [MASKS[0], MASKS[1, :1], MASKS[2], MASKS[3, :2]]
    assert read(padded_masks(masks, IMAGES, SPACE)).counts.tolist() == [3, 1, 3, 2]


def test_a_mask_must_have_the_size_of_its_image() -> None:
    images = [np.zeros((1, 5, 4)), np.zeros((1, 5, 6))]
    with pytest.raises(ValueError, match=r"^mask 0 has the shape \(5, 6\), but image 0 \(5, 4\): one label for each"):
        padded_masks([np.zeros((2, 5, 6)), np.zeros((2, 5, 4))], images, SPACE)
    with pytest.raises(ValueError, match=r"^mask 1 has the shape \(4, 6\), but image 1 \(5, 6\): one label for each"):
        padded_masks([np.zeros((2, 5, 6)), np.zeros((2, 4, 6))], np.zeros((2, 1, 5, 6)), SPACE)


@pytest.mark.parametrize(
    ("masks", "annotators", "options", "message"),
    [
        (MASKS[0, 0], None, {}, r"masks must be \(N, \*space\) or \(N, readers, \*space\) for space \(5, 6\)"),
        (None, None, {}, r"masks must be .* got \(\)"),
        (MASKS[:, :, None], None, {}, r"masks must be .* got \(4, 3, 1, 5, 6\)"),
        (MASKS[..., 1:], None, {}, r"masks have the shape \(5, 5\), but images \(5, 6\): one label for each pixel"),
        (MASKS[:3], None, {}, "there are 4 images, but masks of 3: pass one row each"),
        (Annotations.from_masks(MASKS[:3]), None, {}, "there are 4 images, but masks of 3"),
        (Annotations.from_labels([0, 1, 0, 1]), None, {}, r"masks have the shape \(\), but images \(5, 6\)"),
        (Annotations.from_masks(MASKS), ["a", "b", "c"], {}, "annotators is part of Annotations already: leave it out"),
        (Annotations.from_masks(MASKS), None, {"classes": [0, 1, 2]}, r"masks has the classes \[0, 1\], but fit saw"),
        (MASKS.astype(str), None, {}, "masks must hold integers, got <U"),
        (MASKS + 0.5, None, {}, "labels hold fractional or infinite numbers"),
        (MASKS, ["a", "b"], {}, "annotators names 2, but there are 3"),
        (MASKS, ["a", "b", "a"], {}, "annotators repeats a name"),
        (MASKS, "ann", {}, r"annotators must name who drew each of \(4, 3\) masks, got shape \(\)"),
        (MASKS, [["a", "b"]] * 4, {}, r"annotators must name who drew each of \(4, 3\) masks, got shape \(4, 2\)"),
        (MASKS[:, 0], ["a", "b"], {}, r"annotators must name who drew each of \(4, 1\) masks, got shape \(2, 1\)"),
        (MASKS[:, 0], [None] * 4, {}, "annotators names nobody: every entry is missing"),
        (
            MASKS[:, :2],
            [["a", "b"], ["a", "a"], ["b", "a"], ["b", "c"]],
            {},
            "annotator a drew image 1 twice: keep one",
        ),
        (MASKS, None, {"classes": [0, 2]}, "label 1 in row 1 is outside 0, 2: pass classes= or fix the row"),
    ],
)
def test_bad_masks_are_told_in_one_line(masks: Any, annotators: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read(masks, annotators, **options)
    assert "\n" not in str(caught.value)


def test_names_of_every_type_are_sorted() -> None:
    who: NDArray[Any] = np.array(["ß", "a", "ä", "b"])
    assert read(MASKS[:, 0], who).annotators.tolist() == ["a", "b", "ß", "ä"]
    assert read(MASKS[:, 0], [10, 9, 100, 9]).annotators.tolist() == [9, 10, 100]
