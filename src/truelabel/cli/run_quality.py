"""What a run folder says of its labels: which are probably wrong, by what, and where they came from."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from truelabel import Annotations, TrueLabelClassifier, TrueLabelSegmenter
    from truelabel.quality import Regions

SHOWN = 3
"""Suspects that are named in the terminal."""


@dataclass(frozen=True)
class Source:
    """Where the data of a run came from, for those who show them again.

    Attributes:
        data: what the user named, made absolute.
        labels: likewise; None where masks lie in ``data``.
        kind: "images", "table", "arrays", "text" or "masks".
        text_column: of a table of texts.
        decisions: the file of a review that was applied.
    """

    data: str
    labels: str | None
    kind: str
    text_column: str | None = None
    decisions: str | None = None

    @classmethod
    def of(
        cls, data: Path, labels: Path | None, text_column: str | None = None, decisions: Path | None = None
    ) -> Source:
        """Of the paths on the command line.

        Example:
            >>> Source.of(Path("/tmp/x.csv"), Path("/tmp/labels.csv")).kind
            'table'
        """
        from truelabel.cli.sources import ARRAYS

        if text_column is not None:
            kind = "text"
        elif labels is None:
            kind = "masks"
        elif data.is_dir():
            kind = "images"
        else:
            kind = "arrays" if data.suffix.lower() in ARRAYS else "table"
        paths = [None if path is None else str(path.absolute()) for path in (data, labels, decisions)]
        return cls(str(paths[0]), paths[1], kind, text_column, paths[2])

    @property
    def reviewer(self) -> str | None:
        """The annotator whose word is the truth, if there was a review."""
        from truelabel.decisions import REVIEWER

        return None if self.decisions is None else REVIEWER

    def save(self, run: Path) -> None:
        """Keep it in a run folder."""
        from truelabel.training.files import write_json

        write_json(run / "source.json", asdict(self))


def write_quality(
    classifier: TrueLabelClassifier,
    inputs: NDArray[Any],
    annotations: Annotations,
    out: Path,
    folds: int,
    reviewer: str | None = None,
) -> None:
    """Judge every label, by cross-validation unless ``folds`` is 0, and write what came of it.

    Args:
        classifier: fitted to these.
        inputs: ``(N, ...)``.
        annotations: of the same examples.
        out: the run folder.
        folds: in how many parts examples are held out.
        reviewer: an annotator whose word is the truth; None if nothing was reviewed.
    """
    import numpy as np

    from truelabel.cli.tables import write_columns
    from truelabel.quality import calibration, label_quality
    from truelabel.training.files import write_json

    belief = classifier.true_class_proba(inputs, annotations, folds=folds)
    belief = decided(belief, annotations, reviewer)
    held_out = classifier.out_of_fold_ if folds else None
    probs = classifier.predict_proba(inputs) if held_out is None else held_out.probs
    quality, best = label_quality(annotations, belief), belief.argmax(-1)[annotations.example]
    write_columns(
        {
            "example": annotations.examples[annotations.example],
            "annotator": annotations.annotators[annotations.annotator],
            "label": classifier.classes_[annotations.label],
            "probability_right": quality,
            "suggested": classifier.classes_[best],
            "suggested_probability": belief[annotations.example, best],
        },
        out / "label_quality.csv",
    )
    write_columns({"example": annotations.examples}, out / "examples.csv")
    _write_arrays(out / "posterior.npz", probs=probs.astype(np.float32))
    found = calibration(annotations, probs)
    write_json(
        out / "quality.json",
        {
            "out_of_sample": held_out is not None,
            "folds": 0 if held_out is None else held_out.folds,
            "classes": list(annotations.classes),
            "noise_rate": float(1 - quality.mean()),
            "calibration": {"bins": [list(row) for row in found.bins], "error": found.error},
        },
    )


def decided(belief: NDArray[Any], annotations: Annotations, reviewer: str | None) -> NDArray[Any]:
    """Beliefs ``(N, K)`` with what a reviewer said taken for the truth, so that a review comes to an end."""
    import numpy as np

    rows = np.flatnonzero(annotations.annotators[annotations.annotator] == reviewer)
    belief = belief.copy()
    belief[annotations.example[rows]] = np.eye(belief.shape[1])[annotations.label[rows]]
    return belief


def _write_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """A .npz file that appears whole or not at all."""
    import numpy as np

    from truelabel.atomic import write_atomically

    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
    write_atomically(path, stream.getvalue())


def show_suspects(out: Path) -> None:
    """Say how many labels of a run are suspected, and which are the worst."""
    import numpy as np

    from truelabel.frames import Table

    table = Table(out / "label_quality.csv")
    masks = "region" in table.columns
    label, suggested = (table.column(name).to_numpy(zero_copy_only=False) for name in ("label", "suggested"))
    right = table.column("probability_right").to_numpy()
    doubtful = np.flatnonzero(label != suggested)
    what = "regions of masks" if masks else "labels"
    typer.echo(f"Suspected of being wrong: {len(doubtful)}" + (f" {what}" if masks else f" of {len(label)} {what}"))
    example, annotator = (table.column(name).to_pylist() for name in ("example", "annotator"))
    several = len(set(annotator)) > 1
    for row in doubtful[np.argsort(right[doubtful], kind="stable")][:SHOWN].tolist():
        place = f", {table.column('pixels')[row]} pixels" if masks else ""
        by = f" by {annotator[row]}" if several else ""
        typer.echo(
            f"  {example[row]}{place}: labelled {label[row]}{by}, rather {suggested[row]} "
            f"({right[row]:.1%} likely to be right)"
        )


def region_columns(segmenter: TrueLabelSegmenter, regions: Regions, examples: Any) -> dict[str, Any]:
    """The table of suspected regions, a row each.

    Args:
        segmenter: whose readers and classes they name.
        regions: of masks.
        examples: ``(N,)``, names of the images.
    """
    import numpy as np

    axes = regions.start.shape[1]
    columns = {
        "example": np.asarray(examples, object)[regions.example].astype(str),
        "annotator": segmenter.annotators_[regions.annotator],
        "region": regions.region,
        "label": segmenter.classes_[regions.label],
        "probability_right": regions.probability_right,
        "suggested": segmenter.classes_[regions.suggested],
        "suggested_probability": regions.suggested_probability,
        "pixels": regions.pixels,
        "top": regions.start[:, -2],
        "left": regions.start[:, -1],
        "bottom": regions.stop[:, -2],
        "right": regions.stop[:, -1],
    }
    return columns | ({"slice": regions.plane} if axes > 2 else {})
