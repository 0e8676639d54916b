from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel.corruption import (
    Blank,
    BlocksDropped,
    Chain,
    EdgeAdded,
    EdgeRemoved,
    Faithful,
    Fracture,
    GreyDilation,
    GreyErosion,
    Reader,
    Relabelling,
    Swelling,
    Thickening,
    Thinning,
    TrueMask,
)
from truelabel.corruption.reader import whole_number

READERS: list[Reader] = [
    Faithful(),
    Blank(),
    Chain(Fracture(), Thickening(0.5)),
    Fracture(),
    Swelling(),
    Thickening(),
    Thinning(),
    GreyDilation(1.5),
    GreyErosion(0.5),
    Relabelling((1, 0)),
    EdgeAdded(1.5),
    EdgeRemoved(0.5),
    BlocksDropped(20, 50),
]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: type(reader).__name__)
def test_every_reader_keeps_the_contract(reader: Reader, digits: NDArray[Any]) -> None:
    assert isinstance(reader, Reader)
    before, state = digits.copy(), torch.get_rng_state()
    for i, mask in enumerate(digits[:5]):
        drawn = reader(TrueMask(mask), generator(i))
        assert drawn.shape == mask.shape
        assert drawn.dtype == mask.dtype
        assert set(np.unique(drawn)) <= {0, 1}
        np.testing.assert_array_equal(reader(TrueMask(mask), generator(i)), drawn)
        drawn[:] = 1
    np.testing.assert_array_equal(digits, before, "the truth is left alone")
    assert torch.equal(torch.get_rng_state(), state), "all chance comes from the generator"


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: type(reader).__name__)
def test_what_is_shared_changes_nothing(reader: Reader, digits: NDArray[Any]) -> None:
    shared = TrueMask(digits[3])
    for other in READERS:
        other(shared, generator())
    np.testing.assert_array_equal(reader(shared, generator(1)), reader(TrueMask(digits[3]), generator(1)))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: type(reader).__name__)
def test_readers_are_values(reader: Any) -> None:
    assert reader == type(reader)(*(reader.readers if isinstance(reader, Chain) else vars(reader).values()))
    assert repr(reader).startswith(type(reader).__name__ + "(")


def test_a_chain_draws_one_after_another(digits: NDArray[Any]) -> None:
    source = generator(4)
    broken = Fracture()(TrueMask(digits[0]), source)
    expected = Thickening(0.5)(TrueMask(broken), source)
    drawn = Chain(Fracture(), Thickening(0.5))(TrueMask(digits[0]), generator(4))
    np.testing.assert_array_equal(drawn, expected)
    with pytest.raises(ValueError, match="readers must be at least one"):
        Chain()


def test_whole_numbers_have_the_mean_asked_for() -> None:
    source = generator()
    drawn = np.array([whole_number(2.3, source) for _ in range(2000)])
    assert set(drawn.tolist()) == {2, 3}
    assert drawn.mean() == pytest.approx(2.3, abs=4 * np.sqrt(0.3 * 0.7 / 2000))
    assert {whole_number(3, source) for _ in range(100)} == {3}


def test_whole_numbers_never_fall_as_the_amount_grows() -> None:
    for seed in range(20):
        drawn = [whole_number(amount, generator(seed)) for amount in np.linspace(0, 3, 50)]
        assert drawn == sorted(drawn)
