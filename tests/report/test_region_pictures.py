"""Suspect regions of masks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truelabel.report import read_run
from truelabel.report.region_pictures import BELIEVED, BOX, READER, SIDE, draw_region, region_pictures
from truelabel.report.study import Study
from truelabel.report.suspects import find_suspects

PLACE = {"top": 2, "left": 3, "bottom": 6, "right": 9}


def test_outlines_and_box_are_where_they_belong() -> None:
    mask = np.zeros((10, 12), np.int64)
    mask[4:, :] = 1
    believed = np.zeros((10, 12), np.int64)
    believed[:, 6:] = 1
    drawn = draw_region(np.zeros((1, 10, 12)), mask, believed, PLACE)
    step = SIDE // 12
    assert drawn.shape == (10 * step, SIDE, 3)
    assert drawn[4 * step, 2].tolist() == drawn[4 * step - 1, 2].tolist() == list(READER)
    assert drawn[3 * step, 2].tolist() == [0, 0, 0]
    assert drawn[9 * step, 6 * step].tolist() == list(BELIEVED)
    for row, column in ((2, 5), (6, 5), (4, 3), (4, 9)):
        assert drawn[row * step, column * step].tolist() == list(BOX)


def test_colours_volumes_and_unknown_masks() -> None:
    picture = np.zeros((3, 10, 12), np.uint8)
    picture[0] = 200
    plain = draw_region(picture, None, None, {})
    assert (plain == [200, 0, 0]).all()
    volume = np.zeros((1, 4, 10, 12), np.uint8)
    volume[0, 3] = 90
    assert (draw_region(volume, None, None, {"slice": 3}) == 90).all()
    assert (draw_region(volume, None, None, {"slice": 99}) == 90).all()
    assert (draw_region(volume, None, None, {}) == 0).all()


def test_a_box_beyond_the_picture_is_cut() -> None:
    drawn = draw_region(np.zeros((1, 10, 10)), None, None, {**PLACE, "bottom": 99, "right": 99})
    assert drawn[-1, -1].tolist() == list(BOX)


def test_of_a_large_image_the_surroundings_are_shown() -> None:
    image = np.zeros((1, 400, 90), np.uint8)
    image[0, 300:310, 40:50] = 250
    drawn = draw_region(image, None, None, {"top": 300, "left": 40, "bottom": 310, "right": 50})
    assert drawn.shape == (SIDE, round(SIDE * 90 / 96), 3)
    factor = SIDE / 96
    rows, columns = np.nonzero((drawn == BOX).all(-1))
    # 96 rows round row 305, from 257 on; all 90 columns.
    assert (rows.min(), rows.max()) == (round(43 * factor) - 1, round(53 * factor))
    assert (columns.min(), columns.max()) == (round(40 * factor) - 1, round(50 * factor))
    assert (drawn[rows.min() + 5, columns.min() + 5] == 250).all()
    whole = draw_region(image, None, None, {"top": 0, "left": 0, "bottom": 400, "right": 90})
    assert whole.shape[0] == SIDE
    assert whole.shape[1] < SIDE / 3


def test_every_suspect_has_its_picture_and_what_is_gone_a_note(masks_trained: Path) -> None:
    run = read_run(masks_trained)
    study, suspects = Study.open(run), find_suspects(run, 9)
    pictures, notes = region_pictures(study, suspects, 9)
    assert notes == []
    assert all(exhibit is not None and exhibit.picture is not None for exhibit in pictures)
    gone = [suspects[0]._replace(example="../../etc/passwd"), suspects[1]]
    pictures, notes = region_pictures(study, gone, 9)
    assert [exhibit is None for exhibit in pictures] == [True, False]
    assert "1 regions have no picture, such as one of '../../etc/passwd'" in notes[0]
    assert [exhibit is None for exhibit in region_pictures(study, suspects, 1)[0]] == [False, True]
