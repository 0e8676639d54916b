"""Finding the files of published data sets, and saying which are not there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from truelabel.data.cases import Case
from truelabel.data.root import data_root, missing_data

_AUTHORS = "get it from its authors"


def find_tree(root: str | os.PathLike[str] | None, folders: Sequence[str], marker: str) -> Path:
    """The first of ``folders`` under the data root that holds a file like ``marker``; the last one if none does.

    Args:
        root: the data root, or the folder of the data set itself.
        folders: where the data set may lie under the root; ``"."`` is the root.
        marker: what tells it, as a glob pattern.
    """
    places = [data_root(root) / folder for folder in folders]
    return next((place for place in places if next(place.glob(marker), None) is not None), places[-1])


def either(folder: Path, file: str) -> Path:
    """A volume, plain or zipped: ``file`` ends in ``.nii``."""
    return next((path for path in (folder / file, folder / f"{file}.gz") if path.is_file()), folder / file)


def require_files(name: str, top: Path, cases: Iterable[Case], expected: str) -> None:
    """Raise a :class:`MissingDataError` that names the first files that are not there.

    Args:
        name: the data set.
        top: its folder.
        cases: what should be there.
        expected: what to name if there is no case at all.
    """
    cases = list(cases)
    if not cases:
        raise missing_data(name, top, [expected], way_out=_AUTHORS)
    files = [path for case in cases for path in (*case.pictures, *case.masks.values())]
    absent = [path.relative_to(top).as_posix() for path in files if not path.is_file()]
    if absent:
        more = [] if len(absent) <= 4 else [f"and {len(absent) - 4} more"]
        raise missing_data(name, top, [*absent[:4], *more], way_out=_AUTHORS)
