"""Which tool a file comes from, where nothing else can be meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from truelabel.data.exchange.crowd_kit import COLUMNS
from truelabel.data.exchange.entries import ExchangeError, read_json
from truelabel.data.exchange.peerannot import ANSWERS

TOOLS = ("label-studio", "doccano", "cvat", "coco", "crowd-kit", "peerannot")
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")


def guess_tool(paths: Sequence[Path]) -> str:
    """The tool that wrote these files.

    Args:
        paths: files, or for peerannot a folder.

    Raises:
        ExchangeError: if they may come from any, or are archives, which are not read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "ann.json")
        ...     _ = path.write_text('{"images": [], "categories": [], "annotations": []}')
        ...     guess_tool([path])
        'coco'
    """
    refuse_archives(paths)
    tools = {_tool(path) for path in paths}
    tool = tools.pop() if len(tools) == 1 else None
    if tool is None:
        raise ExchangeError(
            f"nothing tells which tool {paths[0].name} comes from: pass --from one of {', '.join(TOOLS)}"
        )
    return tool


def refuse_archives(paths: Sequence[Path]) -> None:
    """Raise a one-line error for archives: what is in one may lead anywhere and be of any size."""
    packed = next((path for path in paths if path.suffix.lower() in ARCHIVES), None)
    if packed is not None:
        raise ExchangeError(f"{packed.name} is an archive: unpack it, and name the files in it")


def _tool(path: Path) -> str | None:
    kind = path.suffix.lower()
    if path.is_dir():
        return "peerannot" if (path / ANSWERS).is_file() else None
    if kind in (".csv", ".tsv", ".parquet"):
        from truelabel.frames import Table

        return "crowd-kit" if set(COLUMNS) <= set(Table(path).columns) else None
    if kind == ".json":
        return _json_tool(path)
    return {".xml": "cvat", ".jsonl": "doccano"}.get(kind)


TASKS = {"annotations", "completions", "predictions"}
"""What tasks of Label Studio have one of."""


def _json_tool(path: Path) -> str | None:
    content = read_json(path)
    if isinstance(content, list):
        first = content[0] if content else None
        return "label-studio" if isinstance(first, dict) and TASKS & first.keys() else None
    if not isinstance(content, dict):
        return None
    if {"images", "categories"} <= content.keys():
        return "coco"
    return "peerannot" if content and all(isinstance(value, dict) for value in content.values()) else None
