from __future__ import annotations

from typing import Literal

import pytest
import torch

from truelabel.corruption import symmetric


def test_redraw_by_hand() -> None:
    expected = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]]
    torch.testing.assert_close(symmetric(4, 0.4), torch.tensor(expected, dtype=torch.double))


def test_flip_by_hand() -> None:
    expected = [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]
    torch.testing.assert_close(symmetric(3, 0.6, kind="flip"), torch.tensor(expected, dtype=torch.double))


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.45, 1.0])
def test_the_two_kinds_agree_at_the_stated_rates(classes: int, rate: float) -> None:
    redraw = symmetric(classes, rate)
    torch.testing.assert_close(redraw, symmetric(classes, rate * (classes - 1) / classes, kind="flip"))
    torch.testing.assert_close(redraw.sum(-1), torch.ones(classes, dtype=torch.double))
    eye = torch.eye(classes, dtype=torch.double)
    torch.testing.assert_close(redraw, (1 - rate) * eye + rate / classes)


def test_the_ends_of_the_scale() -> None:
    eye = torch.eye(5, dtype=torch.double)
    assert torch.equal(symmetric(5, 0.0), eye)
    assert torch.equal(symmetric(5, 0.0, kind="flip"), eye)
    torch.testing.assert_close(symmetric(5, 1.0), torch.full((5, 5), 0.2, dtype=torch.double))
    torch.testing.assert_close(symmetric(5, 1.0, kind="flip"), (1 - eye) / 4)


@pytest.mark.parametrize("kind", ["redraw", "flip"])
def test_the_rate_is_what_is_drawn_or_what_is_wrong(kind: Literal["redraw", "flip"]) -> None:
    wrong = 1 - symmetric(4, 0.2, kind=kind).diagonal()
    expected = 0.2 if kind == "flip" else 0.15
    torch.testing.assert_close(wrong, torch.full((4,), expected, dtype=torch.double))


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="classes must be at least 2, got 1"):
        symmetric(1, 0.1)
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\]"):
            symmetric(3, rate)
    with pytest.raises(ValueError, match="kind must be 'redraw' or 'flip', got 'pair'"):
        symmetric(3, 0.1, kind="pair")  # type: ignore[arg-type]
