"""The suspects as the page shows them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from truelabel.report import read_run
from truelabel.report.gallery import build_gallery
from truelabel.report.suspects import find_suspects


def test_items_are_the_suspects_and_share_pictures(trained: Path) -> None:
    run = read_run(trained)
    gallery, suspects = build_gallery(run, 500, 500), find_suspects(run, 500)
    assert [item["example"] for item in gallery.items] == [suspect.example for suspect in suspects]
    assert len(gallery.pictures) == len({suspect.example for suspect in suspects}) < len(suspects)
    places = {item["example"]: item["picture"] for item in gallery.items}
    assert all(places[item["example"]] == item["picture"] for item in gallery.items)
    assert all(picture["tiny"] for picture in gallery.pictures)
    for item, suspect in zip(gallery.items, suspects, strict=True):
        assert abs(item["probability"] / suspect.probability - 1) < 1e-5
        assert (item["label"], item["suggested"]) == (suspect.label, suspect.suggested)
    json.dumps(gallery.items, allow_nan=False)


def test_limits_are_kept(trained: Path) -> None:
    gallery = build_gallery(read_run(trained), 10, 3)
    assert len(gallery.items) == 10
    assert [n for n, item in enumerate(gallery.items) if "picture" in item][:3] == [0, 1, 2]
    assert len(gallery.pictures) <= 3
    assert build_gallery(read_run(trained), 10, 0).pictures == []


def test_masks_come_with_maps(masks_trained: Path) -> None:
    gallery = build_gallery(read_run(masks_trained), 9, 9)
    assert [item["region"] for item in gallery.items] == ["1", "2"]
    assert gallery.items[0]["place"]["pixels"] == 30
    assert len(gallery.pictures) == 2
    assert [reader.name for reader in gallery.readers] == ["ann", "bob"]
    assert [doubt.name for doubt in gallery.doubts] == ["p1", "p3", "p0", "p2"]
    assert build_gallery(read_run(masks_trained), 9, 0).readers == []


def test_masks_without_their_study_are_shown_by_name(masks_run: Path, masks_trained: Path, tmp_path: Path) -> None:
    source = json.loads((masks_run / "source.json").read_text())
    shutil.copytree(masks_trained.parent / "study" / "images", tmp_path / "half" / "images")
    for data in (tmp_path / "gone", tmp_path / "half"):
        (masks_run / "source.json").write_text(json.dumps({**source, "data": str(data)}))
        gallery = build_gallery(read_run(masks_run), 9, 9)
        assert [item["example"] for item in gallery.items] == ["p1", "p3"]
        assert gallery.pictures == []
        assert gallery.notes[0].startswith("There are no maps and no pictures: ")
