from __future__ import annotations

import re

import pytest

from truelabel.methods import METHODS, Method, get_method


def test_names_are_kebab_case_and_lead_to_their_method() -> None:
    for name, method in METHODS.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
        assert isinstance(method, Method)
        assert method.name == name
        assert get_method(name) is method


@pytest.mark.parametrize("name", ["", "Cross-Entropy", "cross_entropy", "nope"])
def test_an_unknown_name_lists_those_there_are(name: str) -> None:
    with pytest.raises(ValueError, match=f"there is no method {name!r}: choose from {', '.join(METHODS)}$"):
        get_method(name)


def test_lengths_in_epochs_are_known_and_those_in_steps_are_none_of_them() -> None:
    assert {name: method.in_epochs for name, method in METHODS.items() if method.in_epochs} == {
        "forward": ("warm_up",),
        "reweight": ("warm_up",),
        "t-revision": ("warm_up", "revision_epochs"),
        "co-teaching": ("warm_up", "ramp"),
        "causal-nl": ("warm_up", "ramp"),
        "mentornet": ("warm_up", "burn_in"),
        "weighted-doctor-net": ("weight_epochs",),
    }
    assert METHODS["pixelwise-confusion"].options()["warm_up"] == 1000
    assert all(set(method.in_epochs) <= set(method.options()) for method in METHODS.values())
