from __future__ import annotations

import pytest

from truelabel.experiments.calculations import CALCULATIONS, calculate


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(ValueError, match="there is no calculation 'nothing': choose from .*attenuated-loss"):
        calculate("nothing", 0)
    assert "attenuated-loss" in CALCULATIONS
