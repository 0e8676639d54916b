"""Pictures, volumes and masks in a folder, without what truelabel itself wrote there."""

from __future__ import annotations

import json
from pathlib import Path

from truelabel.data.rasters import ENDINGS, ending

NOTES = ("fusion.json", "run.json")
"""Files by which a folder of results is known; each has the digest of what was ``said``."""


def raster_files(top: Path) -> list[Path]:
    """The files in ``top`` and below that may hold a picture, volume or mask, sorted.

    Hidden files are left out, and folders below ``top`` that hold a fusion or a run, so that a study may keep its
    results beside its readers.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as top:
        ...     for name in ("images/a.png", "notes.txt", "fused/consensus/a.png"):
        ...         Path(top, name).parent.mkdir(parents=True, exist_ok=True)
        ...         Path(top, name).touch()
        ...     _ = Path(top, "fused", "fusion.json").write_text('{"method": "staple", "said": "1f"}')
        ...     [path.relative_to(top).as_posix() for path in raster_files(Path(top))]
        ['images/a.png']
    """
    paths = sorted(top.rglob("*"))
    ours = {path.parent for path in paths if path.name in NOTES and path.parent != top and _tells(path)}
    return [
        path
        for path in paths
        if ending(path) in ENDINGS
        and not any(part.startswith(".") for part in path.relative_to(top).parts)
        and ours.isdisjoint(path.parents)
        and path.is_file()
    ]


def _tells(note: Path) -> bool:
    """Whether a note is one of truelabel's, and no file of the user's that is called alike."""
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and {"method", "said"} <= told.keys()
