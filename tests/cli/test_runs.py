"""A run folder from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel import Annotations, TrueLabelClassifier
from truelabel.cli.run_quality import Source
from truelabel.cli.runs import parse_options, show_run, train_run
from truelabel.cli.sources import Inputs, Reading
from truelabel.frames import Table


def test_options_are_json_or_text() -> None:
    pairs = ["a=1", "b=1e-3", "c=true", "d=[[1, 0]]", "warm-up=lowest", "e=", "f=x=y"]
    parsed = parse_options(pairs)
    assert parsed == {"a": 1, "b": 1e-3, "c": True, "d": [[1, 0]], "warm_up": "lowest", "e": "", "f": "x=y"}
    assert parse_options([]) == {}
    with pytest.raises(ValueError, match="--option must be name=value, got 'a'"):
        parse_options(["a"])


def test_a_run_is_kept_with_its_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 2
    inputs = Inputs(rng.normal(size=(40, 2)) + 3.0 * truth[:, None], list(range(40)), Reading(grey=True))
    said = Annotations.from_matrix(np.column_stack([truth, 1 - truth, truth]), annotators=["ann", "bob", "cid"])
    run = tmp_path / "run"
    classifier = TrueLabelClassifier("majority-vote", "mlp:8", epochs=3, device="cpu", folder=run, random_state=0)
    train_run(classifier, inputs, said, run, Source("x.npy", "y.npy", "arrays"), folds=3)
    show_run(classifier, said, run)
    printed = capsys.readouterr().out
    assert printed.startswith(f"majority-vote on {said}")
    assert "options chosen" not in printed
    loaded = TrueLabelClassifier.load(run)
    assert np.array_equal(loaded.predict_proba(inputs.values), classifier.predict_proba(inputs.values))
    assert Reading.load(run) == Reading(grey=True)
    skills = Table(run / "annotators.csv").column("skill").to_pylist()
    assert skills == pytest.approx(classifier.annotator_skill_.tolist())
    assert len(Table(run / "label_quality.csv")) == said.size
