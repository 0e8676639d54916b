"""What comes from elsewhere cannot lead out of its folder, fill the memory, or run."""

from __future__ import annotations

import ast
import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import truelabel
from truelabel.data import arrays as arrays_module
from truelabel.data import image_folder, list_images, load_array, mask_folder, read_mask, read_picture, write_mask
from truelabel.data.fetch import FetchError, _unpack

SOURCE = Path(truelabel.__file__).parent


# Paths


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a picture, and a secret beside it."""
    folder = tmp_path / "data"
    folder.mkdir()
    Image.new("RGB", (4, 4)).save(folder / "a.png")
    Image.new("RGB", (4, 4), "red").save(tmp_path / "secret.png")
    return folder


NAMES = ["../secret.png", "x/../../secret.png", "..\\secret.png", "C:\\secret.png", "C:secret.png", "//host/secret.png"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_folder(data: Path, name: str) -> None:
    with pytest.raises(ValueError, match="lies outside"):
        image_folder(data, [name])


def test_no_absolute_name_and_no_link_leads_out(data: Path) -> None:
    with pytest.raises(ValueError, match="lies outside"):
        image_folder(data, [str(data.parent / "secret.png")])
    (data / "link.png").symlink_to(data.parent / "secret.png")
    with pytest.raises(ValueError, match="'link.png' lies outside"):
        image_folder(data, ["link.png"])
    with pytest.raises(ValueError, match="'link.png' lies outside"):
        list_images(data)


def test_links_within_the_folder_are_fine_and_linked_folders_are_not_entered(data: Path) -> None:
    (data / "same.png").symlink_to(data / "a.png")
    outside = data.parent / "outside"
    outside.mkdir()
    Image.new("RGB", (4, 4)).save(outside / "b.png")
    (data / "sub").symlink_to(outside, target_is_directory=True)
    assert list_images(data) == ["a.png", "same.png"]
    with pytest.raises(ValueError, match="lies outside"):
        image_folder(data, ["sub/b.png"])


def test_masks_that_are_links_out_are_refused(data: Path) -> None:
    study = data / "study"
    Image.new("L", (4, 4)).save(data.parent / "mask.png")
    for folder in ("images", "ann"):
        (study / folder).mkdir(parents=True)
    Image.new("RGB", (4, 4)).save(study / "images" / "a.png")
    (study / "ann" / "a.png").symlink_to(data.parent / "mask.png")
    with pytest.raises(ValueError, match="lies outside"):
        mask_folder(study)


# Sizes


def png_of(width: int, height: int) -> bytes:
    """A PNG whose header promises a size, with next to nothing in it."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")
    )


def tiff_of(width: int, height: int) -> bytes:
    """A TIFF that promises a size."""
    tags = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1)]
    tags += [(278, 4, height), (279, 4, 64)]
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    return b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", len(tags)) + entries + b"\0" * 68


def nifti_of(*shape: int) -> bytes:
    """A NIfTI header that promises a shape."""
    import nibabel

    header = nibabel.Nifti1Header()
    header.set_data_dtype(np.uint8)
    header.set_data_shape((2, 2, 2))
    raw = bytearray(header.binaryblock)
    struct.pack_into("<8h", raw, 40, 3, *shape, 1, 1, 1, 1)
    struct.pack_into("<f", raw, 108, 352.0)
    raw[344:348] = b"n+1\0"
    return bytes(raw) + b"\0" * 4


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("huge.png", png_of(200_000, 200_000)),
        ("huge.tif", tiff_of(200_000, 200_000)),
        ("huge.nii", nifti_of(32_000, 32_000, 32_000)),
        ("huge.nii.gz", gzip.compress(nifti_of(32_000, 32_000, 32_000))),
    ],
    ids=["png", "tiff", "nifti", "nifti.gz"],
)
def test_headers_that_promise_too_much_are_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    readers: list[Any] = [read_picture, read_mask]
    for read in readers:
        with pytest.raises(ValueError, match="absurdly large") as error:
            read(path)
        assert "\n" not in str(error.value)
    if not name.startswith("huge.nii"):
        with pytest.raises(ValueError, match="absurdly large") as error:
            image_folder(tmp_path, [name])
        assert "\n" not in str(error.value)


