"""What a run folder says of its labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel import Annotations, TrueLabelClassifier, TrueLabelSegmenter
from truelabel.cli.run_quality import Source, decided, region_columns, show_suspects, write_quality
from truelabel.data import mask_folder
from truelabel.frames import Table
from truelabel.quality import Regions, calibration

Cli = Callable[..., tuple[int, str, str]]
QUICK = ("--network", "mlp:16", "--epochs", 15, "--batch-size", 16, "--learning-rate", 0.02, "--device", "cpu")


def columns(path: Path) -> dict[str, list[Any]]:
    table = Table(path)
    return {name: table.column(name).to_pylist() for name in table.columns}


@pytest.mark.parametrize("folds", [0, 3])
def test_the_files_are_what_the_estimator_says(folds: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    inputs = rng.normal(size=(60, 2)) + 3.0 * truth[:, None]
    said = Annotations.from_matrix(np.column_stack([truth, 1 - truth, truth]), annotators=["ann", "bob", "cid"])
    classifier = TrueLabelClassifier("cross-entropy", "mlp:8", epochs=3, device="cpu", random_state=0).fit(inputs, said)
    write_quality(classifier, inputs, said, tmp_path, folds)
    written = columns(tmp_path / "label_quality.csv")
    assert list(written) == [
        "example",
        "annotator",
        "label",
        "probability_right",
        "suggested",
        "suggested_probability",
    ]
    assert written["example"] == np.repeat(np.arange(60), 3).tolist()
    assert written["annotator"] == ["ann", "bob", "cid"] * 60
    belief = classifier.true_class_proba(inputs, said, folds=folds)
    np.testing.assert_allclose(written["probability_right"], classifier.label_quality(inputs, said, folds=folds))
    assert written["suggested"] == belief.argmax(-1)[said.example].tolist()
    np.testing.assert_allclose(written["suggested_probability"], belief.max(-1)[said.example])
    assert columns(tmp_path / "examples.csv") == {"example": list(range(60))}
    with np.load(tmp_path / "posterior.npz", allow_pickle=False) as kept:
        probs = kept["probs"]
    held_out = classifier.out_of_fold_
    expected = classifier.predict_proba(inputs) if held_out is None else held_out.probs
    assert (held_out is None, probs.dtype) == (folds == 0, np.float32)
    np.testing.assert_allclose(probs, expected, atol=1e-6)
    note = json.loads((tmp_path / "quality.json").read_text())
    assert (note["out_of_sample"], note["folds"], note["classes"]) == (folds > 0, folds, [0, 1])
    assert note["noise_rate"] == pytest.approx(1 - np.mean(written["probability_right"]))
    assert note["calibration"]["error"] == pytest.approx(calibration(said, expected).error)
    assert sum(row[2] for row in note["calibration"]["bins"]) == said.size


@pytest.mark.parametrize(
    ("data", "labels", "options", "kind"),
    [
        ("pictures", "p.csv", {}, "images"),
        ("x.parquet", "p.csv", {}, "table"),
        ("x.npz", "y.npy", {}, "arrays"),
        ("x.csv", "y.csv", {"text_column": "text", "decisions": Path("done.csv")}, "text"),
        ("study", None, {}, "masks"),
    ],
)
def test_where_data_came_from(
    data: str,
    labels: str | None,
    options: dict[str, Any],
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    Source.of(Path(data), None if labels is None else Path(labels), **options).save(tmp_path)
    assert json.loads((tmp_path / "source.json").read_text()) == {
        "data": str(tmp_path / data),
        "labels": None if labels is None else str(tmp_path / labels),
        "kind": kind,
        "text_column": options.get("text_column"),
        "decisions": str(tmp_path / "done.csv") if options else None,
    }


def test_the_worst_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["example,annotator,label,probability_right,suggested,suggested_probability"]
    rows += [f"e{n},ann,cat,{0.1 * n + 0.01:.2f},dog,0.6" for n in (3, 1, 2, 4)] + ["e9,bob,cat,0.9,cat,0.9"]
    (tmp_path / "label_quality.csv").write_text("\n".join(rows))
    show_suspects(tmp_path)
    assert capsys.readouterr().out.splitlines() == [
        "Suspected of being wrong: 4 of 5 labels",
        "  e1: labelled cat by ann, rather dog (11.0% likely to be right)",
        "  e2: labelled cat by ann, rather dog (21.0% likely to be right)",
        "  e3: labelled cat by ann, rather dog (31.0% likely to be right)",
    ]
    (tmp_path / "label_quality.csv").write_text("\n".join(rows[:2]))
    show_suspects(tmp_path)
    assert "  e3: labelled cat, rather dog (31.0% likely to be right)\n" in capsys.readouterr().out


def test_the_folds_of_a_run_go_on_after_a_stop(
    cli: Cli, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("train", shelf / "x.csv", shelf / "labels.csv", *QUICK, "--folds", 3)
    code, printed, errors = cli(*arguments, "--out", tmp_path / "whole")
    assert (code, errors) == (0, "")
    assert "Suspected of being wrong: " in printed
    whole = TrueLabelClassifier._posterior
    calls = []

    def stopped(self: TrueLabelClassifier, inputs: Any) -> Any:
        calls.append(len(inputs))
        if self.folder is not None and Path(self.folder).name == "2":
            raise OSError("No space left on device")
        return whole(self, inputs)

    monkeypatch.setattr(TrueLabelClassifier, "_posterior", stopped)
    assert cli(*arguments, "--out", tmp_path / "broken")[0] == 1
    assert (tmp_path / "broken" / "model.json").exists()  # what was learned is there already
    assert not (tmp_path / "broken" / "label_quality.csv").exists()
    finished = tmp_path / "broken" / "folds" / "1" / "main" / "finished.json"
    stamp = finished.stat().st_mtime_ns
    monkeypatch.setattr(TrueLabelClassifier, "_posterior", whole)
    assert cli(*arguments, "--out", tmp_path / "broken")[:2] == (0, printed.replace("whole", "broken"))
    assert finished.stat().st_mtime_ns == stamp
    for name in ("label_quality.csv", "posterior.npz", "quality.json", "model.safetensors"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("wrong", [1, -1])
def test_a_wrong_number_of_folds_leaves_nothing_behind(wrong: int, cli: Cli, shelf: Path, tmp_path: Path) -> None:
    code, _, errors = cli("train", shelf / "x.csv", shelf / "labels.csv", "--out", tmp_path / "run", "--folds", wrong)
    assert code == 1
    assert errors.startswith("error: folds must be")
    assert not (tmp_path / "run").exists()


def test_regions_of_masks(cli: Cli, cells: Path, tmp_path: Path) -> None:
    options = ("--network", "unet:4", "--epochs", 2, "--device", "cpu", "--folds", 2)
    code, printed, errors = cli("train", cells, "--out", tmp_path, *options)
    assert (code, errors) == (0, "")
    assert "regions of masks" in printed
    assert sorted(path.name for path in (tmp_path / "folds").iterdir()) == ["1", "2"]
    note = json.loads((tmp_path / "quality.json").read_text())
    assert (note["out_of_sample"], note["folds"], note["classes"]) == (True, 2, [0, 1])
    assert 0 < note["noise_rate"] < 1
    assert json.loads((tmp_path / "source.json").read_text())["kind"] == "masks"
    written, data = columns(tmp_path / "label_quality.csv"), mask_folder(cells)
    assert set(written["annotator"]) <= {"ann", "bob", "cid"}
    names = [str(name) for name in data.annotations.examples]
    matrix = data.annotations.matrix()
    for row in range(len(written["region"])):
        reader = ["ann", "bob", "cid"].index(written["annotator"][row])
        box = [written[side][row] for side in ("top", "left", "bottom", "right")]
        inside = matrix[names.index(written["example"][row]), reader, box[0] : box[2], box[1] : box[3]]
        assert (inside == written["label"][row]).sum() >= written["pixels"][row] > 0
        assert written["suggested"][row] != written["label"][row]


def test_volumes_have_a_slice() -> None:
    masks, values = np.zeros((2, 1, 3, 4, 4), int), np.random.default_rng(0).normal(size=(2, 1, 3, 4, 4))
    masks[:, :, 1, 1:3] = 1
    settings: dict[str, Any] = {"network": "unet:4", "epochs": 1, "device": "cpu", "random_state": 0}
    segmenter = TrueLabelSegmenter("majority-vote", **settings).fit(values, masks, ["ann"])
    one: dict[str, Any] = {
        "pixels": 8,
        "start": [[1, 1, 0]],
        "stop": [[2, 3, 4]],
        "plane": 1,
        "label": 1,
        "suggested": 0,
    }
    one |= {"example": 1, "annotator": 0, "region": 1, "probability_right": 0.2, "suggested_probability": 0.8}
    regions = Regions(**{name: np.atleast_1d(value) for name, value in one.items()})
    table = region_columns(segmenter, regions, ["a", "b"])
    assert {name: np.asarray(value).tolist() for name, value in table.items()} == {
        "example": ["b"],
        "annotator": ["ann"],
        "region": [1],
        "label": [1],
        "probability_right": [0.2],
        "suggested": [0],
        "suggested_probability": [0.8],
        "pixels": [8],
        "top": [1],
        "left": [0],
        "bottom": [3],
        "right": [4],
        "slice": [1],
    }


def test_what_a_reviewer_said_is_the_truth() -> None:
    said = Annotations.from_table(
        {"example": [0, 0, 1, 1], "annotator": ["ann", "reviewer", "ann", "bob"], "label": ["x", "y", "x", "y"]}
    )
    belief = np.full((2, 2), 0.5)
    np.testing.assert_array_equal(decided(belief, said, "reviewer"), [[0, 1], [0.5, 0.5]])
    np.testing.assert_array_equal(decided(belief, said, None), belief)
    assert Source("x.csv", "y.csv", "table", decisions="d.csv").reviewer == "reviewer"
    assert Source("x.csv", "y.csv", "table").reviewer is None
