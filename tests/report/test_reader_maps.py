"""Where readers err and the network is unsure."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.report import read_run
from truelabel.report.reader_maps import OVER, doubt_maps, flat, reader_maps, tinted
from truelabel.report.study import Study
from truelabel.report.thumbnails import Thumbnail


@pytest.fixture(scope="module")
def study(masks_trained: Path) -> Study:
    return Study.open(read_run(masks_trained))


def pixels(thumbnail: Thumbnail) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    image = Image.open(io.BytesIO(base64.b64decode(thumbnail.uri.split(",")[1])))
    return np.asarray(image, np.int64)


def test_maps_are_means_of_what_the_segmenter_says(study: Study) -> None:
    images = np.stack([study.scan(name).image for name in study.names[:3]])
    maps = study.segmenter.error_maps(images)
    ann, bob = reader_maps(study, most=3)
    assert (ann.name, bob.name) == ("ann", "bob")
    assert isinstance(maps.over, np.ndarray)
    assert isinstance(maps.under, np.ndarray)
    assert bob.over_share == pytest.approx(maps.over[:, 1].mean())
    assert ann.under_share == pytest.approx(maps.under[:, 0].mean())
    highest = max(maps.over.mean(0).max(), maps.under.mean(0).max())
    green = 255 + maps.over[:, 1].mean(0) / highest * (OVER[1] - 255)
    np.testing.assert_allclose(pixels(bob.over)[..., 1], green, atol=1)


def test_images_of_several_sizes_are_averaged_alike(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = study.scan
    small = scan("p1")._replace(image=scan("p1").image[:, :16, :12])
    monkeypatch.setattr(study, "scan", lambda name: small if name == "p1" else scan(name))
    assert pixels(reader_maps(study, most=2)[0].over).shape == (96, 96, 3)


def test_doubt_has_variance_only_where_answers_are_drawn(study: Study) -> None:
    first, second = doubt_maps(study, ["p2", "p0"])
    assert (first.name, second.name) == ("p2", "p0")
    assert first.variance is not None
    assert pixels(first.entropy).shape == (20, 20, 3)
    assert first.picture != second.picture


def test_tints_run_from_white_to_the_colour() -> None:
    assert pixels(tinted(np.array([[0.0, 1.0, 2.0]]), (10, 20, 30))).tolist() == [
        [[255, 255, 255], [10, 20, 30], [10, 20, 30]]
    ]


def test_volumes_show_their_middle() -> None:
    volume = np.zeros((2, 5, 4, 3))
    volume[0, 2] = 7
    assert (flat(volume) == 7).all()
    assert flat(np.zeros((3, 4, 5))).shape == (3, 4, 5)
    assert flat(np.zeros((2, 4, 5))).shape == (4, 5)
