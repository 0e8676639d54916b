"""Which file in a folder is an image, and which is whose mask of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from truelabel.data.cases import Case
from truelabel.data.folder import inside
from truelabel.data.name_patterns import NamePattern
from truelabel.data.raster_files import raster_files
from truelabel.data.rasters import ending

Layout = Literal["reader-folders", "case-folders", "suffixes"]
"""A folder for each reader, a folder for each image, or all in one with the reader in the name of the file."""


class File(NamedTuple):
    """A file that may hold a picture or mask: its name, and in parts the folders and the rest without the ending."""

    name: str
    folders: tuple[str, ...]
    stem: str


class Part(NamedTuple):
    """What a file is: part of an image, as a channel or as the mask of a reader; a picture may have no role."""

    case: str
    role: str | None
    name: str


@dataclass(frozen=True)
class Roles:
    """Who is a picture and who a reader.

    Attributes:
        images: names of the channels of pictures; None if pictures are to be left alone.
        readers: the readers wanted, in this order; None for all.
        optional: whether there may be masks only; where there is a picture, every mask must have its own all the same.
    """

    images: tuple[str, ...] | None
    readers: tuple[str, ...] | None
    optional: bool = False

    def channel(self, role: str | None) -> int | None:
        """The position among the channels, or None for a reader. Case and a plural s do not count."""
        if role is None:
            return 0
        if role in (self.readers or ()):
            return None
        names = [_plain(name) for name in (("image",) if self.images is None else self.images)]
        return names.index(_plain(role)) if _plain(role) in names else None

    def may_read(self, role: str | None) -> bool:
        """Whether this is a reader that is wanted."""
        return self.channel(role) is None and (self.readers is None or role in self.readers)


def find_cases(top: Path, layout: Layout | None, roles: Roles, pattern: str | None) -> tuple[list[Case], list[str]]:
    """The images in a folder, sorted by name, and the readers, sorted unless given.

    Args:
        top: an existing folder, without links in its path.
        layout: None to find out.
        roles: who is a picture and who a reader.
        pattern: how masks are called; by default the name of the image, of the reader, or both with ``_`` between.
    """
    files = list(_files(top))
    if not files:
        raise FileNotFoundError(f"folder {top} holds no picture, volume or array: check the path")
    layout = _guess(top, files, roles, pattern) if layout is None else layout
    if layout not in get_args(Layout):
        raise ValueError(f"layout {layout!r} is unknown: pass one of {', '.join(get_args(Layout))}")
    if layout == "reader-folders":
        parts = list(_by_reader_folder(files, NamePattern(pattern or "{image}", {"image"}), roles))
    elif layout == "case-folders":
        parts = list(_by_case_folder(files, NamePattern(pattern or "{reader}", {"reader"}, {"image"}), roles))
    else:
        parts = _by_suffix(files, NamePattern(pattern or "{image}_{reader}", {"image", "reader"}), roles)
    pictures = [part for part in parts if roles.channel(part.role) is not None and roles.images is not None]
    if roles.optional and not pictures:
        roles = replace(roles, images=None)
    masks = [part for part in parts if roles.may_read(part.role)]
    readers = sorted({str(part.role) for part in masks})
    absent = [reader for reader in roles.readers or () if reader not in readers]
    if absent:
        raise ValueError(f"folder {top} has no mask by reader {absent[0]!r}: there are {', '.join(readers) or 'none'}")
    if not readers:
        raise ValueError(f"folder {top} has no masks if read as {layout}: pass another layout=, or their pattern=")
    return _joined(top, pictures, masks, roles), list(roles.readers or readers)


def _files(top: Path) -> Iterator[File]:
    for path in raster_files(top):
        name = path.relative_to(top)
        yield File(name.as_posix(), name.parts[:-1], name.name[: -len(ending(path))])


def _plain(name: str) -> str:
    return name.lower().removesuffix("s")


def _guess(top: Path, files: Sequence[File], roles: Roles, pattern: str | None) -> Layout:
    nested = [file for file in files if file.folders]
    if not nested:
        return "suffixes"
    if any(roles.channel(file.folders[0]) is not None for file in nested):
        return "reader-folders"
    if "{reader}" in (pattern or "{reader}"):
        shape = NamePattern(pattern or "{reader}", {"reader"}, {"image"})
        if any(roles.channel(part.role) is not None for part in _by_case_folder(nested, shape, roles)):
            return "case-folders"
    raise ValueError(
        f"folder {top} has no {' or '.join(map(repr, roles.images or ('image',)))} that shows how it is laid out: pass "
        "layout='reader-folders', 'case-folders' or 'suffixes', or how pictures are called as images="
    )


def _by_reader_folder(files: Sequence[File], pattern: NamePattern, roles: Roles) -> Iterator[Part]:
    """``images/a.png``, ``reader1/a.png``; further folders are part of the name."""
    for file in (file for file in files if file.folders):
        role, *below = file.folders
        is_picture = roles.channel(role) is not None
        stems = [file.stem] if is_picture else [str(reading.image) for reading in pattern.readings(file.stem)]
        for stem in stems:
            yield Part("/".join([*below, stem]), role, file.name)


def _by_case_folder(files: Sequence[File], pattern: NamePattern, roles: Roles) -> Iterator[Part]:
    """``case1/image.png``, ``case1/reader1.png``; all folders together are the name."""
    for file in (file for file in files if file.folders):
        case, folder = "/".join(file.folders), file.folders[-1]
        if roles.channel(file.stem) is not None:
            yield Part(case, file.stem, file.name)
            continue
        mine = [reading.reader for reading in pattern.readings(file.stem) if reading.image in (None, folder)]
        if mine:
            yield Part(case, mine[0], file.name)


def _by_suffix(files: Sequence[File], pattern: NamePattern, roles: Roles) -> list[Part]:
    """``a.png``, ``a_reader1.png``.

    ``scan_01.png`` may be a picture, or the mask of ``scan`` by ``01``. It is a picture if it names its channel
    (``a_image.png``) or else if others are called after it.
    """
    whole = {file.name: "/".join([*file.folders, file.stem]) for file in files}
    options = {
        file.name: [
            Part("/".join([*file.folders, str(reading.image)]), reading.reader, file.name)
            for reading in pattern.readings(file.stem)
        ]
        for file in files
    }
    every = [part for parts in options.values() for part in parts]
    pictures = [part for part in every if roles.channel(part.role) is not None]
    if not pictures:
        named_after = {part.case for part in every if roles.may_read(part.role)}
        pictures = [Part(case, None, name) for name, case in whole.items() if case in named_after]
    cases, taken = {part.case for part in pictures}, {part.name for part in pictures}
    alone = roles.images is None or (roles.optional and not pictures)
    masks: list[Part] = []
    for name, parts in options.items():
        mine = [part for part in parts if part.case in cases]
        if name not in taken:
            masks += mine[:1] or (parts[:1] if alone else [])
        elif any(part.role is None and part.name == name for part in pictures):
            both = [part for part in mine if roles.may_read(part.role)]
            if both:
                raise ValueError(
                    f"{name!r} may be a picture or the mask of {both[0].case!r} by {both[0].role!r}: "
                    "name the readers as readers="
                )
    taken |= {part.name for part in masks}
    known = {part.role for part in masks}
    for name in (name for name in whole if name not in taken):
        lost = [part for part in options[name] if part.role in known]
        masks += lost[:1] or ([] if alone else [Part(whole[name], None, name)])
    return pictures + masks


def _joined(top: Path, pictures: Sequence[Part], masks: Sequence[Part], roles: Roles) -> list[Case]:
    """Images with all their channels; what has no counterpart, or more than one, is an error."""
    picture_of: dict[str, dict[str, str]] = {}
    mask_of: dict[str, dict[str, str]] = {}
    channels = [str(position) for position in range(len(roles.images or ()))]
    for part in pictures:
        _put(top, picture_of.setdefault(part.case, {}), str(roles.channel(part.role)), part.name)
    for part in masks:
        _put(top, mask_of.setdefault(part.case, {}), str(part.role), part.name)
    for case, files in mask_of.items():
        if roles.images is not None and case not in picture_of:
            mask = next(iter(files.values()))
            raise ValueError(
                f"mask {mask!r} in {top} has no image {case!r}: add it, or pass images=None for masks only"
            )
    for case, files in picture_of.items():
        absent = [name for name, channel in zip(roles.images or (), channels, strict=True) if channel not in files]
        if absent:
            raise ValueError(f"image {case!r} in {top} has no {absent[0]!r} beside {min(files.values())!r}: add it")
    return [
        Case(
            case,
            tuple(inside(top, picture_of[case][channel]) for channel in channels if case in picture_of),
            {reader: inside(top, file) for reader, file in mask_of.get(case, {}).items()},
        )
        for case in sorted(picture_of.keys() | mask_of.keys())
    ]


def _put(top: Path, where: dict[str, str], key: str, file: str) -> None:
    if where.setdefault(key, file) != file:
        raise ValueError(f"{where[key]!r} and {file!r} in {top} stand for the same: keep one of them")
