from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.data import MissingDataError, clothing1m

NAMES = ["images/0/17/2019,1345.jpg", "images/1/3/77.jpg", "images/0/2/5.jpg"]


def write(top: Path, notes: str = ".", sizes: tuple[tuple[int, int], ...] = ((60, 40), (40, 64), (40, 40))) -> Path:
    for number, (name, size) in enumerate(zip(NAMES, sizes, strict=True)):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size, (60 * number, 100, 200)).save(top / name, quality=95)
    place = top / notes
    place.mkdir(exist_ok=True)
    (place / "noisy_train_key_list.txt").write_text("\n".join(NAMES[:2]) + "\n")
    (place / "clean_test_key_list.txt").write_text(NAMES[2] + "\n")
    (place / "noisy_label_kv.txt").write_text(f"{NAMES[1]} 13\nimages/9/9/9.jpg 4\n{NAMES[0]} 2\n")
    (place / "clean_label_kv.txt").write_text(f"{NAMES[2]} 0\n")
    return top


@pytest.mark.parametrize("folder", ["clothing1m", "Clothing1M", "."])
@pytest.mark.parametrize("notes", [".", "annotations"])
def test_lists_and_labels(tmp_path: Path, folder: str, notes: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    write(tmp_path / folder, notes)
    data = clothing1m("noisy_train", tmp_path, size=28)
    assert data.inputs.shape == (2, 3, 28, 28)
    assert data.inputs.dtype == np.uint8
    assert data.labels.tolist() == [2, 13]
    assert (len(data.classes), data.classes[0], data.classes[13]) == (14, "T-Shirt", "Underwear")
    np.testing.assert_allclose(data.inputs.mean((2, 3)), [[0, 100, 200], [60, 100, 200]], atol=3)
    assert clothing1m("clean_test", tmp_path, size=28).labels.tolist() == [0]
    assert clothing1m("noisy_train", tmp_path, size=28, limit=1).labels.tolist() == [2]


def test_the_middle_is_cut_out(tmp_path: Path) -> None:
    write(tmp_path)
    wide = np.zeros((256, 512, 3), np.uint8)
    wide[:, 256 - 112 : 256 + 112] = 255
    Image.fromarray(wide).save(tmp_path / NAMES[2], quality=100, subsampling=0)
    image = clothing1m("clean_test", tmp_path).inputs[0]
    assert image.shape == (3, 224, 224)
    assert image[:, :, 8:-8].min() > 240  # JPEG blurs blocks of eight
    half = clothing1m("clean_test", tmp_path, size=112).inputs[0]
    assert half.shape == (3, 112, 112)
    assert half[:, :, 8:-8].min() > 240
    tall = wide.transpose(1, 0, 2)
    Image.fromarray(tall).save(tmp_path / NAMES[2], quality=100, subsampling=0)
    assert clothing1m("clean_test", tmp_path).inputs[0][:, 8:-8].min() > 240


def test_only_what_the_limit_asks_for_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / NAMES[1]).write_bytes(b"no picture")
    assert len(clothing1m("noisy_train", tmp_path, size=28, limit=1)) == 1
    with pytest.raises(ValueError, match=r"77.jpg"):
        clothing1m("noisy_train", tmp_path, size=28)
    (tmp_path / NAMES[1]).unlink()
    with pytest.raises(MissingDataError, match=r"clothing1m is not in .*: expected images/1/3/77.jpg; get it"):
        clothing1m("noisy_train", tmp_path, size=28)


def test_what_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    monkeypatch.setitem(clothing1m.__globals__, "MOST_BYTES", 3000)
    with pytest.raises(ValueError, match=r"noisy_train has 2 photographs, 0 GB at 28 x 28: pass limit="):
        clothing1m("noisy_train", tmp_path, size=28)
    assert len(clothing1m("noisy_train", tmp_path, size=28, limit=2)) == 2


def test_as_many_of_every_class(tmp_path: Path) -> None:
    names = [f"images/0/0/{number}.jpg" for number in range(60)]
    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(tmp_path / name, quality=95)
    labels = [number % 15 % 14 for number in range(60)]  # class 0 twice as often
    (tmp_path / "noisy_train_key_list.txt").write_text("\n".join(names))
    (tmp_path / "noisy_label_kv.txt").write_text("\n".join(f"{n} {k}" for n, k in zip(names, labels, strict=True)))
    every = clothing1m("noisy_train", tmp_path, size=4, balanced=True)
    assert np.bincount(every.labels).tolist() == [4] * 14
    few = clothing1m("noisy_train", tmp_path, size=4, limit=30, balanced=True)
    assert np.bincount(few.labels).tolist() == [2] * 14
    assert few.labels.tolist() == [*range(14), 0, *range(1, 14)], "in the order of the list"
    with pytest.raises(ValueError, match=r"balanced=True leaves nothing of 60 photographs with limit=13"):
        clothing1m("noisy_train", tmp_path, size=4, limit=13, balanced=True)


def test_damaged_lists(tmp_path: Path) -> None:
    write(tmp_path)
    for content, message in (
        (f"{NAMES[0]} 14\n", r"line 1 of .*noisy_label_kv.txt is .* not a file and a class in 0..13"),
        (f"{NAMES[0]}\n", "line 1 of"),
        (f"{NAMES[0]} 2\n", f"has no label for {NAMES[1]}"),
    ):
        (tmp_path / "noisy_label_kv.txt").write_text(content)
        with pytest.raises(ValueError, match=message):
            clothing1m("noisy_train", tmp_path, size=28)
    (tmp_path / "clean_test_key_list.txt").write_text("../secret.jpg\n")
    (tmp_path / "clean_label_kv.txt").write_text("../secret.jpg 1\n")
    with pytest.raises(ValueError, match="lies outside"):
        clothing1m("clean_test", tmp_path, size=28)
    (tmp_path / "clean_test_key_list.txt").write_text("")
    with pytest.raises(ValueError, match="names no photograph"):
        clothing1m("clean_test", tmp_path, size=28)


def test_missing_lists_and_unknown_splits(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"expected clean_val_key_list.txt, clean_label_kv.txt, images/"):
        clothing1m("clean_val", tmp_path)
    write(tmp_path)
    (tmp_path / "noisy_label_kv.txt").unlink()
    with pytest.raises(MissingDataError, match=r"expected noisy_label_kv.txt, images/"):
        clothing1m("noisy_train", tmp_path)
    with pytest.raises(ValueError, match="split 'train' is unknown: pass one of noisy_train"):
        clothing1m("train", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limit must be a whole number"):
        clothing1m("noisy_train", tmp_path, limit=0)
