from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from truelabel.corruption import Corruption, instance_dependent, symmetric
from truelabel.corruption.instance_dependent import InstanceDependent


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(n: int, *shape: int, seed: int = 7) -> Tensor:
    return torch.randint(256, (n, *shape), dtype=torch.uint8, generator=generator(seed))


def reference(
    labels: Tensor, inputs: Tensor, rate: float, classes: int, spread: float, seed: int
) -> tuple[NDArray[np.float64], list[int]]:
    """Xia's noise, one example at a time, from the same draws: rates, labels, then W class by class."""
    source = generator(seed)
    n, x = len(labels), inputs.reshape(len(labels), -1).double().numpy()
    for_rate, for_label = torch.rand(2, n, generator=source, dtype=torch.double).numpy()
    size = (x.shape[1], classes)
    weights = [torch.randn(size, generator=source, dtype=torch.double).numpy() for _ in range(classes)]
    q = stats.truncnorm.ppf(for_rate, -rate / spread, (1 - rate) / spread, loc=rate, scale=spread)
    rows, observed = np.zeros((n, classes)), []
    for i, y in enumerate(labels.tolist()):
        scores = {j: float(x[i] @ weights[y][:, j]) for j in range(classes) if j != y}
        top = max(scores.values())
        total = sum(np.exp(score - top) for score in scores.values())
        for j, score in scores.items():
            rows[i, j] = q[i] * np.exp(score - top) / total
        rows[i, y] = 1 - q[i]
        observed.append(next((j for j in range(classes) if for_label[i] < rows[i, : j + 1].sum()), classes - 1))
    return rows, observed


def test_it_keeps_its_contract() -> None:
    assert isinstance(InstanceDependent(0.3, 4), Corruption)


@pytest.mark.parametrize(
    ("rate", "classes", "spread", "scale"), [(0.3, 4, 0.1, 0.3), (0.5, 2, 0.3, 1.0), (0.0, 5, 0.1, 0.1)]
)
def test_labels_and_transition_follow_the_slow_reference(
    rate: float, classes: int, spread: float, scale: float
) -> None:
    labels = torch.randint(classes, (400,), generator=generator(1))
    inputs = scale * torch.randn(400, 2, 3, generator=generator(2))
    noise = InstanceDependent(rate, classes, spread)
    annotations = noise(labels, inputs, generator(3))
    rows, observed = reference(labels, inputs, rate, classes, spread, 3)
    np.testing.assert_allclose(noise.transition.numpy(), rows, rtol=1e-4, atol=1e-5)
    assert annotations.label.tolist() == observed


def test_bytes_count_from_0_to_255() -> None:
    labels, inputs = torch.arange(40) % 4, images(40, 1, 3, 3)
    noise = InstanceDependent(0.4, 4)
    observed = noise(labels, inputs, generator()).label
    rows, expected = reference(labels, inputs, 0.4, 4, 0.1, 0)
    np.testing.assert_allclose(noise.transition.numpy(), rows, rtol=1e-2, atol=1e-5)
    assert observed.tolist() == expected
    from_bytes = noise.transition
    assert (noise(labels, inputs.float(), generator()).label == observed).all()
    assert torch.equal(noise.transition, from_bytes)
    # Between 0 and 1 the softmax is far from saturated.
    noise(labels, inputs / 255, generator())
    sharp, soft = (
        rows.scatter(1, labels.unsqueeze(1), 0.0).max(-1).values / (1 - rows.gather(1, labels.unsqueeze(1)).squeeze(1))
        for rows in (from_bytes, noise.transition)
    )
    assert sharp.mean() > 0.99
    assert soft.mean() < 0.8


@pytest.mark.parametrize(("rate", "mean"), [(0.2, 0.2055), (0.3, 0.3004), (0.4, 0.4), (0.45, 0.45), (0.5, 0.5)])
def test_the_mean_rate_is_that_of_the_truncated_normal(rate: float, mean: float) -> None:
    noise = InstanceDependent(rate, 10)
    assert noise.mean_rate == pytest.approx(mean, abs=5e-5)
    assert noise.mean_rate == pytest.approx(stats.truncnorm.mean(-rate / 0.1, (1 - rate) / 0.1, rate, 0.1))


