from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from truelabel.annotations import Annotations
from truelabel.corruption import tumour_readers
from truelabel.metrics import confusion_rmse, mean_confusion, reader_confusion

N, R, K, SPACE = 6, 3, 4, (5, 7)


@pytest.fixture
def truth() -> NDArray[Any]:
    mask = np.random.default_rng(0).integers(0, K, (N, *SPACE))
    mask[0][mask[0] == 2] = 1
    mask[:, 0] = -1
    return mask


@pytest.fixture
def masks(truth: NDArray[Any]) -> NDArray[Any]:
    """Reader 1 did not draw images 2 and 4, reader 2 left out some pixels."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, K, (N, R, *SPACE))
    drawn = np.where(rng.random(drawn.shape) < 0.5, np.maximum(truth, 0)[:, None], drawn)
    drawn[[2, 4], 1] = -1
    drawn[:, 2, :, 3] = -1
    return drawn


def counted(drawn: NDArray[Any], truth: NDArray[Any]) -> NDArray[Any]:
    seen = (drawn >= 0) & (truth >= 0)
    if not seen.any():
        return np.full((K, K), np.nan)
    table: NDArray[Any] = confusion_matrix(truth[seen], drawn[seen], labels=range(K), normalize="true")
    table[table.sum(1) == 0] = np.nan
    return table


def test_confusion_of_readers_is_counted(masks: NDArray[Any], truth: NDArray[Any]) -> None:
    expected = np.stack([counted(masks[:, r], truth) for r in range(R)])
    np.testing.assert_allclose(reader_confusion(masks, truth, K), expected)
    annotations = Annotations.from_masks(masks, classes=K)
    assert annotations.size == N * R - 2
    np.testing.assert_allclose(reader_confusion(annotations, truth, K), expected)
    np.testing.assert_allclose(reader_confusion(torch.from_numpy(masks), torch.from_numpy(truth), K), expected)


def test_confusion_of_each_image_is_counted(masks: NDArray[Any], truth: NDArray[Any]) -> None:
    expected = np.stack([[counted(masks[n, r], truth[n]) for r in range(R)] for n in range(N)])
    assert np.isnan(expected[0, :, 2]).all(), "image 0 has no class 2"
    assert np.isnan(expected[2, 1]).all(), "reader 1 did not draw image 2"
    for given in (masks, Annotations.from_masks(masks, classes=K)):
        np.testing.assert_allclose(reader_confusion(given, truth, K, per_image=True), expected)


def test_simulated_readers_have_the_confusion_that_they_state() -> None:
    truth = torch.randint(4, (8, 6, 6), generator=torch.Generator().manual_seed(2))
    readers = tumour_readers(labels_per_example=(1, 3))
    annotations = readers(truth, None, torch.Generator().manual_seed(0))
    np.testing.assert_allclose(reader_confusion(annotations, truth, 4), readers.confusion)


@pytest.mark.parametrize("per_image", [False, True])
def test_matrices_are_averaged_over_the_voxels_of_a_class(truth: NDArray[Any], per_image: bool) -> None:
    matrices = np.random.default_rng(3).dirichlet(np.ones(K), (N, R, *SPACE, K))
    expected = np.full((N, R, K, K) if per_image else (R, K, K), np.nan)
    for r in range(R):
        for k in range(K):
            if per_image:
                for n in range(N):
                    rows = [matrices[n, r, i, j, k] for i, j in np.argwhere(truth[n] == k)]
                    if rows:
                        expected[n, r, k] = np.mean(rows, 0)
            else:
                expected[r, k] = np.mean([matrices[n, r, i, j, k] for n, i, j in np.argwhere(truth == k)], 0)
    np.testing.assert_allclose(mean_confusion(matrices, truth, per_image=per_image), expected)
    one_by_one = (torch.from_numpy(image) for image in matrices)
    np.testing.assert_allclose(mean_confusion(one_by_one, truth, per_image=per_image), expected)


def test_matrices_that_are_the_same_everywhere_are_their_own_mean(truth: NDArray[Any]) -> None:
    readers = np.random.default_rng(4).dirichlet(np.ones(K), (R, K))
    matrices = np.broadcast_to(readers[None, :, None, None], (N, R, *SPACE, K, K))
    np.testing.assert_allclose(mean_confusion(matrices, truth), readers)


def test_what_readers_drew_as_matrices_is_their_confusion(masks: NDArray[Any], truth: NDArray[Any]) -> None:
    # A matrix of a voxel whose every row is what was drawn there.
    drawn = np.where(masks < 0, 0, masks)
    matrices = np.broadcast_to(np.eye(K)[drawn][..., None, :], (*drawn.shape, K, K))
    np.testing.assert_allclose(mean_confusion(matrices, truth), reader_confusion(drawn, truth, K))


def test_the_error_follows_its_sum() -> None:
    a, b = np.random.default_rng(5).dirichlet(np.ones(K), (2, R, K))
    assert confusion_rmse(a, b) == pytest.approx(np.sqrt(np.mean((a - b) ** 2)))
    assert confusion_rmse(torch.from_numpy(a), b) == confusion_rmse(a, b)
    assert confusion_rmse(a, a) == 0
    assert confusion_rmse(np.eye(2)[None], np.eye(2)[None, ::-1]) == 1


def test_absent_classes_are_skipped() -> None:
    a, b = np.random.default_rng(6).dirichlet(np.ones(K), (2, R, K))
    gaps = b.copy()
    gaps[0, 2] = gaps[1] = np.nan
    rows = ((a - b) ** 2).mean(-1)
    expected = np.sqrt((rows[0, [0, 1, 3]].mean() + rows[2].mean()) / 2)
    assert confusion_rmse(a, gaps) == pytest.approx(expected)
    assert confusion_rmse(gaps, a) == pytest.approx(expected)
    present = ~np.isnan(gaps[..., 0])
    assert confusion_rmse(a, b, present) == pytest.approx(expected)
    assert confusion_rmse(a, b, [True, False, True, True]) == pytest.approx(np.sqrt(rows[:, [0, 2, 3]].mean()))
    assert np.isnan(confusion_rmse(a, np.full_like(b, np.nan)))


def test_what_does_not_fit_is_refused(masks: NDArray[Any], truth: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="masks are of 5 images and truth of 6"):
        reader_confusion(masks[:5], truth, K)
    with pytest.raises(ValueError, match="masks are of 6 images and truth of 5"):
        reader_confusion(Annotations.from_masks(masks, classes=K), truth[:5], K)
    with pytest.raises(ValueError, match=r"image 0: masks \(5, 7\) and truth \(4, 7\) differ in shape"):
        reader_confusion(masks, truth[:, 1:], K)
    with pytest.raises(ValueError, match=r"class 3 in image 0 is outside 0\.\.2"):
        reader_confusion(masks, truth, 3)
    with pytest.raises(ValueError, match=r"image 0: matrices must be \(R, \*\(5, 7\), K, K\), got \(5, 7, 4, 4\)"):
        mean_confusion(np.zeros((N, *SPACE, K, K)), truth)
    with pytest.raises(ValueError, match=r"truth has class 3 in image 0, outside 0\.\.1"):
        mean_confusion(np.zeros((N, R, *SPACE, 2, 2)), truth)
    with pytest.raises(ValueError, match="matrices must hold at least one image"):
        mean_confusion([], [])
    with pytest.raises(ValueError, match=r"estimated must be \(R, K, K\), got \(2, 2\)"):
        confusion_rmse(np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="differ in shape"):
        confusion_rmse(np.eye(2)[None], np.eye(3)[None])
