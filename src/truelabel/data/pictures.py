"""Which files in a folder are pictures to be segmented, whether or not masks lie beside them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from truelabel.data.mask_layouts import Roles
from truelabel.data.name_patterns import NamePattern
from truelabel.data.raster_files import raster_files
from truelabel.data.rasters import ENDINGS, ending


class Picture(NamedTuple):
    """What it is called, and the file of each of its channels."""

    name: str
    files: tuple[Path, ...]


class Place(NamedTuple):
    """Where a file lies: its folders below the one that was named, and its name without the ending."""

    folders: tuple[str, ...]
    stem: str


class Part(NamedTuple):
    """A file as a part of a picture: the name of the picture, and which channel."""

    name: str
    channel: int


class Pictures(NamedTuple):
    """Those found, sorted by name, and the files that are none."""

    found: list[Picture]
    left_out: list[Path]


def find_pictures(
    source: Path,
    images: Sequence[str],
    readers: Collection[str] = (),
    pattern: str | None = None,
    without: Path | None = None,
) -> Pictures:
    """The pictures in a folder, or the one that a file is.

    They are what is called so: ``images/a.png``, ``a/image.png`` or ``a_image.png``. Where nothing is, all files are
    pictures, but for the mask of a reader that lies beside its picture: ``a_ann.png`` beside ``a.png``.

    Args:
        source: folder or file.
        images: names of the channels, without regard to case or a plural s.
        readers: whose masks may lie there too.
        pattern: how these are called; ``{image}_{reader}`` by default.
        without: a folder to leave out, where results are written.
    """
    if not source.exists():
        raise FileNotFoundError(f"there is no file or folder {source}: check the path")
    if source.is_file():
        if ending(source) not in ENDINGS:
            raise ValueError(f"{source} is no picture that can be read: pass {', '.join(sorted(ENDINGS))}")
        if len(images) > 1:
            raise ValueError(f"{source} is one file, but a picture has {', '.join(images)}: name a folder with them")
        return Pictures([Picture(source.name[: -len(ending(source))], (source,))], [])
    files = raster_files(source)
    if without is not None:
        files = [path for path in files if not path.resolve().is_relative_to(without.resolve())]
    if not files:
        raise ValueError(f"{source} holds no picture, volume or array")
    places = {path: _place(path, source) for path in files}
    roles = Roles(tuple(images), None)
    for way in _WAYS:
        parts = {path: part for path, place in places.items() if (part := way(place, roles)) is not None}
        if parts:
            return _joined(files, parts, images)
    if len(images) > 1:
        raise ValueError(
            f"{source} has no file or folder called {images[0]!r}: the run learned from {', '.join(images)}"
        )
    is_mask = _Masks(places.values(), readers, pattern)
    plain = {path: Part("/".join([*place.folders, place.stem]), 0) for path, place in places.items()}
    return _joined(files, {path: part for path, part in plain.items() if not is_mask(places[path])}, images)


def _place(path: Path, top: Path) -> Place:
    return Place(path.relative_to(top).parts[:-1], path.name[: -len(ending(path))])


def _by_top_folder(place: Place, roles: Roles) -> Part | None:
    channel = roles.channel(place.folders[0]) if place.folders else None
    return None if channel is None else Part("/".join([*place.folders[1:], place.stem]), channel)


def _by_name(place: Place, roles: Roles) -> Part | None:
    channel = roles.channel(place.stem)
    return None if channel is None else Part("/".join(place.folders) or place.stem, channel)


def _by_suffix(place: Place, roles: Roles) -> Part | None:
    name, _, suffix = place.stem.rpartition("_")
    channel = roles.channel(suffix) if name else None
    return None if channel is None else Part("/".join([*place.folders, name]), channel)


_WAYS: tuple[Callable[[Place, Roles], Part | None], ...] = (_by_top_folder, _by_name, _by_suffix)


class _Masks:
    """Tells masks by the names of their readers: ``a_ann`` beside ``a``."""

    def __init__(self, places: Collection[Place], readers: Collection[str], pattern: str | None) -> None:
        both = pattern is not None and "{image}" in pattern and "{reader}" in pattern
        self.pattern = NamePattern(pattern if both and pattern else "{image}_{reader}", {"image", "reader"})
        self.places, self.readers = set(places), set(readers)

    def __call__(self, place: Place) -> bool:
        readings = self.pattern.readings(place.stem)
        return any(
            way.reader in self.readers and Place(place.folders, str(way.image)) in self.places for way in readings
        )


def _joined(every: Sequence[Path], parts: dict[Path, Part], images: Sequence[str]) -> Pictures:
    files: dict[str, dict[int, Path]] = {}
    for path, part in parts.items():
        channels = files.setdefault(part.name, {})
        if part.channel in channels:
            raise ValueError(f"{channels[part.channel]} and {path} are both of picture {part.name!r}: keep one of them")
        channels[part.channel] = path
    for name, channels in files.items():
        absent = next((image for channel, image in enumerate(images) if channel not in channels), None)
        if absent is not None:
            raise ValueError(f"picture {name!r} has no {absent!r} beside {min(channels.values())}: add it")
    found = [Picture(name, tuple(files[name][channel] for channel in range(len(images)))) for name in sorted(files)]
    return Pictures(found, [path for path in every if path not in parts])