@pytest.mark.parametrize(("rate", "spread"), [(0.0, 0.1), (0.2, 0.1), (0.5, 0.4), (1.0, 0.05), (0.3, 1e-3)])
def test_rates_follow_the_truncated_normal(rate: float, spread: float) -> None:
    labels = torch.zeros(5000, dtype=torch.long)
    noise = InstanceDependent(rate, 3, spread)
    noise(labels, torch.zeros(5000, 1), generator(4))
    q = 1 - noise.transition[:, 0].numpy()
    assert 0 <= q.min() <= q.max() <= 1
    cut = stats.truncnorm(-rate / spread, (1 - rate) / spread, loc=rate, scale=spread)
    assert stats.kstest(q, cut.cdf).pvalue > 0.01
    assert q.mean() == pytest.approx(noise.mean_rate, abs=4 * cut.std() / 5000**0.5)


@pytest.mark.parametrize("draw", [0.0, 1 - 2.0**-53])
def test_rates_of_the_most_extreme_draws_stay_in_range(monkeypatch: pytest.MonkeyPatch, draw: float) -> None:
    # The upper cut lies eleven deviations above, where rounding turns the quantile into 1, and its value is infinite.
    monkeypatch.setattr(torch, "rand", lambda *size, **_: torch.full(size, draw, dtype=torch.double))
    noise = InstanceDependent(0.0, 3, 0.09)
    noise(torch.tensor([0]), torch.ones(1, 1), generator())
    assert noise.transition[0, 0].item() == pytest.approx(1 - round(draw))


def test_labels_are_drawn_from_the_rows() -> None:
    classes, n = 4, 20_000
    labels = torch.randint(classes, (n,), generator=generator(1))
    noise = InstanceDependent(0.4, classes)
    observed = noise(labels, 0.5 * torch.randn(n, 3, generator=generator(2)), generator(3)).label
    assert (observed != labels.numpy()).mean() == pytest.approx(0.4, abs=4 * (0.24 / n) ** 0.5)
    # Standardised, what is observed has mean zero in every class, also among the examples where it is unlikely.
    rows = noise.transition.numpy()
    hit = np.eye(classes)[observed] - rows
    for low, high in [(0.0, 0.05), (0.05, 0.3), (0.3, 1.0)]:
        where = (rows > low) & (rows <= high)
        error = np.sqrt((rows[where] * (1 - rows[where])).sum())
        assert where.sum() > 1000
        assert abs(hit[where].sum()) < 4 * error


def test_the_input_decides_the_direction() -> None:
    one, other = torch.randn(2, 6, generator=generator(5))
    inputs = torch.stack([one, one, other, one])
    labels = torch.tensor([2, 2, 2, 1])
    noise = InstanceDependent(0.3, 5)
    noise(labels, inputs, generator())
    rate = 1 - noise.transition.gather(1, labels.unsqueeze(1))
    direction = noise.transition.scatter(1, labels.unsqueeze(1), 0.0) / rate
    torch.testing.assert_close(direction[0], direction[1])
    assert not torch.isclose(rate[0], rate[1]), "the rate does not depend on the input"
    assert (direction[0] - direction[2]).abs().max() > 0.1, "another input, another direction"
    assert (direction[0] - direction[3]).abs().max() > 0.1, "another class, another direction"


def test_confusion_is_the_mean_of_the_rows() -> None:
    labels, inputs = torch.tensor([0, 3, 0, 3, 3]), torch.randn(5, 4, generator=generator(5))
    noise = InstanceDependent(0.2, 4)
    expected = symmetric(4, stats.truncnorm.mean(-2, 8, 0.2, 0.1), kind="flip")
    torch.testing.assert_close(noise.confusion, expected.unsqueeze(0))
    noise(labels, inputs, generator())
    assert noise.confusion.shape == (1, 4, 4)
    torch.testing.assert_close(noise.confusion[0, 0], noise.transition[[0, 2]].mean(0))
    torch.testing.assert_close(noise.confusion[0, 3], noise.transition[[1, 3, 4]].mean(0))
    torch.testing.assert_close(noise.confusion[0, 1:3], expected[1:3])


def test_before_a_call_confusion_is_its_expectation() -> None:
    means = []
    noise = InstanceDependent(0.4, 3)
    expected = noise.confusion
    for seed in range(300):
        noise(torch.tensor([0, 1, 2]), torch.ones(3, 2), generator(seed))
        means.append(noise.confusion)
    error = torch.stack(means).std(0) / 300**0.5
    assert ((torch.stack(means).mean(0) - expected).abs() < 4 * error).all()


