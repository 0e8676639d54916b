"""``truelabel fuse`` of masks: what it writes is what the library finds, on the grid of the images."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from truelabel.data import mask_folder, read_mask, write_mask
from truelabel.frames import Table
from truelabel.fusion import fuse_images, spatial_staple, staple, vote_masks

Cli = Callable[..., tuple[int, str, str]]
READERS = ["ann", "bob", "cid"]


def column(path: Path, name: str) -> list[Any]:
    values: list[Any] = Table(path).column(name).to_pylist()
    return values


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def foreground(mask: NDArray[Any], other: NDArray[Any]) -> float:
    """Dice of two classes, as in the books."""
    total = (mask == 1).sum() + (other == 1).sum()
    return 2 * ((mask == 1) & (other == 1)).sum() / total if total else 1.0


@pytest.mark.parametrize(
    ("name", "fuse", "options"),
    [
        ("majority-vote", vote_masks, {"ties": "highest"}),
        ("staple", staple, {"disputed_only": True, "tolerance": 1e-8}),
        ("spatial-staple", spatial_staple, {"window": 5, "anchor": 0.8}),
    ],
)
def test_the_files_hold_what_the_library_finds(
    name: str, fuse: Any, options: dict[str, Any], cli: Cli, cells: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "fused"
    given = [word for key, value in options.items() for word in ("--option", f"{key}={json.dumps(value)}")]
    code, printed, errors = cli("fuse", cells, "--method", name, "--out", out, "--probabilities", *given)
    assert (code, errors) == (0, "")
    assert "22 masks of 8 images by 3 readers, 2 classes: 0, 1" in " ".join(printed.split())
    written = f"Wrote 8 masks to {out / 'consensus'}; probabilities, annotators, confusion and fusion.json to {out}"
    assert written in printed.replace("\n", "")
    assert os.listdir(out.parent) == ["fused"]  # noqa: PTH208 - hidden files count

    data = mask_folder(cells)
    fused = fuse_images(data.annotations, partial(fuse, **options))
    for n, image in enumerate(data.names):
        mask, _ = read_mask(out / "consensus" / f"{image}.png", classes=2)
        assert np.array_equal(mask, fused.labels[n])
        probs = np.load(out / "probabilities" / f"{image}.npy")
        assert np.allclose(probs, np.moveaxis(fused.posterior[n], -1, 0), atol=1e-7)

    assert column(out / "annotators.csv", "reader") == READERS
    assert column(out / "annotators.csv", "images") == [8, 6, 8]
    skill = fused.confusion.diagonal(axis1=1, axis2=2).mean(-1)
    assert np.allclose(column(out / "annotators.csv", "skill"), skill, atol=1e-9)
    said = data.annotations
    scores = [foreground(mask, fused.labels[n]) for mask, n in zip(said.label, said.example, strict=True)]
    mean = [np.mean([s for s, r in zip(scores, said.annotator, strict=True) if r == reader]) for reader in range(3)]
    assert np.allclose(column(out / "annotators.csv", "dice"), mean)
    for reader, value, overlap in zip(READERS, skill, mean, strict=True):
        line = next(line for line in printed.splitlines() if line.startswith(f"│ {reader}"))
        assert f"{value:.1%}" in line
        assert f"{overlap:.3f}" in line
    written_cells = [column(out / "confusion.csv", key) for key in ("reader", "true", "observed")]
    assert list(zip(*written_cells, strict=True)) == [(r, t, o) for r in READERS for t in (0, 1) for o in (0, 1)]
    assert np.allclose(column(out / "confusion.csv", "probability"), fused.confusion.ravel(), atol=1e-9)

    note = json.loads((out / "fusion.json").read_text())
    assert note["options"].items() >= options.items()
    assert (note["method"], note["images"], note["masks"], note["readers"]) == (name, 8, 22, READERS)
    assert (note["classes"], note["values"], note["converged"], note["undecided"]) == ([0, 1], [0, 1], True, 0)
    assert list(note["prior"].values()) == pytest.approx(fused.prior)
    if fused.evidence is None:
        assert note["evidence"] is None
        assert "it has no model, so no evidence" in printed
    else:
        assert note["evidence"] == pytest.approx(fused.evidence)
        assert f"{name}: evidence {fused.evidence:.1f}, converged on 8 images" in printed


def test_volumes_keep_their_place(cli: Cli, scans: Path, tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel")
    code, printed, errors = cli("fuse", scans, "--method", "staple", "--out", tmp_path / "fused", "--probabilities")
    assert (code, errors) == (0, "")
    assert "11 masks of 4 images by 3 readers" in printed
    for n in range(4):
        stored = nibabel.load(scans / f"case{n}" / "ann.nii.gz")
        fused = nibabel.load(tmp_path / "fused" / "consensus" / f"case{n}.nii.gz")
        probs = nibabel.load(tmp_path / "fused" / "probabilities" / f"case{n}_1.nii.gz")
        for image in (fused, probs):
            assert np.array_equal(image.affine, stored.affine)
            assert image.header.get_zooms() == stored.header.get_zooms()
            assert image.header.get_xyzt_units()[0] == "mm"
        assert fused.get_data_dtype() == np.uint8
        assert np.array_equal(np.asarray(fused.dataobj), (probs.get_fdata() > 0.5))


def test_several_files_are_readers_of_one_image(cli: Cli, scans: Path, tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel")
    files = [scans / "case2" / f"{reader}.nii.gz" for reader in READERS]
    code, printed, errors = cli("fuse", *files, "--out", tmp_path / "fused", "--format", "parquet")
    assert (code, errors) == (0, "")
    assert "3 masks of 1 image by 3 readers" in printed
    assert sorted(snapshot(tmp_path / "fused")) == [
        "annotators.parquet",
        "confusion.parquet",
        "consensus/image.nii.gz",
        "fusion.json",
    ]
    votes = np.mean([np.asarray(nibabel.load(file).dataobj) for file in files], 0)
    fused = nibabel.load(tmp_path / "fused" / "consensus" / "image.nii.gz")
    assert np.array_equal(np.asarray(fused.dataobj), votes > 0.5)
    assert np.array_equal(fused.affine, nibabel.load(files[0]).affine)


def test_ties_and_gaps_get_the_number_that_stands_for_no_label(cli: Cli, tmp_path: Path) -> None:
    write_mask(tmp_path / "ann" / "a.png", np.array([[0, 4, 9]]))
    write_mask(tmp_path / "bob" / "a.png", np.array([[4, 4, 9]]))
    arguments = ("fuse", tmp_path / "ann" / "a.png", tmp_path / "bob" / "a.png", "--option", "ties=missing")
    code, printed, _ = cli(*arguments, "--void", 9, "--out", tmp_path / "nine")
    assert code == 0
    assert "No class for 2 of 3 pixels, tied or without labels; they are 9 in the masks" in printed
    with Image.open(tmp_path / "nine" / "consensus" / "a.png") as image:
        assert np.asarray(image).tolist() == [[9, 4, 9]]
    code, printed, _ = cli(*arguments, "--classes", "0,4,9", "--out", tmp_path / "white")
    assert "No class for 1 of 3 pixels, tied or without labels; they are 255 in the masks" in printed
    with Image.open(tmp_path / "white" / "consensus" / "a.png") as image:
        assert np.asarray(image).tolist() == [[255, 4, 9]]
    code, printed, _ = cli(*arguments, "--classes", "0=none,4=cell,9=edge")
    assert "3 classes: none, cell, edge" in " ".join(printed.split())
    assert "No class for 1 of 3 pixels, tied or without labels\nNothing was written" in printed


def test_an_image_in_which_nobody_sees_anything(cli: Cli, tmp_path: Path) -> None:
    for reader in ("ann", "bob"):
        write_mask(tmp_path / f"a_{reader}.png", np.zeros((3, 4), int))
    code, _, errors = cli("fuse", *sorted(tmp_path.glob("*.png")), "--method", "staple", "--out", tmp_path / "out")
    assert (code, errors) == (0, "")
    assert read_mask(tmp_path / "out" / "consensus" / "a.png")[0].tolist() == [[0] * 4] * 3
    assert column(tmp_path / "out" / "annotators.csv", "dice") == [1, 1]


def test_an_array_of_masks(cli: Cli, tmp_path: Path) -> None:
    masks = np.random.default_rng(0).integers(0, 2, (2, 3, 6, 7))
    masks[1, 2] = -1
    np.save(tmp_path / "masks.npy", masks)
    out = tmp_path / "out"
    code, printed, _ = cli("fuse", tmp_path / "masks.npy", "--readers", "ann,bob,cid", "--out", out)
    assert code == 0
    assert "5 masks of 2 images by 3 readers" in printed
    assert column(out / "annotators.csv", "images") == [2, 2, 1]
    fused = [np.load(out / "consensus" / f"{n}.npy") for n in (0, 1)]
    assert np.array_equal(fused[0], masks[0].sum(0) > 1)
    assert np.array_equal(fused[1], masks[1, :2].sum(0) > 1)  # tied pixels go to the lowest


def test_a_fusion_cut_short_says_so_once(cli: Cli, cells: Path, tmp_path: Path) -> None:
    arguments = ("--method", "staple", "--option", "max-iterations=1", "--option", "tolerance=0")
    code, printed, errors = cli("fuse", cells, *arguments, "--out", tmp_path / "fused")
    assert (code, errors) == (0, "")
    assert "not converged on 8 of 8 images\nRaise --option max_iterations= or tolerance= to go on" in printed
    assert json.loads((tmp_path / "fused" / "fusion.json").read_text())["converged"] is False


def test_the_same_may_be_written_again_and_another_is_refused(cli: Cli, cells: Path, tmp_path: Path) -> None:
    out = tmp_path / "fused"
    arguments = ("fuse", cells, "--out", out)
    assert cli(*arguments)[0] == 0
    before = snapshot(out)
    assert cli(*arguments)[0] == 0
    assert snapshot(out) == before
    for changed, key in (
        (("--method", "staple"), "method is 'majority-vote', not 'staple'"),
        (("--option", "ties=highest"), "options is "),
        (("--readers", "ann,bob"), "masks is 22, not 14"),
        (("--classes", "3"), "classes is [0, 1], not [0, 1, 2]"),
    ):
        code, printed, errors = cli(*arguments, *changed)
        assert (code, printed) == (1, "")
        assert errors.startswith(f"error: {out} holds another fusion ({key}")
    (out / "fusion.json").unlink()
    code, _, errors = cli(*arguments)
    assert code == 1
    assert f"{out} holds consensus but no fusion.json that says where it comes from" in errors
    assert snapshot(out) == {name: content for name, content in before.items() if name != "fusion.json"}


def test_names_of_masks_are_those_of_pictures_where_there_are_any(cli: Cli, cells: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(cells, study)
    (study / "bob" / "p5.png").rename(study / "bob" / "p55.png")
    lost = f"error: mask 'bob/p55.png' in {study} has no image 'p55': add it, or mend the name of the mask\n"
    for verb in ("fuse", "train"):
        assert cli(verb, study, "--out", tmp_path / "out") == (1, "", lost)
    assert not (tmp_path / "out").exists()
    shutil.rmtree(study / "images")
    code, printed, _ = cli("fuse", study, "--layout", "reader-folders")
    assert code == 0
    assert "22 masks of 9 images by 3 readers" in printed


def test_a_picture_that_nobody_read_is_told_of(cli: Cli, cells: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(cells, study)
    shutil.copy(study / "images" / "p0.png", study / "images" / "unread.png")
    code, printed, _ = cli("fuse", study)
    assert code == 0
    assert "Left out for want of labels: 1 image\n" in printed


def test_results_may_lie_in_the_study_and_are_no_reader(cli: Cli, cells: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(cells, study)
    arguments = ("fuse", study, "--out", study / "fused", "--probabilities")
    assert cli(*arguments)[0] == 0
    training = ("--method", "majority-vote", "--network", "unet:4", "--epochs", 1, "--device", "cpu")
    code, printed, _ = cli("train", study, "--out", study / "runs" / "first", *training)
    assert code == 0
    assert "8 images of 12 x 16, 22 masks by 3 readers" in printed
    assert cli("predict", study / "runs" / "first", study, "--out", study / "runs" / "first" / "masks")[0] == 0
    before = snapshot(study)
    code, printed, errors = cli(*arguments)
    assert (code, errors) == (0, "")
    assert "22 masks of 8 images by 3 readers" in printed
    assert snapshot(study) == before


@pytest.mark.parametrize("verb", ["fuse", "train"])
@pytest.mark.parametrize(("out", "held"), [("", "p7.png"), ("ann", "p7.png"), ("ann/deep", "p7.png")])
def test_results_do_not_go_where_masks_are(
    verb: str, out: str, held: str, cli: Cli, cells: Path, tmp_path: Path
) -> None:
    """A folder of results is not read again, so no reader's folder may become one."""
    study = tmp_path / "study"
    shutil.copytree(cells, study)
    before = snapshot(study)
    code, printed, errors = cli(verb, study, "--out", study / out)
    assert (code, printed) == (1, "")
    assert errors == f"error: --out {study / out} holds {held}, which is part of {study}: name a new folder\n"
    assert snapshot(study) == before


