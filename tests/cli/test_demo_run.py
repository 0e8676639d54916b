"""The run that the demo's report is about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel import Annotations, TrueLabelClassifier
from truelabel.cli.demo_run import write_demo_run
from truelabel.report import read_run


def test_labels_are_judged_by_the_input_and_all_that_was_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 2
    inputs = rng.normal(size=(40, 2)) + 3 * truth[:, None]
    said = np.column_stack([truth, np.where(rng.random(40) < 0.4, 1 - truth, truth)])
    said[5, 0] = -1
    annotations = Annotations.from_matrix(said)
    clf = TrueLabelClassifier("annotator-confusion", "mlp:8", epochs=3, random_state=0).fit(inputs, annotations)
    clf.save(tmp_path)
    write_demo_run(clf, inputs, rng.random((40, 4, 3)), annotations, tmp_path)
    run = read_run(tmp_path)
    assert [lack for lack in run.lacks if "too sure" in lack]
    assert run.labels is not None
    probs = clf.predict_proba(inputs)
    expected = []
    for n, r in zip(annotations.example.tolist(), annotations.annotator.tolist(), strict=True):
        belief = probs[n].copy()
        for other, label in enumerate(said[n]):
            belief *= clf.confusion_[other, :, label] if label >= 0 else 1
        expected.append((belief / belief.sum())[said[n, r]])
    np.testing.assert_allclose(run.labels.probability, expected, rtol=1e-6)
    assert run.quality["noise_rate"] == pytest.approx(1 - np.mean(expected))
    pictures = np.load(tmp_path / "pictures.npy")
    assert (pictures.shape, pictures.dtype) == ((40, 4, 3), np.uint8)