def test_an_array_whose_header_promises_too_much_is_damaged(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": (1 << 50,)})
    (tmp_path / "huge.npy").write_bytes(stream.getvalue() + b"\0" * 64)
    with pytest.raises(ValueError, match="is damaged"):
        load_array(tmp_path / "huge.npy")


def test_a_packed_array_that_grows_absurdly_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(1_000_000, np.uint8))
    assert len(load_array(tmp_path / "a.npz")) == 1_000_000
    monkeypatch.setattr(arrays_module, "MOST_BYTES", 100_000)
    with pytest.raises(ValueError, match=r"'x.npy' in .*a.npz is absurdly large \(1000128 bytes from \d+\)"):
        load_array(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", x=np.zeros(1_000_000, np.uint8))
    assert len(load_array(tmp_path / "b.npz")) == 1_000_000, "what is not packed is as large as its file"


def test_a_member_of_npz_cannot_lead_out(tmp_path: Path) -> None:
    """Members are read as streams and never put anywhere, whatever they are called."""
    stream = io.BytesIO()
    np.save(stream, np.arange(3))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("../../evil.npy", stream.getvalue())
    assert load_array(tmp_path / "a.npz").tolist() == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz"]
    assert not (tmp_path.parent / "evil.npy").exists()


def test_an_archive_of_a_known_data_set_cannot_write_elsewhere(tmp_path: Path) -> None:
    """These are checked by their checksum before; this is what holds if a source went bad."""
    folder = tmp_path / "root"
    folder.mkdir()
    for evil in ("../evil.txt", "/tmp/evil-truelabel.txt"):
        with tarfile.open(folder / "a.tar", "w") as tar:
            member = tarfile.TarInfo(evil)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"evil"))
        if evil.startswith("/"):
            _unpack(folder / "a.tar")  # taken as relative
        else:
            with pytest.raises(FetchError):
                _unpack(folder / "a.tar")
        assert not Path("/tmp/evil-truelabel.txt").exists()
        assert not (tmp_path / "evil.txt").exists()


def test_a_mask_cannot_be_written_over_a_link(data: Path) -> None:
    """Files are written beside and moved into place, so that a link is replaced and not followed."""
    target = data / "mask.png"
    target.symlink_to(data.parent / "secret.png")
    before = (data.parent / "secret.png").read_bytes()
    write_mask(target, np.zeros((2, 2), int))
    assert (data.parent / "secret.png").read_bytes() == before
    assert not target.is_symlink()


# Code


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call in a file, by the name that is called, with what stands before its dot."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def keyword(call: ast.Call, name: str) -> object:
    return next((ast.literal_eval(k.value) for k in call.keywords if k.arg == name), None)


PLAIN = SOURCE / "data" / "plain_pickle.py"
"""The one reader of pickles, which knows five names and refuses all else."""


def offences(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for module in modules:
            if module.split(".")[0] in ("pickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"):
                yield f"{path.name}:{node.lineno} imports {module}"
            if module.startswith(("xml.etree.ElementTree", "xml.dom", "xml.sax", "lxml")):
                names = {alias.name for alias in node.names}
                if not names <= {"Element", "TreeBuilder"}:
                    yield f"{path.name}:{node.lineno} parses XML with {module}"
    for name, call in calls(path):
        last = name.rsplit(".", 1)[-1]
        if last == "load" and name.startswith(("np.", "numpy.")) and keyword(call, "allow_pickle") is not False:
            yield f"{path.name}:{call.lineno} {name} without allow_pickle=False"
        if last == "load" and name.startswith("torch") and keyword(call, "weights_only") is not True:
            yield f"{path.name}:{call.lineno} {name} without weights_only=True"
        careful = last == "extractall" and keyword(call, "filter") == "data"
        if name in ("eval", "exec", "os.system") or last in ("read_pickle", "extractall", "unpack_archive"):
            yield from [] if careful else [f"{path.name}:{call.lineno} calls {name}"]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nothing_loads_pickles_or_runs_what_it_reads(path: Path) -> None:
    found = list(offences(path))
    if path == PLAIN:
        assert [line.split(" ", 1)[1] for line in found] == ["imports pickle"]
    else:
        assert found == []


def test_the_check_would_see_them(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    for line in (
        *("import pickle", "from pickle import loads", "import joblib", "np.load(f)", "np.load(f, allow_pickle=True)"),
        *("torch.load(f)", "torch.load(f, weights_only=False)", "pd.read_pickle(f)", "eval(x)", "tar.extractall(x)"),
        *("import xml.etree.ElementTree as E", "from xml.etree.ElementTree import parse", "from lxml import etree"),
    ):
        path.write_text(line)
        assert list(offences(path)), line
    path.write_text("np.load(f, allow_pickle=False); torch.load(f, weights_only=True); json.load(f)")
    assert list(offences(path)) == []