def test_equal_seeds_give_equal_noise() -> None:
    labels, inputs = torch.randint(5, (300,), generator=generator(1)), images(300, 8)
    first, second, other = (InstanceDependent(0.4, 5) for _ in range(3))
    said = [noise(labels, inputs, generator(seed)).label for noise, seed in ((first, 0), (second, 0), (other, 1))]
    np.testing.assert_array_equal(said[0], said[1])
    assert torch.equal(first.transition, second.transition)
    assert (said[0] != said[2]).any()
    # A second call of the same one starts anew.
    np.testing.assert_array_equal(first(labels, inputs, generator(1)).label, said[2])


@pytest.mark.parametrize("chunk", [1, 50, 777])
def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    labels, inputs = torch.randint(5, (300,), generator=generator(1)), images(300, 3, 5, 5)
    bytes_at_once, floats_at_once = InstanceDependent(0.4, 5), InstanceDependent(0.4, 5)
    of_bytes = bytes_at_once(labels, inputs, generator()).label
    of_floats = floats_at_once(labels, inputs / 255, generator()).label
    monkeypatch.setattr(instance_dependent, "_CHUNK", chunk)
    noise = InstanceDependent(0.4, 5)
    np.testing.assert_array_equal(noise(labels, inputs, generator()).label, of_bytes)
    assert torch.equal(noise.transition, bytes_at_once.transition), "whole numbers: to the last bit"
    np.testing.assert_array_equal(noise(labels, inputs / 255, generator()).label, of_floats)
    torch.testing.assert_close(noise.transition, floats_at_once.transition, rtol=1e-12, atol=0)


def test_noise_of_a_class_does_not_depend_on_other_classes() -> None:
    inputs = images(6, 4)
    noise = InstanceDependent(0.4, 3)
    noise(torch.tensor([2, 2, 2, 0, 1, 1]), inputs, generator())
    rows = noise.transition
    noise(torch.tensor([2, 2, 2, 1, 1, 0]), inputs, generator())
    assert torch.equal(noise.transition[:3], rows[:3])


def test_images_are_not_copied_as_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance_dependent, "_CHUNK", 1000)
    widest, double = [0], Tensor.double

    def counted(tensor: Tensor) -> Tensor:
        widest[0] = max(widest[0], tensor.numel())
        return double(tensor)

    monkeypatch.setattr(Tensor, "double", counted)
    InstanceDependent(0.4, 2)(torch.arange(500) % 2, images(500, 99), generator())
    assert widest[0] == 990


def test_sixty_thousand_digits_take_seconds() -> None:
    labels, inputs = torch.randint(10, (60_000,), generator=generator(1)), images(60_000, 1, 28, 28)
    noise, start = InstanceDependent(0.3, 10), time.perf_counter()
    observed = noise(labels, inputs, generator()).label
    assert time.perf_counter() - start < 10
    assert (observed != labels.numpy()).mean() == pytest.approx(noise.mean_rate, abs=4 * (0.21 / 60_000) ** 0.5)


def test_examples_of_no_one_are_empty() -> None:
    noise = InstanceDependent(0.3, 4)
    assert noise(torch.zeros(0, dtype=torch.long), torch.zeros(0, 5), generator()).matrix().shape == (0, 1)
    assert noise.transition.shape == (0, 4)
    torch.testing.assert_close(noise.confusion[0], symmetric(4, noise.mean_rate, kind="flip"))


def test_bad_settings_are_refused() -> None:
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\]"):
            InstanceDependent(rate, 3)
    for spread in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="spread must be positive"):
            InstanceDependent(0.1, 3, spread)
    with pytest.raises(ValueError, match="classes must be at least 2, got 1"):
        InstanceDependent(0.1, 1)


@pytest.mark.parametrize("labels", [torch.tensor([0, 3]), torch.tensor([-1, 0]), torch.zeros(2), torch.eye(2).long()])
def test_labels_that_are_no_classes_are_refused(labels: Tensor) -> None:
    with pytest.raises(ValueError, match=r"labels must be \(N,\) integers in 0\.\.2"):
        InstanceDependent(0.1, 3)(labels, torch.zeros(2, 4), generator())


def test_inputs_that_do_not_fit_are_refused() -> None:
    noise, labels = InstanceDependent(0.1, 3), torch.tensor([0, 1])
    with pytest.raises(ValueError, match="looks at the inputs, got None"):
        noise(labels, None, generator())
    for shape in [(2,), (3, 4), (2, 0)]:
        with pytest.raises(ValueError, match=r"inputs must be \(2, \.\.\.\), one for each label"):
            noise(labels, torch.zeros(shape), generator())
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="inputs hold NaN or infinity in example 1"):
            noise(labels, torch.tensor([[1.0, 2.0], [1.0, bad]]), generator())
