"""The kernel of the tempered softmax beside torch's words for it: interpreted on a CPU, for real on a GPU."""

from __future__ import annotations

import pytest
import torch

from truelabel.losses import tempered

pytest.importorskip("triton")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("t", [1.1, 2.0, 4.0])
@pytest.mark.parametrize("shape", [(1, 2), (70, 10), (3, 5, 17)])
def test_the_shift_is_that_of_float64(shape: tuple[int, ...], t: float) -> None:
    from truelabel.losses.tempered_kernel import heavy_shift

    activations = 5 * torch.randn(shape, device=DEVICE)
    activations[0, ..., 0] += 100
    gaps = activations.amax(-1, keepdim=True) - activations
    shift = heavy_shift(gaps, t, tempered.NEWTON_STEPS)
    assert shift.shape == (*shape[:-1], 1)
    torch.testing.assert_close(shift.double(), tempered._heavy_shift(gaps.double(), t), rtol=1e-4, atol=1e-6)
    sums = tempered._exp_t(-(gaps + shift).double(), t).sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=1e-4, atol=0)


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
def test_a_gpu_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from truelabel.losses import tempered_kernel

    called = []

    def noted(gaps: torch.Tensor, t: float, steps: int) -> torch.Tensor:
        called.append(t)
        return gaps[..., :1]

    monkeypatch.setattr(tempered_kernel, "heavy_shift", noted)
    tempered.tempered_softmax(torch.randn(4, 10, device=DEVICE), 2.0)
    tempered.tempered_softmax(torch.randn(4, 10, device=DEVICE).double(), 2.0)
    assert called == [2.0]
