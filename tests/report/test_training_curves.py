"""How the training went."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from truelabel.report import read_run
from truelabel.report.training_curves import MOST_STAGES, training_curves


def test_every_stage_has_its_curves(trained: Path) -> None:
    run = read_run(trained)
    (stage,) = training_curves(run)
    assert (stage.name, stage.epochs) == ("main", 25)
    rows = run.curves["main"]
    assert f"from {rows[0]['train_loss']:.3g} to {rows[-1]['train_loss']:.3g}" in stage.losses
    assert stage.losses.count("<polyline") == 2
    assert stage.agreement.count("<polyline") == 1


def test_without_files_the_model_tells(trained: Path) -> None:
    run = read_run(trained)
    assert training_curves(replace(run, curves={})) == training_curves(run)
    assert training_curves(replace(run, curves={}, history={})) == []


def test_without_a_held_out_part_there_is_no_agreement(trained: Path) -> None:
    (stage,) = training_curves(replace(read_run(trained), curves={"main": [{"train_loss": 1.0}]}))
    assert (stage.agreement, stage.losses.count("<polyline")) == ("", 1)


def test_of_many_rounds_the_last_are_shown(trained: Path) -> None:
    curves = {f"{n}-round": [{"train_loss": 1.0}] for n in range(20)}
    stages = training_curves(replace(read_run(trained), curves=curves))
    assert [stage.name for stage in stages] == [f"{n}-round" for n in range(20 - MOST_STAGES, 20)]
