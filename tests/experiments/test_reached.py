from __future__ import annotations

import time

from truelabel.experiments.reached import TELL_EVERY, Reached, Teller


def test_a_teller_passes_on_what_it_hears_now_and_then() -> None:
    heard: list[Reached] = []
    began = time.perf_counter() - 100.0
    teller = Teller(heard.append, began)
    for epoch in range(1, 4):
        teller("main", epoch, 3)
    assert [reached.epoch for reached in heard] == [1], "the others come too soon after it"
    assert 100.0 <= heard[0].seconds < 200.0
    teller.seldom.next -= TELL_EVERY
    teller("main", 3, 3)
    assert [str(reached) for reached in heard] == ["epoch 1 of 3", "epoch 3 of 3"]