def test_a_failure_half_way_leaves_nothing(
    cli: Cli, cells: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fail(*_: object) -> int:
        calls.append(len(list(tmp_path.rglob("*.png"))))
        if len(calls) == 3:
            raise OSError("No space left on device")
        write_mask(Path(str(_[0])), np.zeros((2, 2), int))
        return 255

    monkeypatch.setattr("truelabel.cli.fuse_masks.save_mask", fail)
    code, _, errors = cli("fuse", cells, "--out", tmp_path / "fused")
    assert (code, errors, calls) == (1, "error: No space left on device\n", [0, 1, 2])
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ann/p0.png", "ann/p0.png is the mask of one reader: name those of several, or a folder"),
        ("ann/p0.png none.png", "there is no file or folder none.png: check the path\n"),
        ("none", "there is no file or folder none: check the path\n"),
        ("none.nii.gz", "there is no file or folder none.nii.gz: check the path\n"),
        ("ann/p0.png images/p0.png", "images/p0.png has "),
        ("ann bob", "ann is a folder beside other files: name one folder"),
        ("ann", "has no 'image' that shows how it is laid out: pass --layout reader-folders, case-folders or suffixes"),
        (". --readers dan", "has no mask by reader 'dan'"),
        (". --layout nope", "layout 'nope' is unknown"),
        (
            ". --pattern {image}_seg",
            "has no masks if read as reader-folders: pass another --layout, or their --pattern",
        ),
        (". --classes 1", "holds 1, which is not among the classes: pass it in --classes or --void"),
        (". --void white", "--void must be whole numbers"),
        (". --method glad", "glad is for one label an example: choose from majority-vote, staple, spatial-staple"),
        (". --method spatial-staple --option window=4", "window must be one odd number"),
        (". --option ties=random", "ties must be 'lowest', 'highest' or 'missing', got 'random'"),
        (". --label x", "--label is for labels of whole examples"),
        (". --grey", "--grey is for training: train on masks with `truelabel train`"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    arguments: str, message: str, cli: Cli, cells: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cells)
    code, printed, errors = cli("fuse", *arguments.split(), "--out", tmp_path / "fused")
    assert (code, printed) == (1, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert os.listdir(tmp_path) == []  # noqa: PTH208
