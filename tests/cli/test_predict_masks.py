"""``truelabel predict`` with a run that segments: a mask for each picture, where the picture lies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from truelabel import TrueLabelSegmenter
from truelabel.data import mask_folder, normalise_case, read_mask, resize
from truelabel.estimators.image_reading import ImageReading

Cli = Callable[..., tuple[int, str, str]]


def learned(folder: Path, run: Path, values: tuple[int, ...] = (0, 1), **settings: object) -> TrueLabelSegmenter:
    """A quick run on a folder, kept as the command line keeps it."""
    reading = ImageReading(values=values, **settings)  # type: ignore[arg-type]
    data = mask_folder(folder, normalise=reading.normalise, size=reading.size)
    segmenter = TrueLabelSegmenter("pixelwise-confusion", "unet:4", epochs=3, device="cpu", standardize=False)
    segmenter.set_params(learning_rate=0.02, batch_size=4, random_state=0)
    segmenter.fit(data.images, data.annotations)
    segmenter.reading_ = reading
    segmenter.save(run)
    return segmenter


@pytest.fixture(scope="module")
def flat(cells: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on pictures as they are."""
    run = tmp_path_factory.mktemp("flat")
    learned(cells, run, values=(0, 7))
    return run


def stored(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        return np.asarray(image)


def test_all_that_the_run_knows_of_pictures(cli: Cli, cells: Path, flat: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "answers"
    options = ("--probabilities", "--readers", "--errors", "--device", "cpu")
    code, printed, errors = cli("predict", flat, cells, "--out", out, *options)
    assert (code, errors) == (0, "")
    wrote = f"Wrote 8 masks to {out}, and errors, probabilities, readers to folders of that name in it\n"
    assert printed == f"{wrote}Left out 22 files, by name no picture, such as {cells / 'ann' / 'deep' / 'p7.png'}\n"
    segmenter, data = TrueLabelSegmenter.load(flat), mask_folder(cells)
    probs, said = segmenter.predict_proba(data.images), segmenter.annotator_proba(data.images)
    maps = segmenter.error_maps(data.images)
    expected = set()
    for n, name in enumerate(data.names):
        expected |= {f"{name}.png", f"probabilities/{name}.npy"}
        assert np.array_equal(read_mask(out / f"{name}.png")[0], 7 * probs[n].argmax(0))
        assert np.allclose(np.load(out / "probabilities" / f"{name}.npy"), probs[n], atol=1e-5)
        for r, reader in enumerate(data.readers):
            expected.add(f"readers/{reader}/{name}.png")
            assert np.array_equal(read_mask(out / "readers" / reader / f"{name}.png")[0], 7 * said[n, r].argmax(0))
            for kind in ("over", "under"):
                expected.add(f"errors/{reader}/{name}_{kind}.png")
                wrong = getattr(maps, kind)[n, r]
                assert np.allclose(stored(out / "errors" / reader / f"{name}_{kind}.png") / 255, wrong, atol=0.003)
    assert {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} == expected


def test_heat_maps_of_uncertainty(cli: Cli, cells: Path, flat: Path, tmp_path: Path) -> None:
    picture = cells / "images" / "p0.png"
    assert cli("predict", flat, picture, "--out", tmp_path / "out", "--uncertainty")[0] == 0
    maps = tmp_path / "out" / "uncertainty"
    assert {path.name for path in maps.iterdir()} == {"p0_variance_0.png", "p0_variance_7.png", "p0_entropy.png"}
    probs = TrueLabelSegmenter.load(flat).predict_proba(stored(picture)[None, None])[0]
    variance, entropy = 4 * probs.prod(0), -(probs * np.log2(probs)).sum(0)
    assert np.ptp(entropy) > 0.1, "some pixels are surer than others"
    for kind, expected in {"variance_0": variance, "variance_7": variance, "entropy": entropy}.items():
        assert np.allclose(stored(maps / f"p0_{kind}.png") / 255, expected, atol=0.003)


def test_pictures_of_other_kinds_and_sizes(cli: Cli, cells: Path, flat: Path, tmp_path: Path) -> None:
    """Colour is turned to grey, a JPEG gets a PNG, and any size is answered."""
    grey = np.pad(stored(cells / "images" / "p0.png"), ((0, 5), (0, 3)), mode="edge")
    (tmp_path / "in").mkdir()
    Image.fromarray(np.stack([grey] * 3, -1)).save(tmp_path / "in" / "a.png")
    Image.fromarray(grey).save(tmp_path / "in" / "b.jpg")
    assert cli("predict", flat, tmp_path / "in", "--out", tmp_path / "out")[0] == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["a.png", "b.png"]  # noqa: PTH208
    probs = TrueLabelSegmenter.load(flat).predict_proba(grey[None, None])[0]
    assert np.array_equal(read_mask(tmp_path / "out" / "a.png")[0], 7 * probs.argmax(0))
    assert cli("predict", flat, tmp_path / "in" / "a.png", "--out", tmp_path / "one")[0] == 0
    assert (tmp_path / "one" / "a.png").read_bytes() == (tmp_path / "out" / "a.png").read_bytes()


def test_an_answer_for_a_resized_picture_comes_back_in_its_own_size(cli: Cli, cells: Path, tmp_path: Path) -> None:
    segmenter = learned(cells, tmp_path / "run", size=(8, 8))
    arguments = ("--out", tmp_path / "out", "--probabilities")
    assert cli("predict", tmp_path / "run", cells / "images", *arguments)[0] == 0
    small = resize(stored(cells / "images" / "p3.png")[None], (8, 8))
    probs = resize(segmenter.predict_proba(small[None])[0], (12, 16))
    assert np.allclose(np.load(tmp_path / "out" / "probabilities" / "p3.npy"), probs / probs.sum(0), atol=1e-5)
    assert read_mask(tmp_path / "out" / "p3.png")[0].shape == (12, 16)
    assert np.array_equal(read_mask(tmp_path / "out" / "p3.png", classes=2)[0], probs.argmax(0))


def test_volumes_keep_their_place(cli: Cli, scans: Path, tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel")
    segmenter = learned(scans, tmp_path / "run", normalise="all", size=(8, 8, 8))
    code, _, errors = cli("predict", tmp_path / "run", scans, "--out", tmp_path / "out", "--probabilities", "--errors")
    assert (code, errors) == (0, "")
    assert sorted(path.name for path in (tmp_path / "out").glob("*.nii.gz")) == [f"case{n}.nii.gz" for n in range(4)]
    for n in range(4):
        scan = nibabel.load(scans / f"case{n}" / "image.nii.gz")
        names = [f"case{n}.nii.gz", f"probabilities/case{n}_1.nii.gz", f"errors/bob/case{n}_over.nii.gz"]
        for answer in (nibabel.load(tmp_path / "out" / name) for name in names):
            assert answer.shape == (10, 9, 8)
            assert np.array_equal(answer.affine, scan.affine)
        small = resize(normalise_case(np.asarray(scan.dataobj)[None], "all"), (8, 8, 8))
        probs = resize(segmenter.predict_proba(small[None])[0], (10, 9, 8))
        mask = nibabel.load(tmp_path / "out" / names[0])
        assert np.array_equal(np.asarray(mask.dataobj), probs.argmax(0))


def test_train_and_predict_go_together(cli: Cli, cells: Path, tmp_path: Path) -> None:
    options = ("--network", "unet:8", "--epochs", 12, "--learning-rate", 0.02, "--batch-size", 4, "--device", "cpu")
    training = ("train", cells, "--method", "majority-vote", "--readers", "ann,bob", "--validation", 0, *options)
    assert cli(*training, "--out", tmp_path / "run")[0] == 0
    assert cli("predict", tmp_path / "run", cells, "--out", tmp_path / "out")[0] == 0
    for name in ("p0", "p3", "deep/p7"):
        truth, found = (stored(folder / f"{name}.png") == 1 for folder in (cells / "ann", tmp_path / "out"))
        assert 2 * (truth & found).sum() / (truth.sum() + found.sum()) > 0.9


def test_pictures_called_after_readers_are_answered(cli: Cli, cells: Path, flat: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    for name in ("ann", "bob/p1", "p2"):
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(cells / "images" / "p0.png", new / f"{name}.png")
    shutil.copy(cells / "ann" / "p2.png", new / "p2_ann.png")
    code, printed, _ = cli("predict", flat, new, "--out", tmp_path / "out")
    assert (code, printed) == (
        0,
        f"Wrote 3 masks to {tmp_path / 'out'}\nLeft out 1 file, by name no picture, such as {new / 'p2_ann.png'}\n",
    )
    assert all((tmp_path / "out" / f"{name}.png").exists() for name in ("ann", "bob/p1", "p2"))


@pytest.mark.parametrize("options", [{"size": (8, 8)}, {"normalise": "all", "size": (8, 8)}, {"grey": True}], ids=str)
def test_python_reads_images_as_the_run_did(options: dict[str, object], cli: Cli, cells: Path, tmp_path: Path) -> None:
    learned(cells, tmp_path / "run", **options)  # type: ignore[arg-type]
    assert cli("predict", tmp_path / "run", cells, "--out", tmp_path / "out")[0] == 0
    segmenter = TrueLabelSegmenter.load(tmp_path / "run")
    names, images, grids = segmenter.read_images(cells)
    assert names == sorted([*(f"p{n}" for n in range(7)), "deep/p7"])
    probs = segmenter.predict_proba(images)
    for name, own, grid in zip(names, probs, grids, strict=True):
        mask = resize(own, grid.shape).argmax(0)
        assert np.array_equal(read_mask(tmp_path / "out" / f"{name}.png", classes=2)[0], mask)


def test_a_segmenter_saved_from_python_can_predict(cli: Cli, cells: Path, tmp_path: Path) -> None:
    data = mask_folder(cells)
    masks = np.where(data.annotations.matrix() == 1, 5, 0)
    segmenter = TrueLabelSegmenter("cross-entropy", "unet:4", epochs=1, device="cpu", random_state=0)
    segmenter.fit(data.images, masks, ["a/b", "..", "c"]).save(tmp_path / "run")
    assert cli("predict", tmp_path / "run", cells, "--out", tmp_path / "out", "--readers")[0] == 0
    assert np.array_equal(stored(tmp_path / "out" / "p1.png"), segmenter.predict(data.images)[2])
    assert sorted(os.listdir(tmp_path / "out" / "readers")) == ["_", "a_b", "c"]  # noqa: PTH208


def test_a_picture_is_never_written_over(cli: Cli, cells: Path, flat: Path, tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    shutil.copytree(cells / "images", pictures)
    before = {path: path.read_bytes() for path in pictures.rglob("*.png")}
    for data in (pictures, pictures / "p0.png"):
        code, _, errors = cli("predict", flat, data, "--out", pictures)
        assert code == 1
        assert "would put a mask in the place of" in errors
    assert {path: path.read_bytes() for path in pictures.rglob("*.png")} == before
    # Results in a folder below are no pictures when the same is asked again.
    for _ in range(2):
        code, printed, _ = cli("predict", flat, pictures, "--out", pictures / "answers")
        assert code == 0
        assert printed.startswith("Wrote 8 masks to ")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("{shelf}/none", "", "there is no file or folder {shelf}/none: check the path\n"),
        ("{shelf}/empty", "", "holds no picture, volume or array"),
        ("{shelf}/broken", "", "broken/00.png"),
        ("{shelf}/x.csv", "", "is no picture that can be read"),
        ("{shelf}/masks.npy", "", "has 2 channels in 2 dimensions, but the run learned from 1 in 2: leave it out"),
        ("{cells}", "--id task", "--id is for tables and arrays, but"),
        ("{cells}", "--device nope", "device must be one of auto, cpu"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    data: str, options: str, message: str, cli: Cli, cells: Path, flat: Path, shelf: Path, tmp_path: Path
) -> None:
    source = data.format(cells=cells, shelf=shelf)
    code, printed, errors = cli("predict", flat, source, "--out", tmp_path / "out", *options.split())
    assert (code, printed) == (1, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert message.format(shelf=shelf) in errors
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_masks_need_a_folder(cli: Cli, cells: Path, flat: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, errors = cli("predict", flat, cells, "--out", tmp_path / "file")
    assert (code, errors) == (
        1,
        f"error: --out {tmp_path / 'file'} is a file, but {flat} segments: name a folder for the masks\n",
    )
