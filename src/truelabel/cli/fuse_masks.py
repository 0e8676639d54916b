"""``truelabel fuse`` of masks: one mask an image, and how good each reader is."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import typer

from truelabel import __version__
from truelabel.cli import fusion_folder as folders
from truelabel.cli.fusions import Fusion
from truelabel.cli.mask_files import save_mask, save_probabilities
from truelabel.cli.mask_sources import MaskImage, MaskSource
from truelabel.cli.tables import counted, show_readers
from truelabel.fusion import Fused, mask_counts
from truelabel.fusion.fused import rows_to_one
from truelabel.metrics import dice
from truelabel.types import MISSING


def fuse_masks(
    source: MaskSource, fusion: Fusion, out: Path | None, file_format: str, void: tuple[int, ...], probabilities: bool
) -> None:
    """Fuse each image by itself, write all masks and tables or nothing, and print what came of it.

    Args:
        source: the masks.
        fusion: one for masks.
        out: the folder; nothing is written if None.
        file_format: of the tables.
        void: numbers that stand for "no label" in masks.
        probabilities: whether to write those of each class too.
    """
    note = _describe(source, fusion, file_format, void)
    if out is not None:
        folders.check_folder(out, note)
    pool, stands = Pool(source), set[int]()
    with nullcontext() if out is None else folders.staged(out) as part:
        for image in source.images():
            fused = _quietly(fusion, image)
            pool.add(image, fused)
            if part is None:
                continue
            path = part / folders.MASKS / f"{image.name}{image.ending}"
            stands.add(save_mask(path, fused.labels[0], source.values, image.geometry, void))
            if probabilities:
                probs = np.moveaxis(fused.posterior[0], -1, 0)
                path = part / folders.PROBABILITIES / image.name
                save_probabilities(path, probs, source.values, image.geometry, image.ending)
        readers = pool.readers()
        note |= pool.note()
        tables = {"annotators": readers}
        if pool.counts.size <= folders.MOST_CELLS:
            cells = folders.confusion_cells("reader", source.readers, source.classes, pool.confusion)
            tables["confusion"] = cells
        if part is not None:
            folders.write_tables(part, tables, note)
    show_readers(readers, "the consensus", f"{source}")
    _tell(note, source, stands)
    if out is None:
        typer.echo("Nothing was written; name a folder with --out to keep the masks.")
        return
    also = [folders.PROBABILITIES] if probabilities else []
    names = ", ".join([*also, *tables])
    typer.echo(f"Wrote {counted({'mask': source.count})} to {out / folders.MASKS}; {names} and {folders.NOTE} to {out}")


class Pool:
    """What the images say together, as :func:`truelabel.fusion.fuse_images` pools it, without keeping them.

    Attributes:
        counts: ``(R, K, K)``, confusion weighted by the voxels of each class that a reader is expected to have seen.
    """

    def __init__(self, source: MaskSource) -> None:
        r, k = len(source.readers), len(source.classes)
        self.source = source
        self.counts, self.prior = np.zeros((r, k, k)), np.zeros(k)
        self.images, self.overlap = np.zeros(r, np.int64), np.zeros(r)
        self.evidence: list[float | None] = []
        self.converged = self.voxels = self.undecided = 0

    def add(self, image: MaskImage, fused: Fused) -> None:
        """Take one image in."""
        drawn = image.masks
        self.counts += mask_counts(drawn, fused.posterior).sum(-1, keepdims=True) * fused.confusion
        self.prior += fused.prior
        self.evidence.append(fused.evidence)
        self.converged += fused.converged
        self.voxels += fused.labels.size
        self.undecided += int((fused.labels == MISSING).sum())
        # What a reader left blank is no mistake of theirs.
        truth = np.where(drawn.label == MISSING, MISSING, fused.labels)
        self.overlap[drawn.annotator] += dice(drawn.label, truth, classes=max(2, len(self.prior)))
        self.images[drawn.annotator] += 1

    @property
    def confusion(self) -> Any:
        """``(R, K, K)``, rows sum to one."""
        return rows_to_one(self.counts)

    def readers(self) -> dict[str, Any]:
        """A row for each reader: images read, skill (mean diagonal of the confusion), mean Dice with the consensus."""
        skill = self.confusion.diagonal(axis1=1, axis2=2).mean(-1)
        return {
            "reader": list(self.source.readers),
            "images": self.images,
            "skill": skill,
            "dice": self.overlap / self.images,
        }

    def note(self) -> dict[str, Any]:
        """What the fusion found, besides the tables."""
        known = [value for value in self.evidence if value is not None]
        prior = self.prior / len(self.evidence)
        return {
            "evidence": float(sum(known)) if known else None,
            "converged": self.converged == len(self.evidence),
            "images_converged": self.converged,
            "prior": {str(name): float(share) for name, share in zip(self.source.classes, prior, strict=True)},
            "voxels": self.voxels,
            "undecided": self.undecided,
            "truelabel": __version__,
        }


def _describe(source: MaskSource, fusion: Fusion, file_format: str, void: tuple[int, ...]) -> dict[str, Any]:
    """What tells one fusion from another, as JSON has it."""
    return {
        "method": fusion.name,
        "options": fusion.options,
        "format": file_format,
        "masks": source.masks,
        "images": source.count,
        "readers": list(source.readers),
        "classes": list(source.classes),
        "values": list(source.values),
        "void": list(void),
        "said": source.digest,
    }


def _quietly(fusion: Fusion, image: MaskImage) -> Fused:
    """Fuse one image; whether it converged is told once for all of them."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fusion(image.masks)


def _tell(note: dict[str, Any], source: MaskSource, stands: set[int]) -> None:
    """How the fusion went, which pixels have no class, and what was left out: a line each."""
    method, count, open_ = note["method"], source.count, source.count - note["images_converged"]
    if note["evidence"] is None:
        typer.echo(f"{method} counts votes: it has no model, so no evidence, and nothing to converge")
    elif note["converged"]:
        typer.echo(f"{method}: evidence {note['evidence']:.1f}, converged on {counted({'image': count})}")
    else:
        typer.echo(
            f"{method}: evidence {note['evidence']:.1f}, not converged on {open_} of {counted({'image': count})}"
        )
        typer.echo("Raise --option max_iterations= or tolerance= to go on")
    if note["undecided"]:
        written = f"; they are {' and '.join(map(str, sorted(stands)))} in the masks" if stands else ""
        typer.echo(f"No class for {note['undecided']} of {note['voxels']} pixels, tied or without labels{written}")
    if any(source.left_out.values()):
        typer.echo(f"Left out for want of labels: {counted(source.left_out)}")
