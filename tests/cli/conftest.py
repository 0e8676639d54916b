"""The command line in this process, and a folder of a user's files, good and bad."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image
from pyarrow import csv

from truelabel.cli.main import main
from truelabel.data import write_mask

Cli = Callable[..., tuple[int, str, str]]
Columns = dict[str, list[Any]]

NAMES = np.array(["cat", "dog"])
EXAMPLES = 60


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs ``truelabel`` with these arguments: exit status, standard output, standard error."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["truelabel", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        code = left.value.code
        return (code if isinstance(code, int) else int(code is not None)), printed.out, printed.err

    return run


def write(table: Columns, *paths: Path) -> None:
    arrow = pa.table({name: pa.array(values) for name, values in table.items()})
    for path in paths:
        if path.suffix == ".csv":
            csv.write_csv(arrow, path)
        else:
            pq.write_table(arrow, path)


def truth() -> NDArray[np.int64]:
    return np.arange(EXAMPLES) % 2


def said() -> NDArray[np.int64]:
    """Three annotators: always right, right nine times in ten, and seldom there."""
    rng = np.random.default_rng(1)
    second = np.where(rng.random(EXAMPLES) < 0.1, 1 - truth(), truth())
    third = np.where(rng.random(EXAMPLES) < 0.5, truth(), -1)
    return np.column_stack([truth(), second, third])


def points() -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(EXAMPLES, 2)) + 3.0 * truth()[:, None]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clouds of points and dark and bright pictures, with what people said of them, in every format."""
    folder = tmp_path_factory.mktemp("shelf")
    ids = [f"e{n:02}" for n in range(EXAMPLES)]
    x, y = points(), said()
    example, annotator = np.nonzero(y >= 0)
    long: Columns = {
        "task": [ids[n] for n in example],
        "worker": [("ann", "bob", "cid")[r] for r in annotator],
        "label": NAMES[y[example, annotator]].tolist(),
    }
    features: Columns = {"task": ids, "east": x[:, 0].tolist(), "north": x[:, 1].tolist()}
    # In another order than the labels, so that rows are matched by name.
    mixed = np.random.default_rng(2).permutation(EXAMPLES)
    features = {name: [values[n] for n in mixed] for name, values in features.items()}
    write(features, folder / "x.csv", folder / "x.parquet")
    write(long, folder / "labels.csv", folder / "labels.parquet")
    write({"task": ids, "label": NAMES[truth()].tolist()}, folder / "single.csv")
    np.save(folder / "x.npy", x.astype(np.float32))
    np.save(folder / "labels.npy", y)
    np.save(folder / "vector.npy", truth())
    names = [[None if k < 0 else NAMES[k] for k in column] for column in y.T]
    write({"task": ids, **dict(zip(("ann", "bob", "cid"), names, strict=True))}, folder / "wide.csv")
    _pictures(folder)
    _bad_files(folder, features, long)
    return folder


