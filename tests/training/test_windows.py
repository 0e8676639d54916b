from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from truelabel.training.windows import check_overlap, pieces, stitched, windows

SIDES = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 45)), min_size=1, max_size=3)
OVERLAPS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])


@given(sides=SIDES, overlap=OVERLAPS)
def test_windows_of_the_size_of_a_patch_cover_the_image_and_overlap_enough(
    sides: list[tuple[int, int]], overlap: float
) -> None:
    space, patch = (list(axis) for axis in zip(*sides, strict=True))
    found = windows(space, patch, overlap)
    starts = [sorted({window[axis].start for window in found}) for axis in range(len(space))]
    # All combinations of places along the axes, each once.
    assert len(found) == math.prod(map(len, starts))
    assert {tuple(side.start for side in window) for window in found} == set(itertools.product(*starts))
    for axis, (whole, wanted) in enumerate(sides):
        side = min(whole, wanted)
        assert {window[axis].stop - window[axis].start for window in found} == {side}
        assert (starts[axis][0], starts[axis][-1]) == (0, whole - side)
        steps = [after - before for before, after in itertools.pairwise(starts[axis])]
        assert all(1 <= step <= max(1, side * (1 - overlap) + 1e-9) for step in steps)
        # Equally far apart, as far as whole pixels allow.
        assert not steps or max(steps) - min(steps) <= 1


def test_windows_that_tile_do_not_overlap() -> None:
    assert [window[0].start for window in windows((12,), (4,))] == [0, 4, 8]
    assert len(windows((8, 6, 4), (4, 3, 2))) == 8


def test_no_patch_is_one_window() -> None:
    assert windows((5, 7), None) == windows((5, 7), (9, 9)) == [(slice(0, 5), slice(0, 7))]


@pytest.mark.parametrize("overlap", [-0.5, 1.0, 2.0, math.nan])
def test_an_overlap_that_leaves_gaps_or_never_ends_is_refused(overlap: float) -> None:
    for refuse in (lambda: check_overlap(overlap), lambda: windows((9,), (3,), overlap)):
        with pytest.raises(ValueError, match=rf"^overlap must lie in \[0, 1\), got {overlap}$"):
            refuse()


def test_pieces_are_the_windows_of_images() -> None:
    values = torch.rand(2, 3, 7, 5)
    covered = torch.zeros(7, 5, dtype=torch.int)
    for window, piece in pieces(values, (4, 5)):
        assert torch.equal(piece, values[:, :, window[0], window[1]])
        covered[window] += 1
    assert covered[:, 0].tolist() == [1, 1, 1, 2, 1, 1, 1]
    assert [piece.shape for _, piece in pieces(values, None)] == [values.shape]


@pytest.mark.parametrize(
    ("space", "patch"), [((9, 7), (4, 4)), ((5, 11), (5, 3)), ((6, 5, 7), (3, 4, 2)), ((4, 4), (9, 9))], ids=str
)
@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.8])
def test_an_answer_that_sees_one_pixel_does_not_depend_on_windows(
    space: tuple[int, ...], patch: tuple[int, ...], overlap: float
) -> None:
    images = torch.randn(3, 2, *space, dtype=torch.double)

    def answer(part: Tensor) -> Tensor:
        """``(N, *part, 2, 3)``."""
        last = part.movedim(1, -1)
        return torch.stack([last, last**2, last.exp()], -1)

    found = stitched(answer, images, patch, overlap)
    assert found.shape == (3, *space, 2, 3)
    torch.testing.assert_close(found, answer(images))
    assert torch.equal(stitched(answer, images, None), answer(images))


def test_where_windows_overlap_pixels_count_by_their_distance_to_the_border() -> None:
    calls: list[int] = []

    def answer(part: Tensor) -> Tensor:
        calls.append(part.shape[-1])
        return torch.full((1, 5), float(10 ** len(calls)))

    found = stitched(answer, torch.zeros(1, 1, 8), (5,), 0.4)
    assert calls == [5, 5]
    # The first window has the pixels 0 to 4, the second 3 to 7; both have the weights 1, 2, 3, 2, 1.
    shares = [(2 * 10 + 1 * 100) / 3, (1 * 10 + 2 * 100) / 3]
    torch.testing.assert_close(found[0], torch.tensor([10.0, 10.0, 10.0, *shares, 100.0, 100.0, 100.0]))


def test_probabilities_stay_probabilities() -> None:
    images = torch.randn(2, 3, 9, 10)

    def answer(part: Tensor) -> Tensor:
        """Depends on the whole window."""
        return (part * part.mean((2, 3), keepdim=True) * 50).softmax(1).movedim(1, -1)

    found = stitched(answer, images, (4, 4))
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 9, 10))
    assert not torch.allclose(found, answer(images), atol=0.1)
