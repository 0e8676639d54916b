from __future__ import annotations

import pytest
import torch

from truelabel.precision import at_least_single, log_softmax, single_kind

KINDS = [
    (torch.bfloat16, torch.float32),
    (torch.float16, torch.float32),
    (torch.float32, torch.float32),
    (torch.float64, torch.float64),
]


@pytest.mark.parametrize(("given", "kind"), KINDS, ids=str)
def test_what_has_fewer_digits_is_lifted_and_nothing_else_changes(given: torch.dtype, kind: torch.dtype) -> None:
    values = torch.tensor([0.5, -3.0, 7.25], dtype=given)
    assert (single_kind(values), at_least_single(values).dtype) == (kind, kind)
    assert torch.equal(at_least_single(values), values.to(kind))


@pytest.mark.parametrize(("given", "kind"), KINDS, ids=str)
def test_log_probabilities_are_those_of_the_lifted_logits(given: torch.dtype, kind: torch.dtype) -> None:
    logits = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(0)).to(given)
    wanted = logits.double() - logits.double().logsumexp(-1, keepdim=True)
    found = log_softmax(logits)
    assert found.dtype == kind
    torch.testing.assert_close(found.double(), wanted, atol=2e-6, rtol=0)


def test_autocast_of_a_cpu_does_not_take_digits_away() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = torch.nn.functional.linear(torch.randn(3, 4), torch.randn(5, 4))
        assert (logits.dtype, log_softmax(logits).dtype) == (torch.bfloat16, torch.float32)