@pytest.fixture(scope="session")
def _trained_run(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the points with all that `truelabel ask` reads: who said what, and p(y|x) of every example."""
    from truelabel.cli.run_quality import Source
    from truelabel.cli.runs import train_run
    from truelabel.cli.sources import LabelColumns, Reading, read_pair
    from truelabel.estimators import TrueLabelClassifier

    run = tmp_path_factory.mktemp("asked") / "run"
    inputs, annotations = read_pair(shelf / "x.csv", shelf / "labels.csv", Reading(), LabelColumns())
    classifier = TrueLabelClassifier(epochs=3, random_state=0, folder=run)
    train_run(classifier, inputs, annotations, run, Source.of(shelf / "x.csv", shelf / "labels.csv"))
    return run


@pytest.fixture
def asked_run(_trained_run: Path, tmp_path: Path) -> Path:
    """A copy of that run, to be changed at will."""
    return shutil.copytree(_trained_run, tmp_path / "run")


def _true_masks(count: int, *space: int) -> NDArray[np.int64]:
    """A block in each image, in another place each time."""
    masks = np.zeros((count, *space), np.int64)
    for n, mask in enumerate(masks):
        mask[tuple(slice(1 + (n + axis) % 3, side // 2 + 2 + n % 2) for axis, side in enumerate(space))] = 1
    return masks


def _drawn(masks: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """What three readers make of ``(N, *space)``: ann is exact, bob too far to one side, cid draws nothing."""
    return {"ann": masks, "bob": np.maximum(masks, np.roll(masks, 1, axis=-1)), "cid": np.zeros_like(masks)}


def _bright(masks: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Pictures of bytes in which the blocks are bright."""
    noise = np.random.default_rng(3).integers(0, 60, masks.shape)
    return (60 + 120 * masks + noise).astype(np.uint8)


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight pictures of 12 x 16 in a folder for each reader; bob left out the last two, one is nested."""
    folder = tmp_path_factory.mktemp("cells")
    masks = _true_masks(8, 12, 16)
    names = [f"p{n}" for n in range(7)] + ["deep/p7"]
    (folder / "images" / "deep").mkdir(parents=True)
    for name, image in zip(names, _bright(masks), strict=True):
        Image.fromarray(image).save(folder / "images" / f"{name}.png")
    for reader, own in _drawn(masks).items():
        for name, mask in list(zip(names, own, strict=True))[: 6 if reader == "bob" else 8]:
            write_mask(folder / reader / f"{name}.png", mask)
    return folder


@pytest.fixture(scope="session")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four volumes of 10 x 9 x 8 with an affine, in a folder each: image, ann, bob, and cid but for the first."""
    nibabel = pytest.importorskip("nibabel")
    folder = tmp_path_factory.mktemp("scans")
    masks = _true_masks(4, 10, 9, 8)
    for n, mask in enumerate(masks):
        (folder / f"case{n}").mkdir()
        affine = np.diag([0.75, 0.75, 3.0, 1.0])
        affine[:3, 3] = [-40.0, 7.5, n]
        image = 100.0 * mask + np.random.default_rng(n).normal(0, 20, mask.shape) - 500
        layers = {"image": image.astype(np.float32)} | {r: m[n].astype(np.uint8) for r, m in _drawn(masks).items()}
        for name, values in layers.items():
            if (n, name) != (0, "cid"):
                file = folder / f"case{n}" / f"{name}.nii.gz"
                nibabel.save(nibabel.Nifti1Image(values, affine), file)
    return folder


def _pictures(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for where, count, size in (("pictures", 24, (10, 12)), ("others", 6, (17, 9))):
        (folder / where / "deep").mkdir(parents=True)
        for n in range(count):
            pixels = rng.integers(0, 90, (*size, 3)) + 160 * (n % 2)
            name = f"deep/{n:02}.png" if n % 3 == 0 else f"{n:02}.png"
            Image.fromarray(pixels.astype(np.uint8)).save(folder / where / name)
    names = [f"deep/{n:02}.png" if n % 3 == 0 else f"{n:02}.png" for n in range(24)]
    write({"image": names, "label": [("dark", "bright")[n % 2] for n in range(24)]}, folder / "pictures.csv")


def _bad_files(folder: Path, features: Columns, long: Columns) -> None:
    (folder / "garbage.parquet").write_bytes(b"PAR1 no table")
    (folder / "garbage.npy").write_bytes(b"no array")
    (folder / "labels.xlsx").write_bytes(b"PK")
    (folder / "latin.csv").write_bytes("task,label\ncafé,a\n".encode("latin-1"))
    (folder / "empty.csv").touch()
    (folder / "rows.csv").write_text("task,worker,label\n")
    (folder / "features.csv").write_text("task,east,north\n")
    (folder / "empty").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "00.png").write_bytes(b"no picture")
    keep = [n for n, name in enumerate(long["task"]) if name != "e07"]
    write({name: [values[n] for n in keep] for name, values in long.items()}, folder / "without-e07.csv")
    write({**long, "label": ["cat"] * len(long["label"])}, folder / "one-class.csv")
    write({**long, "task": ["nobody", *long["task"][1:]]}, folder / "unknown-example.csv")
    write({**features, "north": [float("nan"), *features["north"][1:]]}, folder / "nan.csv")
    write({**features, "task": ["e01", "e01", *features["task"][2:]]}, folder / "twice.csv")
    write({**features, "north": [f"place {n}" for n in range(EXAMPLES)]}, folder / "text.csv")
    write({**features, "north": ["2026-01-31"] * EXAMPLES}, folder / "dates.csv")
    write({"image": ["00.png"], "label": ["dark"]}, folder / "one-picture.csv")
    write({"image": ["none.png", "01.png"], "label": ["dark", "bright"]}, folder / "no-picture.csv")
    hole = points()
    hole[4, 1] = np.nan
    np.save(folder / "nan.npy", hole)
    np.save(folder / "text.npy", np.array([["a", "b"]]))
    np.save(folder / "none.npy", np.empty((0, 2)))
    silent = said()
    silent[:, 2] = -1
    np.save(folder / "silent.npy", silent)
    np.save(folder / "short.npy", said()[:50])
    np.save(folder / "masks.npy", np.zeros((4, 2, 3, 3), np.int64))
    np.save(folder / "nothing.npy", np.full((5, 2), -1))
    (folder / "mute.csv").write_text("task,worker,label\n1,ann,\n2,bob,\n")
