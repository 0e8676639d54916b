from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.carry_out import _Clock, _source, carry_out
from truelabel.experiments.setting import Setting
from truelabel.training import Engine, Pace, Stopped

CPU = Engine(device="cpu")
MakeSetting = Callable[..., Setting]


def run(setting: Setting | Calculation, seed: int = 0, **more: Any) -> dict[str, Any]:
    return carry_out(setting, seed, engine=CPU, **more)


def test_a_record_says_what_was_run_and_what_came_of_it(setting: MakeSetting) -> None:
    chosen = setting(epochs=3)
    record = run(chosen, seed=2)
    assert record["id"] == chosen.identity(2)
    assert (record["setting"], record["seed"]) == (chosen.to_json(), 2)
    assert (record["epochs"], record["device"].split(",")[0], record["notes"]) == (3, "cpu", {})
    assert set(record["valid"]) == {"accuracy", "loss"}
    assert record["seconds"] >= 0
    assert json.loads(json.dumps(record)) == record


def test_the_same_seed_has_the_same_scores_and_another_others(setting: MakeSetting) -> None:
    chosen = replace(setting(epochs=3), curves=("accuracy",), test=500)
    one, again, other = run(chosen), run(chosen), run(chosen, seed=1)
    assert (one["scores"], one["curves"], one["valid"]) == (again["scores"], again["curves"], again["valid"])
    assert one["curves"] != other["curves"]


def test_a_score_is_taken_of_the_weights_that_are_kept(setting: MakeSetting) -> None:
    """The last ones here, so that it is the end of its own curve."""
    record = run(replace(setting(epochs=4), curves=("accuracy",), test=333))
    assert len(record["curves"]["accuracy"]) == 4
    assert record["scores"]["accuracy"] == pytest.approx(record["curves"]["accuracy"][-1], abs=1e-6)


def test_with_the_best_epoch_chosen_score_and_validation_are_of_that_epoch(setting: MakeSetting) -> None:
    chosen = setting(epochs=8)
    best = replace(chosen, training=replace(chosen.training, select="best"), curves=("accuracy",), test=500)
    record, last = run(best), run(replace(best, training=chosen.training))
    assert record["curves"] == last["curves"]
    assert record["valid"]["accuracy"] >= last["valid"]["accuracy"]
    assert any(record["scores"]["accuracy"] == pytest.approx(value, abs=1e-6) for value in record["curves"]["accuracy"])


@pytest.mark.parametrize("average", [2, 3, 5])
def test_a_score_may_be_the_mean_over_the_last_epochs(setting: MakeSetting, average: int) -> None:
    plain = replace(setting(epochs=5), curves=("accuracy",), test=500)
    curve = run(plain)["curves"]["accuracy"]
    assert len(set(curve)) > 1
    averaged = run(replace(plain, curves=(), average=average))
    assert averaged["curves"]["accuracy"] == curve
    assert averaged["scores"] == {"accuracy": pytest.approx(np.mean(curve[-average:]))}


def test_nothing_held_out_leaves_no_validation_scores(setting: MakeSetting) -> None:
    chosen = setting()
    assert run(replace(chosen, training=replace(chosen.training, validation=0.0)))["valid"] == {}


def test_a_method_is_told_the_truth_where_it_asks(setting: MakeSetting) -> None:
    told = setting("oracle-confusion", rate=0.4)
    by_word = run(told.with_options(confusion="truth"), folder=None)
    by_number = run(told.with_options(confusion=[[[0.8, 0.2], [0.2, 0.8]]]))
    assert by_word["scores"] == by_number["scores"]
    assert by_word["valid"] == by_number["valid"]
    assert by_word["setting"]["options"] == {"confusion": "truth"}


def test_what_a_method_notes_is_in_the_record(setting: MakeSetting) -> None:
    assert run(setting("co-teaching", noise_rate=0.25))["notes"] == {"noise_rate": 0.25, "noise_rate_from": "given"}


def test_several_measures_are_taken_together(setting: MakeSetting) -> None:
    record = run(replace(setting(), measures=("accuracy", "training-accuracy")))
    assert set(record["scores"]) == {"accuracy", "fits_right_labels", "fits_wrong_labels"}


def test_an_unknown_measure_is_refused(setting: MakeSetting) -> None:
    with pytest.raises(ValueError, match="no measure 'acuracy'"):
        run(replace(setting(), measures=("acuracy",)))


