"""A folder with all that a fusion tells: tables, and a note of what was fused and how."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truelabel import __version__

if TYPE_CHECKING:
    from truelabel import Annotations
    from truelabel.cli.fusions import Fusion
    from truelabel.fusion import Fused

FORMATS = ("csv", "parquet")
NOTE = "fusion.json"
MASKS, PROBABILITIES = "consensus", "probabilities"
"""Folders of what is fused from masks."""

MOST_CELLS = 10_000_000
"""Rows of a table of confusion that is still written."""


def describe(fusion: Fusion, annotations: Annotations, file_format: str) -> dict[str, Any]:
    """What tells one fusion from another, as JSON has it."""
    digest = hashlib.sha256()
    for codes in (annotations.example, annotations.annotator, annotations.label):
        digest.update(codes.astype("<i4").data)
    for names in (annotations.examples, annotations.annotators):
        digest.update("\0".join(map(str, names)).encode())
    return {
        "method": fusion.name,
        "options": fusion.options,
        "seed": fusion.seed,
        "format": file_format,
        "labels": annotations.size,
        "examples": len(annotations.examples),
        "annotators": len(annotations.annotators),
        "classes": list(annotations.classes),
        "said": digest.hexdigest()[:16],
    }


def check_folder(folder: Path, described: dict[str, Any]) -> None:
    """Refuse a folder that holds another fusion, before anything is computed; the same one may be written again."""
    out = "name another folder with --out, or delete it"
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out {folder} is a file: name a folder")
    if not (folder / NOTE).exists():
        tables = (f"{name}.{ending}" for name in ("consensus", "annotators", "confusion") for ending in FORMATS)
        there = next((name for name in (MASKS, PROBABILITIES, *tables) if (folder / name).exists()), None)
        if there is not None:
            raise ValueError(f"{folder} holds {there} but no {NOTE} that says where it comes from: {out}")
        return
    try:
        theirs = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    except ValueError:
        theirs = None
    if not isinstance(theirs, dict):
        raise ValueError(f"{folder / NOTE} does not describe a fusion: {out}")
    differing = next((key for key, value in described.items() if theirs.get(key) != value), None)
    if differing is not None:
        raise ValueError(
            f"{folder} holds another fusion ({differing} is {theirs.get(differing)!r}, "
            f"not {described[differing]!r}): {out}"
        )


def consensus_table(annotations: Annotations, fused: Fused) -> dict[str, Any]:
    """A row for each example: its class, how probable that is, and how many labels it had."""
    import numpy as np

    return {
        "example": annotations.examples,
        "label": _named(annotations.classes, fused.labels),
        "probability": fused.posterior[np.arange(len(fused.labels)), fused.labels],
        "labels": annotations.counts,
    }


def annotator_table(annotations: Annotations, fused: Fused) -> dict[str, Any]:
    """A row for each annotator: labels, skill with 95% interval, agreement with the consensus (own vote included)."""
    import numpy as np

    from truelabel.metrics import annotator_skill, skill_interval

    quality = fused.posterior[annotations.example, annotations.label]
    low, high = skill_interval(annotations, quality).T
    agree = (fused.labels[annotations.example] == annotations.label).astype(np.float64)
    return {
        "annotator": annotations.annotators,
        "labels": annotations.workload,
        "skill": annotator_skill(annotations, quality),
        "skill_low": low,
        "skill_high": high,
        "agreement": annotator_skill(annotations, agree),
    }


def confusion_table(annotations: Annotations, confusion: Any, ends: Any) -> dict[str, Any]:
    """A row for each cell of each annotator's matrix ``(R, K, K)``, with its interval ``(R, K, K, 2)``."""
    cells = confusion_cells("annotator", annotations.annotators, annotations.classes, confusion)
    return {**cells, "low": ends[..., 0].ravel(), "high": ends[..., 1].ravel()}


def confusion_cells(who: str, names: Any, classes: Any, confusion: Any) -> dict[str, Any]:
    """A row for each cell of each matrix ``(R, K, K)``; ``who`` is the column of their R ``names``."""
    import numpy as np

    r, k = confusion.shape[:2]
    return {
        who: _named(names, np.repeat(np.arange(r), k * k)),
        "true": _named(classes, np.tile(np.repeat(np.arange(k), k), r)),
        "observed": _named(classes, np.tile(np.arange(k), r * k)),
        "probability": confusion.ravel(),
    }


def agreement_statistics(annotations: Annotations) -> dict[str, float | None]:
    """Agreement beyond chance; None where it is not defined."""
    from truelabel.metrics import fleiss_kappa, krippendorff_alpha

    several = bool((annotations.counts > 1).any())
    values = {
        "fleiss_kappa": fleiss_kappa(annotations) if several else math.nan,
        "krippendorff_alpha": krippendorff_alpha(annotations) if several else math.nan,
    }
    return {name: None if math.isnan(value) else value for name, value in values.items()}


def result_note(annotations: Annotations, fused: Fused) -> dict[str, Any]:
    """What a fusion found, besides the tables."""
    return {
        "evidence": fused.evidence,
        "converged": fused.converged,
        "iterations": len(fused.history),
        "prior": {str(name): float(share) for name, share in zip(annotations.classes, fused.prior, strict=True)},
        "agreement": agreement_statistics(annotations),
        "truelabel": __version__,
    }


def write_fusion(folder: Path, tables: dict[str, dict[str, Any]], note: dict[str, Any]) -> None:
    """Write all tables and the note, or nothing.

    Args:
        folder: one that :func:`check_folder` let pass.
        tables: columns by name, by name of the table.
        note: what :func:`describe` and :func:`result_note` say.
    """
    with staged(folder) as part:
        write_tables(part, tables, note)


def write_tables(folder: Path, tables: dict[str, dict[str, Any]], note: dict[str, Any]) -> None:
    """Write tables in the format of the note, and the note itself."""
    from truelabel.cli.tables import write_columns

    for name, columns in tables.items():
        write_columns(columns, folder / f"{name}.{note['format']}")
    (folder / NOTE).write_text(json.dumps(note, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder``, whose files move into it at the end, the note last; after an error nothing is left.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as top:
        ...     with staged(Path(top, "out")) as part:
        ...         _ = (part / "a.txt").write_text("whole")
        ...     sorted(path.name for path in Path(top).rglob("*"))
        ['a.txt', 'out']
    """
    folder = folder.resolve()
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        part.mkdir(parents=True)
        yield part
        names = sorted(path.relative_to(part) for path in part.rglob("*") if path.is_file())
        for name in sorted(names, key=lambda name: name == Path(NOTE)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).replace(folder / name)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _named(names: Any, codes: Any) -> Any:
    """Names at positions, without a Python object for each."""
    import pyarrow as pa

    return pa.array(list(names)).take(pa.array(codes))
