"""Pictures in a folder, in the order that a table names them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal

import numpy as np
import numpy.typing as npt

ENDINGS = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""Pictures that Pillow reads, in lower case."""


def list_images(folder: str | os.PathLike[str]) -> list[str]:
    """The pictures in ``folder`` and below, told by their endings; hidden files are left out.

    Args:
        folder: where to look.

    Returns:
        Names relative to ``folder``, with forward slashes, sorted.

    Raises:
        NotADirectoryError: if ``folder`` is none.
        ValueError: if a picture is a link that leads out of ``folder``.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("b.png", "a.JPG", "notes.txt"):
        ...         pathlib.Path(folder, name).touch()
        ...     list_images(folder)
        ['a.JPG', 'b.png']
    """
    top = existing_folder(folder)
    there = (path for path in top.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    found = sorted(path.relative_to(top).as_posix() for path in there)
    names = [name for name in found if not any(part.startswith(".") for part in PurePosixPath(name).parts)]
    for name in names:
        if (top / name).is_symlink():
            inside(top, name)
    return names


def image_folder(
    folder: str | os.PathLike[str],
    files: Sequence[str],
    *,
    size: tuple[int, int] | None = None,
    mode: Literal["RGB", "L"] = "RGB",
) -> npt.NDArray[np.uint8]:
    """Read pictures into one array. Transparency is dropped and a rotation noted in EXIF is not applied.

    Args:
        folder: where the pictures are; no file outside it is read.
        files: ``(N,)`` names relative to ``folder``, in the order wanted.
        size: ``(H, W)`` to resize to (bilinear, averaging when shrinking); without it all must have one size.
        mode: ``"RGB"`` for colour, ``"L"`` for grey.

    Returns:
        ``(N, C, H, W)`` uint8, C = 3 for ``"RGB"`` and 1 for ``"L"``.

    Raises:
        FileNotFoundError: if a picture is not there.
        ValueError: if one cannot be read, has another size or more than 8 bits, is absurdly large (Pillow's
            ``MAX_IMAGE_PIXELS``), or lies outside ``folder``.

    Example:
        >>> import pathlib, tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (6, 4), "red").save(pathlib.Path(folder, "red.png"))
        ...     image_folder(folder, ["red.png", "red.png"]).shape
        (2, 3, 4, 6)
    """
    top = existing_folder(folder)
    if mode not in ("RGB", "L"):
        raise ValueError(f"mode {mode!r} is unknown: pass 'RGB' or 'L'")
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise ValueError(f"size {size!r} is not a height and a width: pass for example size=(64, 64)")
    if len(files) == 0:
        raise ValueError("files is empty: name at least one picture")
    first = _read(inside(top, files[0]), size, mode)
    images = np.empty((len(files), *first.shape), np.uint8)
    images[0] = first
    for row, name in enumerate(files[1:], start=1):
        image = _read(inside(top, name), size, mode)
        if image.shape != first.shape:
            raise ValueError(
                f"picture {name!r} is {image.shape[1]} x {image.shape[2]} (H x W) but {files[0]!r} is "
                f"{first.shape[1]} x {first.shape[2]}: pass size=(H, W) to resize all"
            )
        images[row] = image
    return images


def existing_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder without links in its path, or a one-line NotADirectoryError."""
    if not Path(folder).is_dir():
        raise NotADirectoryError(f"folder {folder} does not exist or is no folder: check the path")
    return Path(folder).resolve()


def inside(top: Path, name: str) -> Path:
    """The file ``name`` of ``top``, a folder without links in its path; what leads out of it is refused."""
    parts = PureWindowsPath(name)  # splits at both kinds of slash
    climbs = ".." in parts.parts or parts.drive or parts.root or PurePosixPath(name).is_absolute()
    path = (top / name).resolve()
    if climbs or not path.is_relative_to(top):
        raise ValueError(f"file {name!r} lies outside {top}: name pictures relative to the folder and inside it")
    if not path.is_file():
        raise FileNotFoundError(f"picture {name!r} is not in {top}: fix the name or the folder")
    return path


def _read(path: Path, size: tuple[int, int] | None, mode: str) -> npt.NDArray[np.uint8]:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as stored:
                deep = stored.mode.startswith(("I", "F"))
                image = stored.convert(mode)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ValueError(
            f"picture {path} is absurdly large ({error}): "
            "shrink it, or raise PIL.Image.MAX_IMAGE_PIXELS if you trust it"
        ) from error
    except Exception as error:  # Pillow's many readers fail on damage in as many ways
        raise ValueError(f"picture {path} cannot be read ({error}): replace it or leave it out") from error
    if deep:
        raise ValueError(f"picture {path} has more than 8 bits per channel: save it with 8, scaled as you need")
    if size is not None:
        image = image.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    pixels = np.asarray(image, np.uint8)
    return pixels[None] if mode == "L" else pixels.transpose(2, 0, 1)
