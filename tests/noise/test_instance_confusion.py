from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import Adapted, Trunk
from truelabel.noise import AnnotatorConfusion, InstanceConfusion
from truelabel.noise.pixel_cells import FullPixelCells, LowRankPixelCells
from truelabel.types import Batch, over_slots

FEATURES, CLASSES, READERS, CHANNELS = 6, 3, 5, 2
N, SLOTS = 4, 3

spaces = pytest.mark.parametrize("space", [(), (3, 4), (2, 3, 2)], ids=str)
variants = pytest.mark.parametrize("options", [{}, {"rank": 1}, {"rank": 2}], ids=str)


def a_model(readers: int = READERS, **options: Any) -> InstanceConfusion:
    """In float64, with matrices that differ from reader to reader and from pixel to pixel."""
    model = InstanceConfusion(FEATURES, CLASSES, readers, **options).double()
    with torch.no_grad():
        for parameter in (model.weight, model.bias):
            parameter.add_(torch.randn_like(parameter))
    return model


def some_masks(*space: int, readers: int = READERS) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Inputs, features, labels and readers of N images: nobody read the first, all slots of the second are given."""
    given = torch.rand(N, SLOTS) < 0.6
    given[0], given[1] = False, True
    who = torch.stack([torch.randperm(readers)[:SLOTS] for _ in range(N)])
    said = torch.randint(CLASSES, (N, *space, SLOTS))
    here = given.view(N, *[1] * len(space), SLOTS).expand(said.shape)
    here = here & (torch.rand(said.shape) < 0.8) if space else here
    inputs = torch.randn(N, CHANNELS, *space, dtype=torch.double)
    features = torch.randn(N, *space, FEATURES, dtype=torch.double)
    return inputs, features, torch.where(here, said, -1), torch.where(given, who, -1)


def as_batch(inputs: Tensor, labels: Tensor, who: Tensor) -> Batch:
    return Batch(inputs, labels, who, torch.ones(who.shape, dtype=inputs.dtype), None, torch.arange(len(inputs)))


def matrix_by_hand(model: InstanceConfusion, features: Tensor, reader: int) -> Tensor:
    """The matrix of a reader at one pixel, from its features ``(F,)``, cell by cell."""
    numbers = model.weight[reader] @ features + model.bias[reader]
    cells = functional.softplus(numbers)
    matrix = torch.zeros(CLASSES, CLASSES, dtype=torch.double)
    if isinstance(model.pixels, LowRankPixelCells):
        rank = (len(cells) // CLASSES - 1) // 2
        own, prone, mistakes = cells.split([CLASSES, CLASSES * rank, CLASSES * rank])
        for k, j, mistake in itertools.product(range(CLASSES), range(CLASSES), range(rank)):
            said = mistakes[mistake * CLASSES : (mistake + 1) * CLASSES]
            matrix[k, j] += prone[k * rank + mistake] * said[j] / said.sum()
        matrix += own.diag()
    else:
        matrix += cells.view(CLASSES, CLASSES)
    return matrix / matrix.sum(-1, keepdim=True)


@variants
@spaces
def test_equation_3_by_loops(options: dict[str, Any], space: tuple[int, ...]) -> None:
    model = a_model(**options)
    inputs, features, labels, who = some_masks(*space)
    prediction = model(inputs, features, who)
    at = prediction.noisy.at(labels).detach()
    probs = (features @ model.head.weight.T + model.head.bias).softmax(-1).detach()
    torch.testing.assert_close(prediction.clean.exp(), probs)
    for place in (labels >= 0).nonzero().tolist():
        n, *pixel, slot = place
        matrix = matrix_by_hand(model, features[(n, *pixel)], int(who[n, slot])).detach()
        likelihood = float(probs[(n, *pixel)] @ matrix[:, labels[tuple(place)]])
        assert float(at[tuple(place)]) == pytest.approx(math.log(likelihood), abs=1e-6)


@variants
@spaces
def test_known_labels_are_gathered_from_all(options: dict[str, Any], space: tuple[int, ...]) -> None:
    model = a_model(**options)
    inputs, features, labels, who = some_masks(*space)
    noisy = model(inputs, features, who).noisy
    everything = noisy.all()
    assert everything.shape == (N, *space, SLOTS, CLASSES)
    torch.testing.assert_close(everything.exp().sum(-1), torch.ones(labels.shape, dtype=torch.double))
    gathered = everything.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(noisy.at(labels)[labels >= 0], gathered[labels >= 0], rtol=1e-9, atol=1e-9)


@variants
@spaces
def test_matrices_at_units_are_those_that_mix(options: dict[str, Any], space: tuple[int, ...]) -> None:
    model = a_model(**options)
    inputs, features, _, who = some_masks(*space)
    who = who.clamp_min(0)
    matrices = model.matrices_at(inputs, features, who)
    assert matrices.shape == (N, *space, SLOTS, CLASSES, CLASSES)
    prediction = model(inputs, features, who)
    mixed = torch.einsum("...k,...skj->...sj", prediction.clean.exp(), matrices)
    torch.testing.assert_close(prediction.noisy.all().exp(), mixed)
    place = (1, *[0] * len(space))
    for slot in range(SLOTS):
        expected = matrix_by_hand(model, features[place], int(who[1, slot]))
        torch.testing.assert_close(matrices[(*place, slot)], expected, rtol=1e-6, atol=1e-6)


def slow_penalty(model: InstanceConfusion, features: Tensor, who: Tensor) -> float:
    """λ times the mean over images of the sum over readers of the mean trace over pixels."""
    total = 0.0
    for n in range(len(features)):
        pixels = features[n].reshape(-1, FEATURES)
        for reader in who[n].tolist():
            if reader >= 0:
                traces = [float(matrix_by_hand(model, pixel, reader).detach().trace()) for pixel in pixels]
                total += sum(traces) / len(traces)
    return model.trace * total / len(features)


@variants
@spaces
def test_the_penalty_by_loops(options: dict[str, Any], space: tuple[int, ...]) -> None:
    model = a_model(trace=0.7, **options)
    inputs, features, labels, who = some_masks(*space)
    prediction = model(inputs, features, who)
    expected = pytest.approx(slow_penalty(model, features, who), abs=1e-6)
    assert prediction.penalty.item() == expected
    prediction.noisy.at(labels)
    assert prediction.penalty.item() == expected


@variants
def test_the_penalty_has_one_gradient_wherever_it_comes_from(options: dict[str, Any]) -> None:
    model = a_model(trace=0.7, **options)
    inputs, features, labels, who = some_masks(3, 4)
    features.requires_grad_()
    wanted = [model.weight, model.bias, features]

    def penalty(after: str) -> Tensor:
        prediction = model(inputs, features, who)
        if after == "labels":
            prediction.noisy.at(labels)
        elif after == "all classes":
            prediction.noisy.all()
        return prediction.penalty

    found = [torch.autograd.grad(penalty(after), wanted) for after in ("nothing", "labels", "all classes")]
    for others in found[1:]:
        for ours, theirs in zip(found[0], others, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)
    assert all(gradient.any() for gradient in found[0])


@pytest.mark.parametrize("space", [(3, 4), (2, 3, 2)], ids=str)
def test_the_published_loss(space: tuple[int, ...]) -> None:
    """The loop of the published code over dense masks, with log probabilities scored once."""
    trace = 0.3
    model = a_model(trace=trace)
    units = math.prod(space)
    features, labels = some_masks(*space)[1], torch.randint(CLASSES, (N, *space, READERS))
    probs = model.head(features).softmax(-1).reshape(N * units, CLASSES, 1)
    losses, traces = torch.zeros((), dtype=torch.double), torch.zeros((), dtype=torch.double)
    for reader in range(READERS):
        cells = functional.softplus(features @ model.weight[reader].T + model.bias[reader])
        matrix = cells.reshape(N * units, CLASSES, CLASSES)
        matrix = matrix / matrix.sum(2, keepdim=True)
        said = torch.bmm(matrix.mT, probs).view(N * units, CLASSES)
        losses = losses + functional.nll_loss(said.log(), labels[..., reader].flatten())
        traces = traces + torch.stack([cm.trace() for cm in matrix]).mean()
    published = losses + trace * traces
    network = Adapted(nn.Identity(), features=FEATURES)
    step = Classifier(network, model, CrossEntropy())(
        as_batch(features.movedim(-1, 1), labels, torch.arange(READERS).expand(N, -1))
    )
    ours = step.losses.mean() + step.penalty
    torch.testing.assert_close(ours, published)
    parameters = [model.weight, model.bias, *model.head.parameters()]
    for mine, theirs in zip(*(torch.autograd.grad(each, parameters) for each in (ours, published)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-10)


@variants
def test_readers_who_labelled_nothing_get_no_gradient(options: dict[str, Any]) -> None:
    model = a_model(**options)
    inputs, features, labels, _ = some_masks(3, 4)
    who = torch.tensor([[3, 1, -1], [1, -1, -1], [-1, -1, -1], [3, -1, -1]])
    labels = torch.where(who.view(N, 1, 1, SLOTS) >= 0, labels, -1)
    prediction = model(inputs, features, who)
    losses = over_slots(-prediction.noisy.at(labels), as_batch(inputs, labels, who))
    for value in (prediction.penalty, losses.sum()):
        for gradient in torch.autograd.grad(value, (model.weight, model.bias), retain_graph=True):
            assert gradient.flatten(1).any(1).tolist() == [False, True, False, True, False]


def test_a_batch_without_labels_costs_nothing() -> None:
    model = a_model()
    inputs, features, labels, who = some_masks(3, 4)
    labels, who = torch.full_like(labels, -1), torch.full_like(who, -1)
    prediction = model(inputs, features, who)
    losses = over_slots(-prediction.noisy.at(labels), as_batch(inputs, labels, who))
    assert (losses.sum().item(), prediction.penalty.item()) == (0, 0)
    (losses.sum() + prediction.penalty).backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert not parameter.grad.any()


@pytest.mark.parametrize("classes", [2, 4, 10])
@pytest.mark.parametrize("start", [0.6, 0.956])
def test_diagonals_start_where_they_are_told(classes: int, start: float) -> None:
    model = InstanceConfusion(FEATURES, classes, READERS, start=start)
    # Where features are zero only the start is left; elsewhere they are near, for weights start small.
    for features, near in ((torch.zeros(2, 3, 3, FEATURES), 1e-5), (torch.randn(2, 3, 3, FEATURES), 0.05)):
        matrices = model.matrices_at(features, features, torch.arange(READERS).expand(2, -1)).detach()
        own = matrices.diagonal(dim1=-2, dim2=-1)
        torch.testing.assert_close(own, torch.full_like(own, start), atol=near, rtol=0)


@pytest.mark.parametrize("rank", [1, 3])
def test_low_rank_matrices_start_with_a_strong_diagonal(rank: int) -> None:
    # Mistakes are drawn, and some of them may fall on the diagonal too.
    model = InstanceConfusion(FEATURES, 6, READERS, rank=rank)
    features = torch.zeros(1, 2, FEATURES)
    own = model.matrices_at(features, features, torch.zeros(1, 1, dtype=torch.long)).diagonal(dim1=-2, dim2=-1)
    assert ((own >= 0.956 - 1e-4) & (own < 1)).all()


@variants
@pytest.mark.parametrize("trace", [0.5, -0.5])
def test_a_negative_weight_raises_traces(options: dict[str, Any], trace: float) -> None:
    model = a_model(trace=trace, **options)
    inputs, features, _, who = some_masks(3, 4)

    def traces() -> Tensor:
        matrices = model.matrices_at(inputs, features, who.clamp_min(0)).detach()
        mean = matrices.diagonal(dim1=-2, dim2=-1).sum(-1).mean((1, 2))  # (N, S)
        return torch.stack([mean[who == reader].sum() for reader in present])

    present = [reader for reader in range(READERS) if (who == reader).any()]
    assert len(present) > 2
    before = traces()
    wanted = [model.weight, model.bias]
    gradients = torch.autograd.grad(model(inputs, features, who).penalty, wanted)
    with torch.no_grad():
        for parameter, gradient in zip(wanted, gradients, strict=True):
            parameter.sub_(0.1 * gradient)
    assert ((traces() - before) * trace < 0).all()


@variants
def test_a_permutation_of_readers_permutes(options: dict[str, Any]) -> None:
    model, turned = a_model(**options), a_model(**options)
    order = torch.randperm(READERS)
    state = model.state_dict()
    turned.load_state_dict({**state, "weight": state["weight"][order], "bias": state["bias"][order]})
    inputs, features, labels, who = some_masks(3, 4)
    there = torch.where(who >= 0, order.argsort()[who.clamp_min(0)], -1)
    ours, theirs = model(inputs, features, who), turned(inputs, features, there)
    given = labels >= 0
    assert torch.equal(ours.noisy.at(labels)[given], theirs.noisy.at(labels)[given])
    torch.testing.assert_close(ours.penalty, theirs.penalty)
    everybody = torch.arange(READERS).expand(N, -1)
    first, second = model.matrices_at(inputs, features, everybody), turned.matrices_at(inputs, features, everybody)
    torch.testing.assert_close(first[..., order, :, :], second)


@spaces
@pytest.mark.parametrize("rank", [None, 1])
def test_without_features_it_is_annotator_confusion(space: tuple[int, ...], rank: int | None) -> None:
    model = a_model(rank=rank, trace=0.0)
    nn.init.zeros_(model.weight)
    everywhere = AnnotatorConfusion(FEATURES, CLASSES, READERS, rank=rank, trace=0.0).double()
    with torch.no_grad():
        everywhere.rho.copy_(model.bias)
    everywhere.head.load_state_dict(model.head.state_dict())
    inputs, features, labels, who = some_masks(*space)
    results = []
    for each, own in ((model, model.bias), (everywhere, everywhere.rho)):
        at = each(inputs, features, who).noisy.at(labels)[labels >= 0]
        results.append((at, torch.autograd.grad(at.sum(), own)[0]))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rank", [CLASSES, CLASSES + 5])
def test_a_rank_of_all_classes_is_full(rank: int) -> None:
    torch.manual_seed(0)
    low = InstanceConfusion(FEATURES, CLASSES, READERS, rank=rank)
    torch.manual_seed(0)
    full = InstanceConfusion(FEATURES, CLASSES, READERS)
    assert isinstance(low.pixels, FullPixelCells)
    for ours, theirs in zip(low.parameters(), full.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert isinstance(InstanceConfusion(FEATURES, CLASSES, READERS, rank=CLASSES - 1).pixels, LowRankPixelCells)


class Encoder(Adapted):
    """A convolution with four maps."""

    def __init__(self) -> None:
        super().__init__(nn.Conv2d(CHANNELS, 4, 3, padding=1), features=4)


def test_an_encoder_has_features_of_its_own() -> None:
    model = a_model(encoder=Encoder(), trunk=Trunk(4, blocks=1), trace=0.5)
    assert model.weight.shape == (READERS, CLASSES**2, 4)
    inputs, features, labels, who = some_masks(5, 4)
    features.requires_grad_()
    prediction = model(inputs, features, who)
    # Matrices do not see the features of the class at all.
    assert torch.autograd.grad(prediction.penalty, features, allow_unused=True)[0] is None
    matrices = model.matrices_at(inputs, features, who.clamp_min(0))
    assert torch.equal(matrices, model.matrices_at(inputs, torch.randn_like(features), who.clamp_min(0)))
    assert not torch.allclose(matrices, model.matrices_at(inputs.flip(0), features, who.clamp_min(0)))
    # What reaches them is what would if the matrices were given.
    given = labels >= 0
    (through,) = torch.autograd.grad(prediction.noisy.at(labels)[given].sum(), features)
    fixed = model.matrices_at(inputs, features, who.clamp_min(0)).detach()
    said = torch.einsum("...k,...skj->...sj", model.head(features).softmax(-1), fixed).log()
    mixed = said.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1)[given].sum()
    torch.testing.assert_close(through, torch.autograd.grad(mixed, features)[0])


def test_shared_features_feel_the_matrices() -> None:
    model = a_model(trace=0.5)
    inputs, features, _, who = some_masks(3, 4)
    (gradient,) = torch.autograd.grad(model(inputs, features.requires_grad_(), who).penalty, features)
    assert gradient[(who >= 0).any(1)].any(-1).all()
    assert not gradient[0].any(), "nobody read the first image"


def test_a_trunk_stands_between_features_and_matrices() -> None:
    trunk = Trunk(FEATURES, blocks=1)
    model = a_model(trunk=trunk)
    inputs, features, labels, who = some_masks(5, 4)
    plain = InstanceConfusion(FEATURES, CLASSES, READERS).double()
    plain.load_state_dict({name: value for name, value in model.state_dict().items() if "trunk" not in name})
    ours, theirs = model(inputs, features, who), plain(inputs, trunk(features), who)
    torch.testing.assert_close(ours.penalty, theirs.penalty)
    torch.testing.assert_close(ours.clean.exp(), plain.head(features).softmax(-1), msg="the class has no trunk")
    who = who.clamp_min(0)
    torch.testing.assert_close(
        model.matrices_at(inputs, features, who), plain.matrices_at(inputs, trunk(features), who)
    )
    assert ours.noisy.at(labels).shape == labels.shape


def test_all_but_the_class_is_noise() -> None:
    for parts in ({}, {"trunk": Trunk(FEATURES)}, {"trunk": Trunk(4), "encoder": Encoder()}):
        model = InstanceConfusion(FEATURES, CLASSES, READERS, **parts)
        noise, head = {id(p) for p in model.noise_parameters()}, {id(p) for p in model.head.parameters()}
        assert noise | head == {id(p) for p in model.parameters()}
        assert not noise & head
    assert model.noise_reach() is None
    assert model.annotator_confusion() is None


def test_mixed_precision_is_near() -> None:
    model = a_model().float()
    inputs, features, labels, who = some_masks(5, 4)
    batch = as_batch(inputs.float(), labels, who)
    results = []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            prediction = model(batch.inputs, features.float(), who)
            losses = over_slots(-prediction.noisy.at(labels), batch)
        total = losses.sum() + prediction.penalty
        results.append([total, *torch.autograd.grad(total, list(model.parameters()))])
    for exact, rough in zip(*results, strict=True):
        torch.testing.assert_close(rough, exact, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"annotators": 0}, "^annotators must be a whole number of at least 1, got 0$"),
        ({"rank": 0}, "^rank must be a whole number of at least 1, got 0$"),
        ({"start": 1.0}, "^start must lie between 0 and 1, got 1.0$"),
        ({"start": 0}, "^start must lie between 0 and 1, got 0$"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        InstanceConfusion(**{"features": 2, "classes": 2, "annotators": 2, **options})
