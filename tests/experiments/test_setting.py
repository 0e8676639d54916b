from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.experiments.setting import Setting
from truelabel.training import TrainingConfig

BASE = Setting(
    data="mnist",
    method="co-teaching",
    training=TrainingConfig(epochs=20),
    noise="symmetric",
    noise_options={"rate": 0.4},
    options={"noise_rate": 0.4, "ramp": 5},
)
OTHER: dict[str, Any] = {
    "data": "svhn",
    "method": "decoupling",
    "training": TrainingConfig(epochs=21),
    "noise": "by-instance",
    "network": "lenet-5",
    "data_options": {"which": "worst"},
    "noise_options": {"rate": 0.2},
    "options": {"noise_rate": 0.4, "ramp": 6},
    "train": 100,
    "test": 100,
    "measures": ("accuracy", "training-accuracy"),
    "curves": ("accuracy",),
    "average": 10,
}
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aß", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def test_what_came_later_leaves_the_names_of_earlier_runs_as_they_were() -> None:
    assert BASE.identity(0) == "c11a41352b8ed616"
    same = replace(BASE, training=replace(BASE.training, epsilon=1e-8))
    other = replace(BASE, training=replace(BASE.training, epsilon=1e-7))
    assert same.identity(0) == BASE.identity(0) != other.identity(0)
    assert other.to_json()["training"]["epsilon"] == 1e-7


def test_there_is_another_value_for_every_field() -> None:
    assert set(OTHER) == {field.name for field in fields(Setting)}


@pytest.mark.parametrize("name", OTHER)
def test_every_field_changes_the_identity(name: str) -> None:
    assert replace(BASE, **{name: OTHER[name]}).identity(0) != BASE.identity(0)


@pytest.mark.parametrize("field", [field.name for field in fields(TrainingConfig)])
def test_every_field_of_the_training_changes_the_identity(field: str) -> None:
    other: dict[str, Any] = {
        "epochs": 3,
        "batch_size": 7,
        "optimizer": "sgd",
        "noise_learning_rate": 0.1,
        "schedule": "cosine",
        "step_epochs": (3,),
        "hold_out": "last",
        "patience": 2,
        "select": "last",
        "precision": "bf16-mixed",
        "augment": ("crop",),
        "patch": (8, 8),
    }
    value = other.get(field, 0.3)
    changed = replace(BASE, training=replace(BASE.training, **{field: value}))
    assert changed.identity(0) != BASE.identity(0)


def test_seeds_have_identities_of_their_own() -> None:
    assert len({BASE.identity(seed) for seed in range(100)}) == 100


def test_the_identity_is_a_hash_of_sorted_json() -> None:
    plain = {
        "average": 1,
        "curves": [],
        "data": "mnist",
        "data_options": {},
        "measures": ["accuracy"],
        "method": "co-teaching",
        "network": "auto",
        "noise": "symmetric",
        "noise_options": {"rate": 0.4},
        "options": {"noise_rate": 0.4, "ramp": 5},
        "seed": 3,
        "test": None,
        "train": None,
        "training": {
            name: value for name, value in asdict(BASE.training).items() if name not in ("epsilon", "hold_out")
        },
    }
    text = json.dumps(plain, sort_keys=True)
    assert BASE.identity(3) == hashlib.sha256(text.encode()).hexdigest()[:16]


@given(st.dictionaries(st.text("abcxyz", min_size=1, max_size=4), PLAIN, max_size=6), st.randoms())
def test_the_order_in_which_options_are_named_does_not_matter(options: dict[str, Any], shuffle: random.Random) -> None:
    pairs = list(options.items())
    shuffle.shuffle(pairs)
    one, other = replace(BASE, options=options), replace(BASE, options=dict(pairs))
    assert one.identity(0) == other.identity(0)


@given(st.dictionaries(st.text("abcxyz", min_size=1, max_size=4), PLAIN, max_size=6))
def test_json_and_back_is_the_same_setting(options: dict[str, Any]) -> None:
    plain = json.loads(json.dumps(replace(BASE, options=options).to_json()))
    training = TrainingConfig(**plain.pop("training"))
    again = Setting(**{**plain, "training": training})
    assert again.identity(1) == replace(BASE, options=options).identity(1)


def test_tuples_and_lists_are_one_setting() -> None:
    """A record read from a file has lists where the paper's file has tuples."""
    one, other = BASE.with_options(rates=(0.1, 0.2)), BASE.with_options(rates=[0.1, 0.2])
    assert one.identity(0) == other.identity(0)


def test_further_options_leave_the_given_ones_and_the_original() -> None:
    changed = BASE.with_options(ramp=9)
    assert dict(changed.options) == {"noise_rate": 0.4, "ramp": 9}
    assert dict(BASE.options) == {"noise_rate": 0.4, "ramp": 5}


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("average", 0, "average"),
        ("train", 0, "train"),
        ("test", -1, "test"),
        ("train", 1.5, "train"),
        ("measures", (), "no result"),
    ],
)
def test_what_cannot_be_run_is_refused(name: str, value: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        replace(BASE, **{name: value})


def test_curves_alone_are_a_result() -> None:
    assert replace(BASE, measures=(), curves=("accuracy",)).curves == ("accuracy",)


@pytest.mark.long
def test_another_process_with_other_hashes_gives_the_same_identity() -> None:
    code = (
        "from truelabel.experiments.setting import Setting; from truelabel.training import TrainingConfig;"
        "print(Setting(options={'ramp': 5, 'noise_rate': 0.4}, noise_options={'rate': 0.4}, noise='symmetric',"
        "training=TrainingConfig(epochs=20), method='co-teaching', data='mnist').identity(3))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert told.stdout.strip() == BASE.identity(3)
