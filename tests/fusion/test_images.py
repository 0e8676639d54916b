from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel.annotations import Annotations
from truelabel.coding import LabelError
from truelabel.fusion import Fused, FuseMasks, expected_counts, fuse_images, spatial_staple, staple, vote_masks

Mask = NDArray[np.integer[Any]]
Make = Callable[..., Mask]
FUSIONS: dict[str, FuseMasks] = {
    "staple": staple,
    "spatial_staple": spatial_staple,
    "vote_masks": vote_masks,
    "staple, disputed": partial(staple, disputed_only=True),
}


@pytest.fixture
def masks(blobs: Make, read_by: Make) -> NDArray[np.int16]:
    """Six images of 12 x 14 by four readers, three classes; some did not read some, and nobody read image 2."""
    made = np.stack([read_by(blobs((12, 14), 3, n), [0.05, 0.1, 0.2, 0.3], n) for n in range(6)]).astype(np.int16)
    made[0, 1] = made[3, :3] = made[2] = -1
    made[:, 3] = -1
    made[4, 0, :3] = -1
    return made


def by_image(masks: Mask, fuse: FuseMasks) -> dict[int, Fused]:
    return {n: fuse(image, classes=3) for n, image in enumerate(masks) if (image >= 0).any()}


@pytest.mark.parametrize("name", FUSIONS)
def test_every_image_is_fused_by_itself(name: str, masks: NDArray[np.int16]) -> None:
    masks[3, 1] = masks[1, 1]
    fused = fuse_images(Annotations.from_masks(masks, classes=3), FUSIONS[name])
    assert (fused.posterior.shape, str(fused.posterior.dtype)) == ((6, 12, 14, 3), "float32")
    assert (fused.labels.shape, fused.confusion.shape, fused.prior.shape) == ((6, 12, 14), (4, 3, 3), (3,))
    alone = by_image(masks, FUSIONS[name])
    for n, image in alone.items():
        np.testing.assert_allclose(fused.posterior[n], image.posterior, atol=1e-4)
        assert (fused.labels[n] == image.labels).mean() > 0.999
    evidence = [image.evidence for image in alone.values()]
    if name == "vote_masks":
        assert fused.evidence is None
    else:
        assert fused.evidence == pytest.approx(math.fsum(value for value in evidence if value is not None), rel=1e-5)
    assert fused.converged


def test_confusion_is_that_of_the_pooled_counts(masks: NDArray[np.int16]) -> None:
    fused = fuse_images(Annotations.from_masks(masks, classes=3), staple)
    # STAPLE's own matrices are the expected counts of an image, divided by their sums.
    counts = np.zeros((4, 3, 3))
    for image, posterior in zip(masks, fused.posterior, strict=True):
        matrix = Annotations.from_matrix(image.reshape(4, -1).T, classes=3)
        counts += expected_counts(matrix, posterior.reshape(-1, 3).astype(np.float64))
    counts = counts[:3]
    np.testing.assert_allclose(fused.confusion[:3], counts / counts.sum(-1, keepdims=True), atol=1e-4)


def test_nobody_read_it_and_nobody_who_read(masks: NDArray[np.int16]) -> None:
    fused = fuse_images(Annotations.from_masks(masks, classes=3), staple)
    assert (fused.labels[2] == -1).all()
    np.testing.assert_allclose(fused.posterior[2], np.broadcast_to(fused.prior, (12, 14, 3)), rtol=1e-6)
    np.testing.assert_allclose(fused.prior, np.mean([f.prior for f in by_image(masks, staple).values()], 0))
    np.testing.assert_array_equal(fused.confusion[3], np.full((3, 3), 1 / 3))


def test_volumes_and_names(blobs: Make, read_by: Make) -> None:
    truth = np.stack([blobs((5, 12, 14), 2, n) for n in range(3)])
    masks = np.stack([read_by(image, [0.05, 0.1, 0.2], n) for n, image in enumerate(truth)])
    annotations = Annotations.from_masks(masks, classes=["tissue", "lesion"], annotators=["a", "b", "c"])
    fused = fuse_images(annotations, staple)
    assert fused.labels.shape == (3, 5, 12, 14)
    assert (fused.labels == truth).mean() > 0.96
    assert (np.diff(fused.confusion.diagonal(0, 1, 2).mean(-1)) < 0).all()


def test_one_that_did_not_converge_shows(masks: NDArray[np.int16]) -> None:
    annotations = Annotations.from_masks(masks, classes=3)
    with pytest.warns(UserWarning, match="staple stopped after 2 iterations"):
        assert not fuse_images(annotations, partial(staple, max_iterations=2)).converged


def test_what_does_not_fit_is_refused(masks: NDArray[np.int16]) -> None:
    with pytest.raises(LabelError, match="annotations label whole examples, not pixels: build them with Ann"):
        fuse_images(Annotations.from_matrix([[0, 1]]), staple)
    with pytest.raises(LabelError, match="annotations hold no mask"):
        fuse_images(Annotations.from_masks(np.full_like(masks, -1), classes=3), staple)
    with pytest.raises(LabelError, match="annotations must be Annotations, got ndarray"):
        fuse_images(masks, staple)  # type: ignore[arg-type]
