"""What every fusion must satisfy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from truelabel.annotations import Annotations
from truelabel.fusion import Fused

Fuse = Callable[[Annotations], Fused]

SILENT_EXAMPLES = 10


@pytest.fixture
def fused(fuse: Fuse, crowd: Annotations) -> Fused:
    return fuse(crowd)


def clear(fused: Fused) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Examples whose most probable class is not tied."""
    ranked = np.sort(fused.posterior, -1)
    return np.asarray(ranked[:, -1] - ranked[:, -2] > 1e-6)


def test_shapes_and_probabilities(fused: Fused, crowd: Annotations) -> None:
    n, r, k = len(crowd.examples), len(crowd.annotators), len(crowd.classes)
    assert fused.posterior.shape == (n, k)
    assert fused.labels.shape == (n,)
    assert fused.confusion.shape == (r, k, k)
    assert fused.prior.shape == (k,)
    for probs in (fused.posterior, fused.confusion, fused.prior):
        assert (probs >= 0).all()
        np.testing.assert_allclose(probs.sum(-1), 1)
    assert fused.evidence is None or math.isfinite(fused.evidence)
    assert isinstance(fused.converged, bool)


def test_the_label_is_the_most_probable_class(fused: Fused) -> None:
    assert np.issubdtype(fused.labels.dtype, np.integer)
    np.testing.assert_array_equal(
        np.take_along_axis(fused.posterior, fused.labels[:, None], 1)[:, 0], fused.posterior.max(-1)
    )


def test_the_order_of_annotators_does_not_matter(fuse: Fuse, fused: Fused, crowd: Annotations) -> None:
    order = np.random.default_rng(0).permutation(len(crowd.annotators))
    turned = fuse(Annotations.from_matrix(crowd.matrix()[:, order], classes=len(crowd.classes)))
    np.testing.assert_allclose(turned.posterior, fused.posterior, atol=1e-6)
    np.testing.assert_allclose(turned.confusion, fused.confusion[order], atol=1e-6)
    np.testing.assert_allclose(turned.prior, fused.prior, atol=1e-6)
    np.testing.assert_array_equal(turned.labels[clear(fused)], fused.labels[clear(fused)])
    assert clear(fused).sum() > 50


def test_the_order_of_examples_does_not_matter(fuse: Fuse, fused: Fused, crowd: Annotations) -> None:
    order = np.random.default_rng(1).permutation(len(crowd.examples))
    turned = fuse(crowd.take(order))
    np.testing.assert_allclose(turned.posterior, fused.posterior[order], atol=1e-6)
    np.testing.assert_allclose(turned.confusion, fused.confusion, atol=1e-6)
    np.testing.assert_allclose(turned.prior, fused.prior, atol=1e-6)
    np.testing.assert_array_equal(turned.labels[clear(turned)], fused.labels[order][clear(turned)])


def test_the_same_call_gives_the_same_answer(fuse: Fuse, fused: Fused, crowd: Annotations) -> None:
    again = fuse(crowd)
    for name in ("posterior", "labels", "confusion", "prior"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fused, name))


def test_where_nobody_labelled_the_prior_speaks(fused: Fused) -> None:
    silent = fused.posterior[-SILENT_EXAMPLES:]
    np.testing.assert_allclose(silent, np.broadcast_to(fused.prior, silent.shape), atol=1e-4)
    assert np.abs(fused.posterior[:-SILENT_EXAMPLES] - fused.prior).max(-1).min() > 1e-4


def test_silence_changes_nothing_for_others(fuse: Fuse, fused: Fused, crowd: Annotations) -> None:
    spoken = crowd.take(np.arange(len(crowd.examples) - SILENT_EXAMPLES)).without_silent_annotators()
    alone = fuse(spoken)
    np.testing.assert_allclose(alone.posterior, fused.posterior[:-SILENT_EXAMPLES], atol=1e-4)
    np.testing.assert_allclose(alone.confusion, fused.confusion[:-1], atol=1e-4)


def test_unanimous_labels_come_back(fuse: Fuse, has_even_prior: bool) -> None:
    truth = np.random.default_rng(2).integers(0, 3, 60)
    fused = fuse(Annotations.from_matrix(np.repeat(truth[:, None], 4, 1), classes=3))
    np.testing.assert_array_equal(fused.labels, truth)
    assert (fused.confusion.argmax(-1) == np.arange(3)).all()
    shares = np.full(3, 1 / 3) if has_even_prior else np.bincount(truth, minlength=3) / 60
    np.testing.assert_allclose(fused.prior, shares, atol=0.01)


def test_better_annotators_are_seen_to_be_better(fused: Fused) -> None:
    # The first six have skills from 0.95 down to 0.6.
    skill = np.einsum("rkk,k->r", fused.confusion, fused.prior)
    assert skill[0] > skill[5] + 0.1


def test_annotations_are_left_alone(fuse: Fuse, crowd: Annotations) -> None:
    own = replace(crowd, example=crowd.example.copy(), annotator=crowd.annotator.copy(), label=crowd.label.copy())
    fuse(own)
    for name in ("example", "annotator", "label"):
        np.testing.assert_array_equal(getattr(own, name), getattr(crowd, name))
