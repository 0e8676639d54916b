from __future__ import annotations

from truelabel.methods import METHODS, Method
from truelabel.methods.one_stage import ONE_STAGE


def test_these_are_the_methods_that_do_not_say_how() -> None:
    one_stage = {name: method for name, method in METHODS.items() if type(method).learn is Method.learn}
    assert one_stage.pop("oracle-confusion")  # which is nothing without its option
    assert one_stage.pop("separate-networks")  # which has a network for each annotator, not one for all
    assert one_stage.pop("probabilistic-unet")  # which draws whole masks, and has no loss for a unit
    assert one_stage == ONE_STAGE
    assert all(name == method.name for name, method in ONE_STAGE.items())
