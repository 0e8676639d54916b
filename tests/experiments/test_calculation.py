from __future__ import annotations

import hashlib
import json

from truelabel.experiments.calculation import Calculation

BASE = Calculation(calculation="attenuated-loss", options={"scale": 0.5, "residual": 3.0})


def test_the_identity_is_a_hash_of_sorted_json() -> None:
    text = '{"calculation": "attenuated-loss", "options": {"residual": 3.0, "scale": 0.5}, "seed": 7}'
    assert BASE.identity(7) == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_name_options_and_seed_change_the_identity() -> None:
    others = [
        Calculation(calculation="simplex-equivalence", options=BASE.options).identity(0),
        Calculation(calculation="attenuated-loss", options={"scale": 0.5, "residual": 2.0}).identity(0),
        Calculation(calculation="attenuated-loss", options={"scale": 0.5}).identity(0),
        BASE.identity(1),
    ]
    assert len({BASE.identity(0), *others}) == 5


def test_the_order_of_options_and_tuples_do_not_matter() -> None:
    one = Calculation(calculation="simplex-equivalence", options={"mean": (0.0, 1.0), "covariance": (1.0, 1.0, 0.0)})
    other = Calculation(calculation="simplex-equivalence", options={"covariance": [1.0, 1.0, 0.0], "mean": [0.0, 1.0]})
    assert one.identity(0) == other.identity(0)


def test_plain_values_can_be_written_and_read() -> None:
    plain = json.loads(json.dumps(BASE.to_json()))
    assert Calculation(**plain).identity(0) == BASE.identity(0)
