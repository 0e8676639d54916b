from __future__ import annotations

import torch

from truelabel.data.seeds import generator_of


def test_a_number_is_a_new_generator_and_a_generator_is_itself() -> None:
    own = torch.Generator().manual_seed(3)
    assert generator_of(own) is own
    drawn = [torch.rand(4, generator=generator_of(3)) for _ in range(2)]
    assert torch.equal(drawn[0], drawn[1])
    assert torch.equal(drawn[0], torch.rand(4, generator=own))
