"""What is known so far, from a run folder or from labels alone: the ground on which further labels are asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truelabel import Annotations
    from truelabel.cli.sources import LabelColumns

FILES = ("posterior.npz", "examples.csv", "label_quality.csv")
"""What a run folder must hold besides the model."""


@dataclass(frozen=True, eq=False)
class Known:
    """All that is known of examples and annotators.

    Attributes:
        posterior: ``(N, K)``, from inputs, if there were any, and labels.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``.
        annotations: the labels given.
        origin: in words, where it comes from.
        reviewer: an annotator whose word is the truth, and who is not asked again; None if nothing was reviewed.
    """

    posterior: NDArray[np.float64]
    confusion: NDArray[np.float64]
    annotations: Annotations
    origin: str
    reviewer: str | None = None

    def capacity(self, most: int | None) -> NDArray[np.int64] | int | None:
        """Labels that each annotator may be asked for, ``most`` or any number, and none of the reviewer."""
        import numpy as np

        if self.reviewer is None:
            return most
        limits = np.full(len(self.annotations.annotators), len(self.annotations.examples) if most is None else most)
        limits[self.annotations.annotators == self.reviewer] = 0
        return limits


def known_from_labels(labels: Path, columns: LabelColumns) -> Known:
    """Dawid–Skene on a table or matrix of labels."""
    import numpy as np

    from truelabel.fusion import dawid_skene

    annotations = columns.annotations(labels)
    if not (annotations.counts > 1).any():
        raise ValueError(
            f"no example of {labels} has two labels, so nothing tells how good annotators are: learn it from the "
            "inputs with `truelabel train`, then ask its run"
        )
    fused = dawid_skene(annotations)
    return Known(
        fused.posterior.astype(np.float64, copy=False), fused.confusion, annotations, f"dawid-skene on {annotations}"
    )


def known_from_run(run: Path, pool: Path | None = None) -> Known:
    """The network's answers, the labels and the matrices that `truelabel train` left in a folder.

    Args:
        run: the folder.
        pool: inputs of further examples, read as those of the run; what is called as an example of the run is left
            out, but for rows of arrays, which are always new.
    """
    import numpy as np

    from truelabel import Annotations
    from truelabel.cli.run_quality import decided
    from truelabel.coding import class_names
    from truelabel.estimators import TrueLabelClassifier
    from truelabel.estimators.storage import stored_kind
    from truelabel.frames import Table
    from truelabel.fusion import posterior_given

    if stored_kind(run) == "TrueLabelSegmenter":
        raise ValueError(f"{run} learned from masks: further labels are asked for whole examples only")
    absent = next((name for name in FILES if not (run / name).is_file()), None)
    if absent is not None:
        raise ValueError(f"{run} has no {absent}: give the same `truelabel train` command again, which adds it")
    classifier = TrueLabelClassifier.load(run)
    names = Table(run / "examples.csv").names("example").to_pylist()
    annotations = Annotations.from_table(
        run / "label_quality.csv",
        example="example",
        annotator="annotator",
        label="label",
        examples=names,
        annotators=class_names(classifier.annotators_),
        classes=class_names(classifier.classes_),
    )
    probs = _read_probs(run / "posterior.npz", (len(names), len(classifier.classes_)))
    if pool is not None:
        fresh, inputs = _new_examples(run, pool, annotations)
        probs = np.concatenate([probs, classifier.predict_proba(inputs)])
        annotations = replace(annotations, examples=fresh)
    reviewer = _reviewer(run)
    posterior = decided(posterior_given(annotations, probs, classifier.confusion_), annotations, reviewer)
    origin = f"{classifier.method_.name} on {annotations}"
    return Known(posterior, classifier.confusion_, annotations, origin, reviewer)


def _reviewer(run: Path) -> str | None:
    from truelabel.decisions import REVIEWER
    from truelabel.training.files import read_json

    path = run / "source.json"
    return REVIEWER if path.is_file() and read_json(path).get("decisions") else None


def read_costs(path: Path | None, annotators: NDArray[Any]) -> NDArray[np.float64] | None:
    """The cost of a label by each annotator: ``(R,)``; 1 for those whom the table leaves out."""
    import numpy as np

    from truelabel.frames import Table, TableError, listing, looks_like

    if path is None:
        return None
    table = Table(path)
    who = looks_like(table, "annotator")
    if who is None or "cost" not in table.columns:
        raise TableError(f"{path} must have columns annotator and cost: it has {listing(table.columns)}")
    position = {str(name): r for r, name in enumerate(annotators)}
    costs, seen = np.ones(len(annotators)), set[str]()
    for name, cost in zip(table.names(who).to_pylist(), table.column("cost").to_pylist(), strict=True):
        if str(name) not in position:
            raise ValueError(f"{path} names annotator {name}, who gave no label: remove the row")
        if str(name) in seen:
            raise ValueError(f"{path} names annotator {name} twice: remove a row")
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 < cost < float("inf"):
            raise ValueError(f"{path} gives annotator {name} the cost {cost}: it must be a number above 0")
        costs[position[str(name)]] = cost
        seen.add(str(name))
    return costs


def _read_probs(path: Path, shape: tuple[int, int]) -> NDArray[np.float64]:
    import numpy as np

    from truelabel.data import load_array

    probs = load_array(path, "probs")
    if probs.shape != shape or probs.dtype.kind != "f" or not np.isfinite(probs).all():
        again = "delete it and give the same `truelabel train` command again"
        raise ValueError(f"{path} does not hold probabilities {shape} of the examples and classes of its run: {again}")
    return probs.astype(np.float64)


def _new_examples(run: Path, pool: Path, annotations: Annotations) -> tuple[NDArray[Any], Any]:
    """Names of all examples, as text, those of the pool behind; and the inputs of the latter."""
    import numpy as np

    from truelabel.cli.sources import ARRAYS, Reading
    from truelabel.coding import name_array

    inputs = Reading.load(run).inputs(pool)
    old = [str(name) for name in annotations.examples]
    if pool.suffix.lower() in ARRAYS:
        names, kept = [f"{pool.name}:{row}" for row in inputs.names], np.arange(len(inputs.names))
    else:
        names, there = [str(name) for name in inputs.names], set(old)
        kept = np.array([i for i, name in enumerate(names) if name not in there], np.int64)
    if not len(kept):
        raise ValueError(f"all examples of {pool} have labels in {run} already: leave --pool out, or name others")
    return name_array([*old, *(names[i] for i in kept)]), inputs.take(kept).values
