from __future__ import annotations

from typing import Any

import pytest

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.estimate import Estimate
from truelabel.experiments.plan import Planned
from truelabel.experiments.reached import Reached
from truelabel.experiments.setting import Setting
from truelabel.experiments.work import Ended
from truelabel.training import TrainingConfig


def timed(label: str, epochs: int, seconds: float | None, method: str = "cross-entropy") -> tuple[Planned, Ended]:
    training = TrainingConfig(epochs=epochs)
    run = Planned(Setting(data="moons", noise="none", method=method, training=training, train=100), 0, label)
    return run, Ended("done", None if seconds is None else {"seconds": seconds})


def test_earlier_records_count_for_kinds_that_have_not_ended_yet() -> None:
    mixup, other = timed("", 10, 30.0, "mixup")[0], timed("", 20, None)[0]
    record = {"setting": mixup.setting.to_json(), "seconds": 12.0}
    estimate = Estimate(1, [record, record])
    assert estimate.seconds([other]) is None
    assert estimate.seconds([mixup] * 3) == pytest.approx(2.5 * 12.0)
    estimate.see(*timed("", 10, 5.0))
    assert estimate.seconds([mixup, other]) == pytest.approx(10.0 + 12.0 / 2), "the longest is under way, half done"
    estimate.see(*timed("", 10, 40.0, "mixup"))
    assert estimate.seconds([mixup]) == pytest.approx(20.0)


def test_calculations_take_no_time_to_speak_of_and_say_nothing_of_trainings() -> None:
    calculated = Planned(Calculation(calculation="attenuated-loss", options={}), 0, "")
    training, other = timed("", 10, 5.0), timed("", 10, 5.0, "mixup")
    estimate = Estimate(1, [{"setting": training[0].setting.to_json(), "seconds": 12.0}])
    assert estimate.seconds([training[0], calculated]) == pytest.approx(12.0 / 2)
    estimate.see(calculated, Ended("done", {"seconds": 0.3}))
    assert estimate.seconds([other[0]]) is None
    assert estimate.seconds([training[0], calculated]) == pytest.approx(0.3 + 12.0 / 2)


def test_records_that_lack_something_tell_nothing() -> None:
    setting = timed("", 10, 5.0)[0].setting.to_json()
    partly = {name: value for name, value in setting.items() if name != "network"}
    odd: list[dict[str, Any]] = [
        {"seconds": 1.0},
        {"setting": partly, "seconds": 1.0},
        {"setting": setting, "seconds": None},
        {"setting": 3},
    ]
    assert Estimate(1, odd).seconds([timed("", 10, None)[0]]) is None


def test_an_estimate_goes_by_the_kind_of_run_and_by_what_runs_beside_it() -> None:
    alone, four = Estimate(1), Estimate(4)
    mixup = timed("", 10, 30.0, "mixup")
    assert alone.seconds([mixup[0]]) is None
    for estimate in (alone, four):
        estimate.see(*timed("", 10, None))
        estimate.see(*timed("", 10, 5.0))
    # A kind that was not seen takes as long as the others.
    assert alone.seconds([mixup[0]] * 3) == pytest.approx(2.5 * 5.0)
    for estimate in (alone, four):
        estimate.see(*mixup)
    assert alone.seconds([mixup[0], timed("", 20, None)[0]]) == pytest.approx(30 / 2 + 10)
    # Four of eight are under way, half done on average.
    assert four.seconds([mixup[0]] * 8) == pytest.approx((8 - 2) * 30 / 4)
    assert four.seconds([]) == 0.0


