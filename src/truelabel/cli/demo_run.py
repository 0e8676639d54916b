"""What `truelabel train` leaves in a run folder, for the run that the demo's report is about."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from truelabel import Annotations, TrueLabelClassifier


def write_demo_run(
    classifier: TrueLabelClassifier,
    inputs: NDArray[Any],
    pictures: NDArray[Any],
    annotations: Annotations,
    run: Path,
) -> None:
    """Write the tables that a report is made from, and the pictures, which the network saw as rows of numbers.

    The probabilities are of examples that the network has learned from; ``quality.json`` says so.

    Args:
        classifier: fitted to ``inputs`` and ``annotations``.
        inputs: ``(N, F)``.
        pictures: ``(N, H, W)`` in 0 to 1.
        annotations: what was said.
        run: the folder.
    """
    import numpy as np

    from truelabel.atomic import write_atomically
    from truelabel.cli.fusion_folder import confusion_table
    from truelabel.cli.tables import write_columns
    from truelabel.training.files import write_json

    belief = _belief(classifier, inputs, annotations)
    classes, best = np.asarray(annotations.classes), belief.argmax(1)
    right = belief[annotations.example, annotations.label]
    write_columns({"example": annotations.examples}, run / "examples.csv")
    write_columns(
        {
            "example": annotations.examples[annotations.example],
            "annotator": annotations.annotators[annotations.annotator],
            "label": classes[annotations.label],
            "probability_right": right,
            "suggested": classes[best[annotations.example]],
            "suggested_probability": belief.max(1)[annotations.example],
        },
        run / "label_quality.csv",
    )
    ends = classifier.annotator_skill_interval_
    write_columns(
        {
            "annotator": annotations.annotators,
            "labels": annotations.workload,
            "skill": classifier.annotator_skill_,
            "skill_low": ends[:, 0],
            "skill_high": ends[:, 1],
        },
        run / "annotators.csv",
    )
    cells = classifier.confusion_interval(inputs, annotations)
    write_columns(confusion_table(annotations, classifier.confusion_, cells), run / "confusion.csv")
    write_json(run / "quality.json", {"out_of_sample": False, "folds": 0, "noise_rate": float(1 - right.mean())})
    stream = io.BytesIO()
    np.save(stream, (pictures * 255).round().astype(np.uint8))
    write_atomically(run / "pictures.npy", stream.getvalue())


def _belief(classifier: TrueLabelClassifier, inputs: Any, annotations: Annotations) -> NDArray[Any]:
    """Probability of each class given the input and all labels of an example, ``(N, K)``, by Bayes' rule."""
    import numpy as np

    tiny = np.finfo(np.float64).tiny
    log_probs = np.log(classifier.predict_proba(inputs).clip(tiny))
    said = classifier.confusion_[annotations.annotator, :, annotations.label]
    np.add.at(log_probs, annotations.example, np.log(said.clip(tiny)))
    probs = np.exp(log_probs - log_probs.max(1, keepdims=True))
    normalised: NDArray[Any] = probs / probs.sum(1, keepdims=True)
    return normalised
