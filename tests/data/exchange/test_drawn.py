from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truelabel.data.exchange import drawn as module
from truelabel.data.exchange.drawn import Drawn, Region, Sheet, gather, picture_size
from truelabel.data.exchange.entries import ExchangeError


def shape(label: str, rows: slice, columns: slice) -> Region:
    def pixels(height: int, width: int) -> Any:
        mask = np.zeros((height, width), bool)
        mask[rows, columns] = True
        return mask

    return Region(label, pixels, f"shape {label}")


def sheet(image: str = "a.png", reader: str = "ann", size: tuple[int, int] = (2, 3), *regions: Region) -> Sheet:
    return Sheet(image, reader, size, regions)


def test_later_shapes_cover_earlier_ones() -> None:
    one = sheet("a", "ann", (2, 3), shape("x", slice(0, 2), slice(0, 2)), shape("y", slice(1, 2), slice(1, 3)))
    (mask,) = [drawn.mask for drawn in gather([one], ["y"], source="f")]
    assert mask.tolist() == [[2, 2, 0], [2, 1, 1]]


def test_background_leads_whatever_the_tool_calls_it() -> None:
    one = sheet("a", "ann", (2, 3), shape("Background", slice(0, 1), slice(0, 1)), shape("x", slice(0, 2), slice(2, 3)))
    assert gather([one], source="f").classes == ("Background", "x")
    assert gather([one], ["z", "x"], source="f").classes == ("Background", "z", "x")
    assert gather([sheet()], ["z"], source="f").classes == ("background", "z")


def test_masks_of_one_size_are_annotations() -> None:
    cell = shape("cell", slice(0, 1), slice(0, 1))
    sheets = (sheet("b", "eve"), sheet("a", "ann", (2, 3), cell), sheet("a", "eve"))
    drawn = Drawn(sheets, ("background", "cell"))
    assert (len(drawn), drawn.images, drawn.readers) == (3, ["a", "b"], ["ann", "eve"])
    annotations = drawn.annotations()
    assert annotations.classes == ("background", "cell")
    matrix = annotations.matrix()
    assert matrix[0, 0].tolist() == [[1, 0, 0], [0, 0, 0]]
    assert matrix[1].tolist() == [[[-1, -1, -1]] * 2, [[0, 0, 0]] * 2]
    with pytest.raises(ExchangeError, match="several sizes, such as 2 x 3 and 4 x 4: write them to a folder"):
        Drawn((*sheets, sheet("c", "ann", (4, 4))), ("background", "cell")).annotations()


def test_nothing_twice_and_damaged_shapes_are_errors() -> None:
    with pytest.raises(ExchangeError, match="f holds no masks"):
        gather([], source="f")
    with pytest.raises(ExchangeError, match="f has 32768 classes, more than a mask can hold: merge some"):
        gather([sheet()], [str(i) for i in range(1 << 15)], source="f")
    with pytest.raises(ExchangeError, match="f has picture 'a.png' by 'ann' twice"):
        gather([sheet(), sheet()], source="f")

    def broken(height: int, width: int) -> Any:
        raise ValueError("it is odd")

    with pytest.raises(ExchangeError, match=r"shape 3 is damaged \(it is odd\): draw or export it again"):
        list(gather([sheet("a", "ann", (2, 3), Region("x", broken, "shape 3"))], source="f"))


def test_absurd_sizes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert picture_size(9000, 9000.0, "image 1") == (9000, 9000)
    with pytest.raises(ExchangeError, match=r"image 1 is absurdly large \(100000 x 100000\): shrink it, or raise"):
        picture_size(100_000, 100_000, "image 1")
    for height in (0, -1, None, "9", 10**30):
        with pytest.raises(ExchangeError):
            picture_size(height, 10, "image 1")
    monkeypatch.setattr(module, "MOST_PIXELS", 1 << 40)
    assert picture_size(100_000, 100_000, "image 1") == (100_000, 100_000)
