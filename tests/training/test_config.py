from __future__ import annotations

import json
from typing import Any

import pytest

from truelabel.training import TrainingConfig


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"epochs": 2.5}, "epochs must be a whole number"),
        ({"batch_size": True}, "batch_size must be a whole number"),
        ({"optimizer": "lion"}, "optimizer must be one of adam, adamw, sgd, got 'lion'"),
        ({"schedule": "step"}, "needs step_epochs"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"learning_rate": float("nan")}, "learning_rate must be positive"),
        ({"noise_learning_rate": -1.0}, "noise_learning_rate must be positive"),
        ({"weight_decay": -0.1}, "weight_decay must not be negative"),
        ({"validation": 1.0}, r"validation must lie in \[0, 1\)"),
        ({"patience": 0}, "patience must be a whole number of at least 1, or None"),
        ({"hold_out": "first"}, "hold_out must be one of random, last, got 'first'"),
        ({"select": "first"}, "select must be one of best, best-accuracy, best-loss, last"),
        ({"precision": "8-bit"}, "precision must be one of 32-true, bf16-mixed"),
        ({"patch": (8,)}, r"size of a patch must be \(H, W\) or \(D, H, W\), got \(8,\)"),
        ({"patch": (8, 0)}, "a side of a patch must be a whole number of at least 1, got 0"),
        ({"patch": (8, 4.5)}, "a side of a patch must be a whole number"),
    ],
)
def test_wrong_settings_are_named(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**setting)


def test_settings_survive_json() -> None:
    config = TrainingConfig(schedule="step", step_epochs=(3, 5), patience=7)
    again = json.loads(json.dumps(config.to_json()))
    assert TrainingConfig(**again) == config


@pytest.mark.parametrize("patch", [None, (8, 4), (2, 3, 4)])
def test_a_patch_is_a_tuple_and_survives_json(patch: tuple[int, ...] | None) -> None:
    config = TrainingConfig(patch=patch)
    assert config.patch == patch
    assert TrainingConfig(**json.loads(json.dumps(config.to_json()))) == config
