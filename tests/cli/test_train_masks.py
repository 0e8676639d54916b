"""``truelabel train`` on images and the masks of several readers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel import TrueLabelSegmenter
from truelabel.data import mask_folder
from truelabel.frames import Table

Cli = Callable[..., tuple[int, str, str]]
QUICK = ("--network", "unet:4", "--epochs", 2, "--device", "cpu")
RUN = [
    "annotators.csv",
    "confusion.csv",
    "examples.csv",
    "inputs.json",
    "label_quality.csv",
    "main",
    "model.json",
    "model.safetensors",
    "quality.json",
    "run.json",
    "source.json",
]


def column(path: Path, name: str) -> list[Any]:
    values: list[Any] = Table(path).column(name).to_pylist()
    return values


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_what_the_library_learns(cli: Cli, cells: Path, tmp_path: Path) -> None:
    arguments = ("train", cells, "--out", tmp_path / "run", *QUICK, "--batch-size", 4, "--option", "trace=0.1")
    code, printed, errors = cli(*arguments)
    assert (code, errors) == (0, "")
    assert "pixelwise-confusion on ReadImages(8 images of 12 x 16, 22 masks by 3 readers, 2 classes: 0, 1)" in printed
    wrote = f"Wrote the run to {tmp_path / 'run'}: model, metrics, label_quality.csv, annotators.csv, confusion.csv"
    assert wrote in printed.replace("\n", "")
    assert sorted(set(RUN) & {path.name for path in (tmp_path / "run").iterdir()}) == RUN
    kept = json.loads((tmp_path / "run" / "inputs.json").read_text())
    assert (kept["images"], kept["normalise"], kept["size"], kept["values"]) == (["image"], None, None, [0, 1])

    data = mask_folder(cells)
    same = TrueLabelSegmenter(
        "pixelwise-confusion", "unet:4", epochs=2, batch_size=4, device="cpu", standardize=False, random_state=0
    )
    same.set_params(method=TrueLabelSegmenter.load(tmp_path / "run").method_)
    assert same.method.options()["trace"] == 0.1  # type: ignore[union-attr]
    same.fit(data.images, data.annotations)
    loaded = TrueLabelSegmenter.load(tmp_path / "run")
    assert np.allclose(loaded.predict_proba(data.images), same.predict_proba(data.images), atol=1e-6)

    readers = tmp_path / "run" / "annotators.csv"
    assert column(readers, "reader") == ["ann", "bob", "cid"]
    assert column(readers, "images") == [8, 6, 8]
    assert np.allclose(column(readers, "skill"), same.annotator_skill_, atol=1e-6)
    found, matrix = same.predict(data.images) == 1, data.annotations.matrix()
    for r, overlap in enumerate(column(readers, "dice")):
        read = (matrix[:, r] >= 0).all((1, 2))
        mine = matrix[read, r] == 1
        both, total = (mine & found[read]).sum((1, 2)), (mine.sum((1, 2)) + found[read].sum((1, 2)))
        assert overlap == pytest.approx(np.where(total == 0, 1, 2 * both / np.maximum(total, 1)).mean())
    assert np.allclose(column(tmp_path / "run" / "confusion.csv", "probability"), same.confusion_.ravel(), atol=1e-6)


def test_a_finished_run_is_not_repeated_and_another_is_refused(cli: Cli, cells: Path, tmp_path: Path) -> None:
    arguments = ("train", cells, "--out", tmp_path, *QUICK, "--method", "cross-entropy")
    code, first, _ = cli(*arguments)
    assert code == 0
    before = snapshot(tmp_path)
    trained = {path: path.stat().st_mtime_ns for path in (tmp_path / "main").iterdir()}
    assert cli(*arguments) == (0, first, "")
    assert snapshot(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "main").iterdir()} == trained
    for changed, key in ((("--seed", 1), "seed is "), (("--patch", 8), "patch is None, not [8, 8]")):
        code, _, errors = cli(*arguments, *changed)
        assert code == 1
        assert errors.startswith(f"error: {tmp_path} holds another run ({key}")
    assert snapshot(tmp_path) == before


def test_a_run_that_was_stopped_goes_on(cli: Cli, cells: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("train", cells, *QUICK, "--method", "cross-entropy")
    assert cli(*arguments, "--out", tmp_path / "whole")[0] == 0
    saved = TrueLabelSegmenter.save

    def stop(self: TrueLabelSegmenter, folder: Path) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(TrueLabelSegmenter, "save", stop)
    assert cli(*arguments, "--out", tmp_path / "broken")[0] == 1
    assert not (tmp_path / "broken" / "model.json").exists()
    monkeypatch.setattr(TrueLabelSegmenter, "save", saved)
    code, _, errors = cli(*arguments, "--out", tmp_path / "broken")
    assert (code, errors) == (0, "")
    whole, broken = (snapshot(tmp_path / name) for name in ("whole", "broken"))
    assert whole.keys() == broken.keys()
    for name in ("annotators.csv", "confusion.csv", "inputs.json", "model.safetensors"):
        assert whole[name] == broken[name]


def test_volumes_by_patches(cli: Cli, scans: Path, tmp_path: Path) -> None:
    options = ("--method", "staple", "--option", "disputed_only=true", "--patch", "4x6x4", "--overlap", 0.25)
    sizes = ("--crop", 8, "--readers", "bob,ann", "--classes", "0=none,1=lesion")
    code, printed, errors = cli("train", scans, "--out", tmp_path, *QUICK, *options, *sizes)
    assert (code, errors) == (0, "")
    assert "4 images of 8 x 8 x 8, 8 masks by 2 readers, 2 classes: none, lesion" in printed
    kept = json.loads((tmp_path / "inputs.json").read_text())
    assert (kept["normalise"], kept["crop"], kept["values"]) == ("all", [8, 8, 8], [0, 1])
    loaded = TrueLabelSegmenter.load(tmp_path)
    assert (loaded.patch, loaded.overlap, loaded.standardize) == ((4, 6, 4), 0.25, False)
    assert loaded.classes_.tolist() == ["none", "lesion"]
    assert loaded.annotators_.tolist() == ["bob", "ann"]
    assert column(tmp_path / "confusion.csv", "true")[:4] == ["none", "none", "lesion", "lesion"]


def test_what_nobody_read_may_be_left_out(cli: Cli, cells: Path, tmp_path: Path) -> None:
    arguments = ("train", cells, "--out", tmp_path / "run", *QUICK, "--method", "cross-entropy", "--readers", "bob")
    code, _, errors = cli(*arguments)
    assert code == 1
    assert "image 'deep/p7' in" in errors
    assert errors.endswith("has no mask by any reader: add one, or pass --drop-unlabelled\n")
    code, printed, _ = cli(*arguments, "--drop-unlabelled")
    assert code == 0
    assert "6 images of 12 x 16, 6 masks by 1 readers" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{cells} --readers dan", "cells0 has no mask by reader 'dan'"),
        ("{shelf}/x.csv", "LABELS is missing: name the table or matrix of labels after"),
        ("{shelf}/none", "there is no file or folder {shelf}/none: check the path\n"),
        ("{shelf}/empty", "holds no picture, volume or array: check the path"),
        ("{shelf}/pictures", "error: LABELS is missing, and folder"),
        ("{cells}/images", "error: LABELS is missing, and folder"),
        ("{cells} --label x", "--label is for labels in a table: name it after DATA, or leave the option out"),
        ("{cells} --method annotator", "there is no method 'annotator': choose from"),
        ("{cells} --method dawid-skene", "dawid-skene is for one class an example: choose a method for pixels"),
        ("{cells} --network lenet-5", "the network gives one answer an example, but the labels are maps of 12 x 16"),
        ("{cells} --size 8 --crop 8", "size (8, 8) and crop (8, 8) are both given: pass one of them"),
        ("{cells} --size 8x8x8", "--size 8x8x8 has 3 numbers, but the pictures have 2 axes"),
        ("{cells} --patch big", "--patch must be like 64, 48x64 or 32x64x64, got 'big'"),
        ("{cells} --patch 64", "patch (64, 64) does not fit into label maps of (12, 16): make it smaller"),
        ("{cells} --overlap 1", "overlap must lie in [0, 1), got 1.0"),
        ("{cells} --normalise some", "normalise 'some' is unknown: pass 'nonzero' or 'all'"),
        ("{cells} --spacing 1", "spacing (1.0,) does not fit 2 axes"),
        ("{cells} --images scan", "error: folder"),
        ("{cells} --void 1", "all labels are of one class, 0: a classifier needs at least two"),
        ("{shelf}/x.csv {shelf}/labels.csv --patch 8", "--patch is for masks, which lie in DATA: leave LABELS out"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    arguments: str, message: str, cli: Cli, cells: Path, shelf: Path, tmp_path: Path
) -> None:
    given = arguments.format(cells=cells, shelf=shelf).split()
    code, printed, errors = cli("train", *given, "--out", tmp_path / "run", "--device", "cpu")
    assert (code, printed) == (1, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert message.replace("{shelf}", str(shelf)) in errors
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden files count
