"""Masks of several readers as a folder that ``truelabel train`` and ``truelabel fuse`` read: one folder a reader."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from truelabel.cli.fusion_folder import staged

if TYPE_CHECKING:
    from truelabel.data.exchange import Drawn


def write_study(drawn: Drawn, out: Path, images: Path | None = None) -> None:
    """Write ``reader/picture.png`` for each mask, and copy pictures to ``images``; all of it, or nothing.

    Args:
        drawn: the masks; their numbers are positions in ``drawn.classes``.
        out: a new folder, or an empty one.
        images: where the pictures are; None to leave them where they are.

    Raises:
        ValueError: if ``out`` holds something, two names become one, or a picture leads out of ``images``.
        FileNotFoundError: if a picture is not there.
    """
    from truelabel.data.folder import existing_folder, inside
    from truelabel.data.masks import write_mask

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"--out {out} is there already: name a new folder")
    folder_of = _folders(drawn.readers)
    stem_of = _stems(drawn.images)
    top = None if images is None else existing_folder(images)
    pictures = {} if top is None else {name: inside(top, name) for name in drawn.images}
    with staged(out) as part:
        for image, reader, mask in drawn:
            write_mask(part / folder_of[reader] / f"{stem_of[image]}.png", mask)
        for name, picture in pictures.items():
            target = part / "images" / f"{stem_of[name]}{picture.suffix.lower()}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, target)


def _folders(readers: list[str]) -> dict[str, str]:
    """A folder for each reader; one called image would be taken for that of the pictures."""
    from truelabel.cli.mask_files import safe_name

    folders = {reader: safe_name(reader) for reader in readers}
    folders |= {r: f"reader {f}" for r, f in folders.items() if f.lower().removesuffix("s") == "image"}
    _refuse_twins(folders, "readers")
    return folders


def _stems(images: list[str]) -> dict[str, str]:
    """The name of each picture without its ending; folders in it stay."""
    from truelabel.data.rasters import ENDINGS, ending

    stems = {}
    for name in images:
        path = PurePosixPath(name.replace("\\", "/"))
        stems[name] = str(path)[: -len(ending(path.name))] if ending(path.name) in ENDINGS else str(path)
    _refuse_twins(stems, "pictures")
    return stems


def _refuse_twins(names: dict[str, str], what: str) -> None:
    owner: dict[str, str] = {}
    for name, file in names.items():
        if owner.setdefault(file.lower(), name) != name:
            raise ValueError(f"{what} {owner[file.lower()]!r} and {name!r} would be one file: rename one in the tool")
