from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from truelabel import Annotations
from truelabel.data import exchange, mask_folder

Cli = Callable[..., tuple[int, str, str]]

SAID = Annotations.from_matrix([["cat", "dog"], ["dog", None]], examples=["a.png", "b.png"], annotators=["ann", "eve"])


def doccano(folder: Path) -> list[Path]:
    rows = {"ann": [("a.png", "cat"), ("b.png", "dog")], "eve": [("a.png", "dog")]}
    for who, said in rows.items():
        lines = [json.dumps({"id": name, "text": "…", "label": [label]}) for name, label in said]
        (folder / f"{who}.jsonl").write_text("\n".join(lines))
    return [folder / f"{who}.jsonl" for who in rows]


def cvat(folder: Path) -> list[Path]:
    rows = {"ann": [("a.png", "cat"), ("b.png", "dog")], "eve": [("a.png", "dog")]}
    for who, said in rows.items():
        images = "".join(f'<image name="{name}"><tag label="{label}"/></image>' for name, label in said)
        (folder / f"{who}.xml").write_text(f"<annotations>{images}</annotations>")
    return [folder / f"{who}.xml" for who in rows]


def label_studio(folder: Path) -> list[Path]:
    exchange.write_label_studio(SAID, folder / "tasks.json")
    return [folder / "tasks.json"]


def crowd_kit(folder: Path) -> list[Path]:
    exchange.write_crowd_kit(SAID, folder / "crowd.csv")
    return [folder / "crowd.csv"]


def peerannot(folder: Path) -> list[Path]:
    exchange.write_peerannot(SAID, folder)
    return [folder]


TOOLS = {
    "label-studio": label_studio,
    "doccano": doccano,
    "cvat": cvat,
    "crowd-kit": crowd_kit,
    "peerannot": peerannot,
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("named", [True, False])
def test_labels_of_every_tool(cli: Cli, tmp_path: Path, tool: str, named: bool) -> None:
    out = tmp_path / "out" / "labels.csv"
    files = TOOLS[tool](tmp_path)
    code, printed, errors = cli("import", *files, "--out", out, *(("--from", tool) if named else ()))
    assert (code, errors) == (0, "")
    assert "Wrote 3 labels to" in printed
    assert Annotations.from_table(out).to_table().to_pylist() == SAID.to_table().to_pylist()


def coco(folder: Path, size: int = 16) -> list[Path]:
    """Two readers' masks of four pictures, and the pictures."""
    rng = np.random.default_rng(0)
    (folder / "pictures" / "ward").mkdir(parents=True)
    masks = []
    for i in range(4):
        name = f"ward/{i}.jpg"
        Image.fromarray(rng.integers(0, 256, (size, size), np.uint8)).save(folder / "pictures" / name)
        drawn = {reader: rng.integers(0, 2, (size, size)) for reader in ("Dr. Ann", "images")}
        masks += [exchange.DrawnMask(name, reader, mask) for reader, mask in drawn.items()]
    return exchange.write_coco(masks, ["background", "cell"], folder)


def test_masks_become_a_study_that_can_be_read(cli: Cli, tmp_path: Path) -> None:
    files = coco(tmp_path)
    study = tmp_path / "study"
    code, printed, errors = cli("import", *files, "--out", study, "--images", tmp_path / "pictures")
    assert (code, errors) == (0, "")
    assert f"Wrote 8 masks of 4 pictures by 2 readers to {study}" in printed
    assert 'for --classes: "0=background,1=cell"' in printed
    assert sorted(path.name for path in study.iterdir()) == ["Dr. Ann", "images", "reader images"]
    read = mask_folder(study)
    assert (len(read), list(read.readers)) == (4, ["Dr. Ann", "reader images"])
    expected = exchange.read_coco(files).annotations()
    np.testing.assert_array_equal(read.annotations.matrix(), expected.matrix())


@pytest.mark.parametrize("tool", ["label-studio", "cvat"])
def test_masks_of_other_tools(cli: Cli, tmp_path: Path, tool: str) -> None:
    mask = np.eye(3, 4, dtype=int)
    if tool == "label-studio":
        file = tmp_path / "tasks.json"
        exchange.write_label_studio_masks([exchange.DrawnMask("a.png", "ann", mask)], ["background", "cell"], file)
    else:
        file = tmp_path / "ann.xml"
        shape = '<mask label="cell" rle="0, 1, 4, 1, 4, 1, 1" left="0" top="0" width="4" height="3"/>'
        file.write_text(f'<annotations><image name="a.png" width="4" height="3">{shape}</image></annotations>')
    code, printed, errors = cli("import", file, "--out", tmp_path / "study")
    assert (code, errors) == (0, "")
    assert "Put the pictures into" in printed
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "study" / "ann" / "a.png")), mask)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tasks.json", "--from", "cat"], "--from cat is unknown: pass one of label-studio, doccano"),
        (["none.json"], "there is no file or folder"),
        (["ann.json", "--from", "coco"], "COCO's files hold masks, not labels: name a folder as --out, without .csv"),
        (["a.zip"], "a.zip is an archive: unpack it, and name the files in it"),
        (["odd.json"], "nothing tells which tool odd.json comes from: pass --from one of"),
        (["crowd.csv", "--question", "x"], "--question is for label-studio, not crowd-kit: leave it out"),
        (["crowd.csv", "crowd.csv"], "crowd-kit has all labels in one file, but 2 are named"),
        (["tasks.json", "--images", "."], "--images is for masks, which go to a folder"),
        (["tasks.json", "--question", "mood"], "tasks.json holds no choices: it asks label"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    label_studio(tmp_path)
    crowd_kit(tmp_path)
    Path("ann.json").write_text('{"images": [], "categories": []}')
    Path("a.zip").write_bytes(b"PK")
    Path("odd.json").write_text("[]")
    before = sorted(tmp_path.rglob("*"))
    code, printed, errors = cli("import", *arguments, "--out", "out/labels.csv")
    assert (code, printed) == (1, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_masks_are_written_all_or_nothing(cli: Cli, tmp_path: Path) -> None:
    files = coco(tmp_path)
    content: Any = json.loads(files[1].read_text())
    content["annotations"][-1]["segmentation"]["counts"] = "5"
    files[1].write_text(json.dumps(content))
    study = tmp_path / "study"
    code, _, errors = cli("import", *files, "--out", study)
    assert code == 1
    assert "is damaged (its runs cover 5 pixels, but there are 256): draw or export it again" in errors
    assert not study.exists()
    assert not list(tmp_path.glob(".*"))
    labels = cli("import", *files, "--out", tmp_path / "study", "--from", "doccano")
    assert "error: doccano has labels, not masks: end --out in .csv or .parquet" in labels[2]
