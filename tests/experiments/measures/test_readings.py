from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.ndimage import binary_dilation

from truelabel.annotations import Annotations
from truelabel.corruption import ConfusedAnnotators
from truelabel.experiments.measures import readings
from truelabel.experiments.measures.readings import readings_of
from truelabel.experiments.scene import Scene

MakeScene = Callable[..., Scene]


@pytest.mark.parametrize("labels", [None, 1])
def test_all_readers_draw_every_test_image_however_many_drew_those_of_training(
    scene: MakeScene, labels: int | None
) -> None:
    given = scene(labels)
    assert given.confusion is not None
    before = given.confusion.clone()
    found = readings_of(given)
    truth = given.test.labels
    assert found.readers == ("good", "over", "swapped", "blank")
    thicker = np.stack([binary_dilation(mask) for mask in truth])
    for reader, expected in enumerate((truth, thicker, 1 - truth, np.zeros_like(truth))):
        np.testing.assert_array_equal(found.masks[:, reader], expected)
        assert found.drawn_by(reader).all()
    # What is estimated is the confusion of training, which drawing more must not change.
    assert torch.equal(given.confusion, before)
    torch.testing.assert_close(found.inputs, torch.from_numpy(given.test.inputs))


def test_real_readers_are_read_at_the_end_of_the_training_images(
    scene: MakeScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "MOST", 5)
    masks = np.full((12, 3, 9, 9), -1)
    masks[8, 0], masks[11, 0], masks[2, 1] = 1, 0, 1
    said = Annotations.from_masks(masks, classes=2, annotators=["a", "b", "c"])
    given = replace(scene(), said=said, corruption=None)
    found = readings_of(given)
    np.testing.assert_array_equal(found.truth, given.train.labels[7:])
    np.testing.assert_array_equal(found.masks, masks[7:])
    assert [found.drawn_by(reader).tolist() for reader in (0, 1)] == [[False, True, False, False, True], [False] * 5]


def test_real_readers_of_test_images_are_read_where_they_are_known(scene: MakeScene) -> None:
    tiny = scene()
    really = Annotations.from_masks(np.stack([tiny.test.labels, 1 - tiny.test.labels], 1), classes=2)
    found = readings_of(replace(tiny, corruption=None, said_really_of_test=really))
    np.testing.assert_array_equal(found.truth, tiny.test.labels)
    np.testing.assert_array_equal(found.masks[:, 1], 1 - tiny.test.labels)


def test_readings_are_drawn_once_and_forgotten_with_their_scene(scene: MakeScene) -> None:
    given = scene()
    assert readings_of(given) is readings_of(given)
    gone = weakref.ref(readings_of(given))
    del given
    gc.collect()
    assert gone() is None


def test_other_annotators_say_what_they_say_of_test_examples(scene: MakeScene) -> None:
    swapped = ConfusedAnnotators(torch.tensor([[[0.0, 1.0], [1.0, 0.0]]]))
    tiny = scene()
    flat = replace(tiny, corruption=swapped, test=tiny.test)
    object.__setattr__(flat, "said_of_test", Annotations.from_masks(1 - tiny.test.labels[:, None], classes=2))
    np.testing.assert_array_equal(readings_of(flat).masks[:, 0], 1 - tiny.test.labels)
