from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.cli.ask_sources import known_from_labels, known_from_run, read_costs
from truelabel.cli.sources import LabelColumns
from truelabel.estimators import TrueLabelClassifier
from truelabel.fusion import dawid_skene


def test_labels_alone_give_what_dawid_skene_says(shelf: Path) -> None:
    known = known_from_labels(shelf / "labels.csv", LabelColumns())
    fused = dawid_skene(known.annotations)
    np.testing.assert_array_equal(known.posterior, fused.posterior)
    np.testing.assert_array_equal(known.confusion, fused.confusion)
    assert known.origin.startswith("dawid-skene on Annotations(")


def test_labels_that_never_meet_tell_nothing(shelf: Path) -> None:
    with pytest.raises(ValueError, match=r"single\.csv has two labels, so nothing tells .* `truelabel train`"):
        known_from_labels(shelf / "single.csv", LabelColumns())


def test_a_run_gives_bayes_rule_over_its_answers_and_labels(asked_run: Path) -> None:
    known = known_from_run(asked_run)
    probs = np.load(asked_run / "posterior.npz")["probs"].astype(np.float64)
    confusion = TrueLabelClassifier.load(asked_run).confusion_
    said = known.annotations.matrix()
    for n in range(len(probs)):
        q = probs[n].copy()
        for r in np.flatnonzero(said[n] >= 0):
            q = q * confusion[r, :, said[n, r]]
        np.testing.assert_allclose(known.posterior[n], q / q.sum(), atol=1e-9)
    assert known.annotations.annotators.tolist() == ["ann", "bob", "cid"]
    assert (said >= 0).sum() == len((asked_run / "label_quality.csv").read_text().splitlines()) - 1


def test_a_pool_stands_behind_and_what_the_run_knows_is_left_out(asked_run: Path, tmp_path: Path) -> None:
    pool = tmp_path / "pool.csv"
    pool.write_text("task,east,north\ne03,0.1,0.2\nnew1,1.5,1.5\nnew2,3.0,3.1\n")
    known = known_from_run(asked_run, pool)
    assert known.annotations.examples[-2:].tolist() == ["new1", "new2"]
    assert len(known.posterior) == len(known.annotations.examples) == 62
    classifier = TrueLabelClassifier.load(asked_run)
    expected = classifier.predict_proba(np.array([[1.5, 1.5], [3.0, 3.1]]))
    np.testing.assert_allclose(known.posterior[-2:], expected, atol=1e-6)
    pool.write_text("task,east,north\ne03,0.1,0.2\n")
    with pytest.raises(ValueError, match=r"all examples of .*pool\.csv have labels in"):
        known_from_run(asked_run, pool)


def test_rows_of_an_array_are_always_new(asked_run: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "more.npy", np.zeros((3, 2), np.float32))
    known = known_from_run(asked_run, tmp_path / "more.npy")
    assert known.annotations.examples[-3:].tolist() == ["more.npy:0", "more.npy:1", "more.npy:2"]


def test_a_damaged_posterior_is_named(asked_run: Path) -> None:
    for probs in (np.zeros((3, 2)), np.full((60, 2), np.nan)):
        np.savez(asked_run / "posterior.npz", probs=probs)
        with pytest.raises(ValueError, match=r"posterior\.npz does not hold probabilities \(60, 2\)"):
            known_from_run(asked_run)


def test_costs_are_one_unless_told(tmp_path: Path) -> None:
    names = np.array(["ann", "bob", "7"], object)
    assert read_costs(None, names) is None
    path = tmp_path / "costs.csv"
    path.write_text("worker,cost\n7,2.5\nann,3\n")
    found = read_costs(path, names)
    assert found is not None
    assert found.tolist() == [3.0, 1.0, 2.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker,price\nann,1\n", r"must have columns annotator and cost: it has worker, price"),
        ("worker,cost\nzed,1\n", "names annotator zed, who gave no label: remove the row"),
        ("worker,cost\nann,1\nann,2\n", "names annotator ann twice: remove a row"),
        ("worker,cost\nann,0\n", "gives annotator ann the cost 0: it must be a number above 0"),
        ("worker,cost\nann,\nbob,1\n", "gives annotator ann the cost None: it must be a number above 0"),
        ("worker,cost\nann,dear\n", "gives annotator ann the cost dear: it must be a number above 0"),
    ],
)
def test_wrong_costs_are_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_costs(path, np.array(["ann", "bob"], object))
