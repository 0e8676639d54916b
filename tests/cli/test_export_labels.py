from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from truelabel import Annotations
from truelabel.data import exchange, write_mask

Cli = Callable[..., tuple[int, str, str]]

SAID = Annotations.from_matrix([["cat", "dog"], ["dog", None]], examples=["a.png", "b.png"], annotators=["ann", "eve"])
READERS: dict[str, tuple[str, Callable[[Path], Annotations]]] = {
    "label-studio": ("tasks.json", exchange.read_label_studio),
    "crowd-kit": ("labels.csv", exchange.read_crowd_kit),
    "peerannot": ("data", exchange.read_peerannot),
}


@pytest.mark.parametrize("tool", READERS)
def test_labels_come_back_from_every_tool(cli: Cli, tmp_path: Path, tool: str) -> None:
    SAID.to_table(tmp_path / "mine.csv")
    name, read = READERS[tool]
    out = tmp_path / "out" / name
    code, printed, errors = cli("export", tmp_path / "mine.csv", "--to", tool, "--out", out)
    assert (code, printed, errors) == (0, f"Wrote 3 labels to {out}\n", "")
    assert read(out).to_table().to_pylist() == SAID.to_table().to_pylist()


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Six pictures of a square, and masks of two readers, one of whom draws all of it one pixel too far right."""
    folder, rng = tmp_path / "study", np.random.default_rng(0)
    for i in range(6):
        mask = np.zeros((16, 16), int)
        row, column = rng.integers(2, 7, 2)
        mask[row : row + 6, column : column + 6] = 1
        picture = (mask * 200 + rng.integers(0, 40, (16, 16))).astype(np.uint8)
        (folder / "images").mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / "images" / f"{i}.png")
        write_mask(folder / "ann" / f"{i}.png", mask)
        write_mask(folder / "eve" / f"{i}.png", np.roll(mask, 1, axis=1))
    return folder


@pytest.mark.parametrize("tool", ["coco", "label-studio"])
def test_masks_come_back(cli: Cli, tmp_path: Path, study: Path, tool: str) -> None:
    out = tmp_path / ("coco" if tool == "coco" else "tasks.json")
    code, printed, errors = cli("export", study, "--to", tool, "--out", out, "--classes", "0=ground,1=square")
    assert (code, printed, errors) == (0, f"Wrote 12 masks to {out}\n", "")
    drawn = exchange.read_coco(sorted(out.iterdir())) if tool == "coco" else exchange.read_label_studio_masks(out)
    for image, reader, mask in drawn:
        stored = np.asarray(Image.open(study / reader / image))
        np.testing.assert_array_equal(mask, stored)
    assert (drawn.readers, len(drawn), drawn.classes) == (["ann", "eve"], 12, ("background", "square"))


QUALITY = "example,annotator,label,probability_right,suggested,suggested_probability\n"


def test_suspects_of_a_run_are_predictions(cli: Cli, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "label_quality.csv").write_text(f"{QUALITY}a.png,ann,cat,0.2,dog,0.7\nb.png,ann,dog,0.1,cat,0.9\n")
    (run / "run.json").write_text('{"method": "forward"}')
    out = tmp_path / "tasks.json"
    code, printed, errors = cli("export", run, "--to", "label-studio", "--out", out, "--limit", 1, "--prefix", "x/")
    assert (code, printed, errors) == (0, f"Wrote 1 suspects as predictions to {out}\n", "")
    (task,) = json.loads(out.read_text())
    assert task["data"] == {"image": "x/b.png", "example": "b.png", "given": "ann: dog"}
    (prediction,) = task["predictions"]
    assert (prediction["model_version"], prediction["score"]) == ("truelabel forward", 0.9)
    assert prediction["result"][0]["value"] == {"choices": ["cat"]}
    code, printed, _ = cli("export", run, "--to", "crowd-kit", "--out", tmp_path / "labels.csv")
    assert (code, exchange.read_crowd_kit(tmp_path / "labels.csv").size) == (0, 2)
    (run / "label_quality.csv").write_text("example,annotator,region,label\na,ann,1,cell\n")
    _, _, errors = cli("export", run, "--to", "crowd-kit", "--out", tmp_path / "labels.csv")
    assert "is a run on masks, which crowd-kit has no place for: pass --to label-studio" in errors


@pytest.mark.long
def test_suspects_among_masks_are_painted(cli: Cli, tmp_path: Path, study: Path) -> None:
    run = tmp_path / "run"
    options = ["--network", "unet:4", "--epochs", 30, "--learning-rate", 0.01, "--classes", "background,square"]
    assert cli("train", study, "--out", run, *options)[0] == 0
    rows = "3,eve,1,background,0.1,square,0.8,6,0,0,1,1\n"
    columns = "example,annotator,region,label,probability_right,suggested,suggested_probability,pixels,top,left,bottom"
    (run / "label_quality.csv").write_text(f"{columns},right\n{rows}")
    (run / "source.json").write_text(json.dumps({"data": str(study), "kind": "masks"}))
    out = tmp_path / "tasks.json"
    code, printed, errors = cli("export", run, "--to", "label-studio", "--out", out)
    assert (code, printed, errors) == (0, f"Wrote 1 suspects as predictions to {out}\n", "")
    (task,) = json.loads(out.read_text())
    assert task["data"]["example"] == "images/3.png"
    (result,) = task["predictions"][0]["result"]
    assert (result["type"], result["value"]["brushlabels"]) == ("brushlabels", ["square"])
    believed = exchange_mask(result)
    truth = np.asarray(Image.open(study / "ann" / "3.png")) > 0
    assert (believed & truth).sum() / (believed | truth).sum() > 0.5


def exchange_mask(result: dict[str, Any]) -> Any:
    from truelabel.data.exchange.brush import decode_brush

    return decode_brush(result["value"]["rle"], result["original_height"], result["original_width"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine.csv", "--to", "excel"], "--to excel is unknown: pass one of label-studio, crowd-kit, peerannot, coco"),
        (["none", "--to", "coco"], "there is no file or folder none: check the path"),
        (["mine.csv", "--to", "coco"], "COCO's files hold masks, but mine.csv holds labels"),
        (["mine.csv", "--to", "label-studio"], "--out out must end in .json"),
        (["mine.csv", "--to", "crowd-kit", "--limit", "3"], "--limit is for the suspects of a run, to label-studio"),
        (["mine.csv", "--to", "crowd-kit", "--classes", "a,b"], "--classes is for a folder of masks: leave it out"),
        (["study", "--to", "peerannot"], "peerannot has no place for masks, which study holds"),
        (["mine.csv", "--to", "crowd-kit"], "cannot write out: use an ending of .csv or .parquet"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    cli: Cli, tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    SAID.to_table(tmp_path / "mine.csv")
    code, printed, errors = cli("export", *arguments, "--out", "out")
    assert (code, printed) == (1, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert not Path("out").exists()
