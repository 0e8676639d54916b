from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from truelabel.methods import METHODS, learn
from truelabel.training import Engine, Job, Logging


def test_tensorboard_gets_every_epoch(job: Job, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logged = replace(job, folder=tmp_path, logging=Logging(tensorboard=True))
    history = learn(METHODS["cross-entropy"], logged, Engine(device="cpu")).history
    events = EventAccumulator(str(tmp_path / "main" / "tensorboard")).Reload()
    scalars = events.Scalars("valid_accuracy")
    assert [event.step for event in scalars] == [0, 1, 2, 3]
    assert [event.value for event in scalars] == pytest.approx([row["valid_accuracy"] for row in history.rows])


def test_progress_goes_to_standard_error(
    job: Job, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    learn(METHODS["cross-entropy"], replace(job, logging=Logging(progress=True)), Engine(device="cpu"))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "main" in captured.err
    assert "noisy validation" in captured.err


def test_no_bar_where_nobody_watches(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    learn(METHODS["cross-entropy"], replace(job, logging=Logging(progress=True)), Engine(device="cpu"))
    assert capfd.readouterr() == ("", "")


def test_whoever_wants_to_hear_of_every_epoch_does(job: Job) -> None:
    heard: list[tuple[str, int, int]] = []
    logging = Logging(tell=lambda stage, epoch, epochs: heard.append((stage, epoch, epochs)))
    learn(METHODS["forward"].with_options(warm_up=2), replace(job, logging=logging), Engine(device="cpu"))
    assert heard == [*(("1-warm-up", epoch, 2) for epoch in (1, 2)), *(("main", epoch, 4) for epoch in (1, 2, 3, 4))]
