from __future__ import annotations

import numpy as np
import pytest
import torch

from truelabel.annotations import Annotations
from truelabel.data import discs
from truelabel.fusion import fuse_images, spatial_staple, staple, vote_masks
from truelabel.methods import get_method, learn
from truelabel.methods.fused import FusionMethod, consensus_of
from truelabel.training import Engine, Job, TrainingConfig

CONFIG = TrainingConfig(epochs=1, batch_size=4)


def said() -> tuple[np.ndarray, Annotations]:
    """Twelve images by three readers: one is right, one errs at random, one lacks an image; nobody drew the last."""
    data, rng = discs(12, (12, 12)), np.random.default_rng(0)
    masks = np.stack([data.labels] * 3, 1).astype(np.int64)
    masks[:, 1] = np.where(rng.random(masks[:, 1].shape) < 0.2, 1 - masks[:, 1], masks[:, 1])
    masks[0, 2], masks[-1] = -1, -1
    return data.inputs, Annotations.from_masks(masks, classes=2)


@pytest.mark.parametrize(("name", "fuse"), [("staple", staple), ("spatial-staple", spatial_staple)])
def test_readers_are_judged_by_the_fusion_itself(name: str, fuse: object) -> None:
    inputs, annotations = said()
    learned = learn(get_method(name), Job(inputs, annotations, "unet:4", CONFIG), Engine(device="cpu"))
    by_hand = fuse_images(annotations, fuse)  # type: ignore[arg-type]
    assert learned.confusion is not None
    np.testing.assert_allclose(learned.confusion.numpy(), by_hand.confusion)


def test_the_vote_of_masks_is_the_vote_of_each_pixel() -> None:
    _, annotations = said()
    method = get_method("majority-vote")
    assert isinstance(method, FusionMethod)
    fused = method.fuse(annotations, seed=0)
    np.testing.assert_array_equal(fused.labels, fuse_images(annotations, vote_masks).labels)
    dense = annotations.matrix()
    np.testing.assert_array_equal(fused.labels[1], (dense[1] == 1).sum(0) > 1.5)


def test_the_mean_label_is_learned_as_a_soft_target() -> None:
    _, annotations = said()
    method = get_method("mean-label")
    assert isinstance(method, FusionMethod)
    assert method.soft
    dense = annotations.matrix()[1]
    np.testing.assert_allclose(method.fuse(annotations, seed=0).posterior[1, ..., 1], dense.mean(0), rtol=1e-6)


def test_what_nobody_drew_is_not_learned() -> None:
    _, annotations = said()
    labels = torch.from_numpy(fuse_images(annotations, vote_masks).labels.astype(np.int64))
    consensus = consensus_of(annotations, labels)
    assert consensus.counts.tolist() == [1] * 11 + [0]
    assert consensus.classes == annotations.classes


@pytest.mark.parametrize("options", [{"window": 4}, {"window": 0}, {"anchor": 0.0}, {"anchor": -1.0}])
def test_options_that_make_no_sense(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        get_method("spatial-staple").with_options(**options)


def test_judging_readers_where_they_differ_only() -> None:
    with pytest.raises(ValueError, match="disputed_only must be true or false"):
        get_method("staple").with_options(disputed_only="yes")