def test_a_calculation_has_a_record_too() -> None:
    calculation = Calculation(calculation="attenuated-loss", options={"scale": 0.5, "residual": 2.0})
    record = run(calculation, seed=1)
    assert (record["id"], record["setting"]) == (calculation.identity(1), calculation.to_json())
    # The best scale is the residual itself: 1/2 + log 2.
    assert record["scores"] == {"loss": pytest.approx(0.5 + np.log(2)), "label_term": 1.0}


def in_pieces(setting: Setting, folder: Path) -> tuple[dict[str, Any], int]:
    """Run with a clock that has run out, again and again, until it is through; and how often it stopped."""
    for stops in range(100):
        try:
            return run(setting, folder=folder, pace=Pace(end=time.monotonic() - 1)), stops
        except Stopped:
            continue
    raise AssertionError("a run that does one epoch a call never ended")


@pytest.mark.parametrize(
    ("method", "options", "stops"),
    [
        ("cross-entropy", {}, 3),
        ("causal-nl", {"noise_rate": 0.2, "latent": 1}, 3),
        # Two epochs to warm up, then four, then three to revise.
        ("t-revision", {"warm_up": 2, "revision_epochs": 3}, 1 + 3 + 2),
    ],
)
def test_a_run_that_the_clock_stops_goes_on_to_the_same_end(
    setting: MakeSetting, tmp_path: Path, method: str, options: dict[str, Any], stops: int
) -> None:
    chosen = replace(setting(method, epochs=4, **options), average=3, test=300)
    record, stopped = in_pieces(chosen, tmp_path / "run")
    whole = run(chosen)
    assert stopped == stops
    assert record["scores"] == whole["scores"]
    assert record["curves"] == whole["curves"]
    assert record["valid"] == whole["valid"]


def test_measuring_leaves_the_training_as_it_is(setting: MakeSetting) -> None:
    """A measure that drew random numbers, or left the learner in evaluation mode, would change what follows."""
    plain = setting("mixup", epochs=3)
    watched = replace(plain, curves=("accuracy", "training-accuracy"))
    assert run(plain)["valid"] == run(watched)["valid"]


def test_training_leaves_the_random_state_of_the_caller(setting: MakeSetting) -> None:
    before = torch.get_rng_state()
    run(setting())
    assert torch.equal(before, torch.get_rng_state())


def test_the_score_is_by_the_true_labels_of_the_test_examples(setting: MakeSetting) -> None:
    """Of labels of which 30 % are wrong, nobody could predict clearly more than 70 %."""
    noisy = replace(setting(rate=0.6), train=600, test=600)
    record = run(replace(noisy, training=replace(noisy.training, epochs=30, learning_rate=0.01)))
    assert record["valid"]["accuracy"] < 0.8
    assert record["scores"]["accuracy"] > 0.82


def test_a_run_that_is_killed_knows_how_long_it_had_been_going(
    setting: MakeSetting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = _Clock.__call__, []

    def written(clock: _Clock) -> None:
        write(clock)
        calls.append(clock)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(_Clock, "__call__", written)
    with pytest.raises(KeyboardInterrupt):
        carry_out(setting(epochs=4), 0, engine=CPU, folder=tmp_path / "run", pace=Pace(save_every=0))
    spent = tmp_path / "run" / "seconds.json"
    assert json.loads(spent.read_text())["seconds"] > 0
    assert not (tmp_path / "run" / "main" / "finished.json").exists()


def test_a_record_says_of_which_code_it_is(setting: MakeSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(setting())["source"]
    assert re.fullmatch("[0-9a-f]{16}", first)
    assert run(setting())["source"] == first == _source.__wrapped__()
    with monkeypatch.context() as other:
        other.setattr(Path, "read_bytes", lambda path: b"other code")
        assert _source.__wrapped__() != first


def test_how_long_it_ran_is_with_what_it_ran_before(setting: MakeSetting, tmp_path: Path) -> None:
    pace = Pace(end=time.monotonic())
    with pytest.raises(Stopped):
        carry_out(setting(epochs=4), 0, engine=CPU, folder=tmp_path / "run", pace=pace)
    spent = tmp_path / "run" / "seconds.json"
    assert json.loads(spent.read_text())["seconds"] > 0
    spent.write_text('{"seconds": 1000.0}')
    assert carry_out(setting(epochs=4), 0, engine=CPU, folder=tmp_path / "run")["seconds"] > 1000
