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