def test_before_any_has_ended_the_pace_of_what_is_under_way_counts() -> None:
    first, second = timed("", 10, None)[0], timed("", 20, None, "mixup")[0]
    estimate = Estimate(1)
    estimate.hear(first, Reached("main", 1, 10, 7.0))
    assert estimate.seconds([first]) == pytest.approx(9 * 7.0)
    # The first epoch had 5 seconds to prepare.
    estimate.hear(first, Reached("main", 3, 10, 11.0))
    assert estimate.seconds([first]) == pytest.approx(7 * 2.0)
    assert estimate.seconds([first, second]) == pytest.approx(14.0 + 2 * 25.0), "ten epochs would take 25 seconds"
    assert [(run.id, reached.epoch) for run, reached in estimate.heard] == [(first.id, 3)]
    estimate.see(first, Ended("done", {"seconds": 30.0}))
    assert not estimate.heard
    assert estimate.seconds([second]) == pytest.approx(60.0 / 2), "under way, and half done"


def test_of_a_kind_that_is_known_what_comes_after_the_stage_counts_too() -> None:
    run, other = timed("", 10, None)[0], timed("", 10, None)[0]
    estimate = Estimate(2, [{"setting": run.setting.to_json(), "seconds": 100.0}])
    estimate.hear(run, Reached("warm-up", 2, 4, 10.0))
    assert estimate.seconds([run]) == pytest.approx(90.0)
    # Slower than known: what is left of the stage is the least.
    estimate.hear(run, Reached("warm-up", 3, 4, 130.0))
    assert estimate.seconds([run]) == pytest.approx(120.0)
    # A new stage has a pace of its own.
    estimate.hear(run, Reached("main", 1, 10, 131.0))
    assert estimate.seconds([run]) == pytest.approx(9.0)
    estimate.hear(run, Reached("main", 2, 10, 132.0))
    assert estimate.seconds([run]) == pytest.approx(8.0)
    other = timed("", 30, None)[0]
    assert estimate.seconds([run, other]) == pytest.approx((8.0 + 300.0 / 2) / 2)


def test_a_second_stage_is_not_charged_with_the_first() -> None:
    run, other = timed("", 10, None)[0], timed("", 10, None, "mixup")[0]
    estimate = Estimate(1)
    estimate.hear(run, Reached("warm-up", 20, 20, 1200.0))
    estimate.hear(run, Reached("main", 1, 40, 1260.0))
    assert estimate.seconds([run]) == pytest.approx(39 * 60.0)
    assert estimate.seconds([run, other]) == pytest.approx(39 * 60.0 + 60 * 60.0)


def test_a_training_that_may_stop_early_is_as_long_as_others_were() -> None:
    training = TrainingConfig(epochs=1000, patience=5)
    runs = [
        Planned(Setting(data="moons", noise="none", method="mixup", training=training, train=100), seed, "")
        for seed in (0, 1)
    ]
    unknown = Estimate(1)
    unknown.hear(runs[0], Reached("main", 10, 1000, 30.0))
    assert unknown.seconds(runs) is None
    known = Estimate(1, [{"setting": runs[0].setting.to_json(), "seconds": 90.0}])
    known.hear(runs[0], Reached("main", 10, 1000, 30.0))
    assert known.seconds(runs) == pytest.approx(60.0 + 90.0)
    known.hear(runs[0], Reached("main", 40, 1000, 120.0))
    assert known.seconds(runs[:1]) == pytest.approx(3.0), "one epoch more at least"


def test_runs_at_once_take_at_least_as_long_as_the_longest_of_them() -> None:
    short, long = timed("", 10, None)[0], timed("", 100, None)[0]
    estimate = Estimate(2)
    estimate.hear(short, Reached("main", 9, 10, 9.0))
    estimate.hear(long, Reached("main", 10, 100, 10.0))
    assert estimate.seconds([short, long]) == pytest.approx(90.0)
    # Each by its own pace.
    slow = timed("", 10, None, "mixup")[0]
    estimate.hear(slow, Reached("main", 1, 10, 50.0))
    assert estimate.seconds([short]) == pytest.approx(1.0)
    assert estimate.seconds([short, slow]) == pytest.approx(450.0)
