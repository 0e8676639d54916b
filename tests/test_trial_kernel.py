from __future__ import annotations

import pytest
import torch


def test_it_doubles() -> None:
    pytest.importorskip("triton")
    from truelabel.trial_kernel import doubled

    values = torch.arange(300.0, device="cuda" if torch.cuda.is_available() else "cpu")
    assert torch.equal(doubled(values), 2 * values)
