from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from truelabel.learners import Learner
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, Pace, Stopped, TrainingConfig, checkpoint


@pytest.fixture
def trained(job: Job) -> Callable[..., Learner]:
    def train(**changes: object) -> Learner:
        config = TrainingConfig(epochs=4, batch_size=16)
        return learn(get_method("cross-entropy"), replace(job, config=config, **changes), Engine(device="cpu")).learner  # type: ignore[arg-type]

    return train


def test_a_training_stops_after_an_epoch_and_goes_on_with_the_same_bits(
    trained: Callable[..., Learner], tmp_path: Path
) -> None:
    whole = trained()
    late = Pace(end=time.monotonic())
    for epoch in range(3):
        with pytest.raises(Stopped, match=f"stopped after epoch {epoch} of 4"):
            trained(folder=tmp_path, pace=late)
    # The last epoch is not cut: it is over anyway.
    again = trained(folder=tmp_path, pace=late)
    for ours, theirs in zip(again.parameters(), whole.parameters(), strict=True):
        assert ours.equal(theirs)


def test_checkpoints_are_as_rare_as_asked_but_the_last_is_always_there(
    trained: Callable[..., Learner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[Path] = []
    save = checkpoint.State.save

    def note(self: checkpoint.State, path: Path, states: object) -> None:
        saved.append(path)
        save(self, path, states)  # type: ignore[arg-type]

    monkeypatch.setattr(checkpoint.State, "save", note)
    trained(folder=tmp_path / "often")
    assert len(saved) == 4
    trained(folder=tmp_path / "seldom", pace=Pace(save_every=1e6))
    assert len(saved) == 5
    assert (tmp_path / "seldom" / "main" / "last.safetensors").exists()


def test_a_negative_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="save_every must be a number of at least 0, got -1"):
        Pace(save_every=-1)
    assert not Pace().over
    assert not Pace(end=time.monotonic() + 100).over
