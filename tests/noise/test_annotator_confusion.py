from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy, GeneralizedCrossEntropy
from truelabel.networks import MLP
from truelabel.noise import AnnotatorConfusion, FixedConfusion, Transition
from truelabel.noise.annotator_confusion import default_rank, mean_over_given
from truelabel.noise.confusion_cells import FullCells, LowRankCells
from truelabel.types import Batch, over_slots

FEATURES, CLASSES, ANNOTATORS = 6, 4, 5
N, SLOTS = 9, 3
VARIANTS: list[dict[str, Any]] = [{}, {"rank": 2}, {"shrinkage": 2.0}, {"shrinkage": 0.5, "rank": 1, "trace": 0.0}]
variants = pytest.mark.parametrize("options", VARIANTS, ids=str)


def a_model(annotators: int = ANNOTATORS, **options: Any) -> AnnotatorConfusion:
    """In float64, with matrices that differ and are not symmetric."""
    model = AnnotatorConfusion(FEATURES, CLASSES, annotators, **options).double()
    with torch.no_grad():
        for parameter in model.noise_parameters():
            parameter.add_(3 * torch.randn_like(parameter))
    return model


def matrices_of(model: AnnotatorConfusion) -> Tensor:
    matrices = model.annotator_confusion()
    assert matrices is not None
    return matrices.detach()


def some_labels(annotators: int = ANNOTATORS, *units: int) -> tuple[Tensor, Tensor, Tensor]:
    """Features, labels and annotators of N examples; the first has no label, the second has all."""
    given = torch.rand(N, SLOTS) < 0.6
    given[0], given[1] = False, True
    who = torch.stack([torch.randperm(annotators)[:SLOTS] for _ in range(N)])
    said = torch.randint(CLASSES, (N, *units, SLOTS))
    here = given.view(N, *[1] * len(units), SLOTS).expand(said.shape)
    features = torch.randn(N, *units, FEATURES, dtype=torch.double)
    return features, torch.where(here, said, -1), torch.where(given, who, -1)


def as_batch(features: Tensor, labels: Tensor, who: Tensor, soft: Tensor | None = None) -> Batch:
    return Batch(features, labels, who, torch.ones(who.shape, dtype=features.dtype), soft, torch.arange(len(features)))


def gradients(value: Tensor, model: AnnotatorConfusion) -> list[Tensor | None]:
    return list(torch.autograd.grad(value, list(model.parameters()), allow_unused=True))


@variants
@pytest.mark.parametrize("annotators", [ANNOTATORS, 100])
@pytest.mark.parametrize("units", [(), (2, 3)])
def test_equation_2_by_loops(options: dict[str, Any], annotators: int, units: tuple[int, ...]) -> None:
    model = a_model(annotators, **options)
    features, labels, who = some_labels(annotators, *units)
    at = model(features, features, who).noisy.at(labels).detach()
    probs = (features @ model.head.weight.T + model.head.bias).softmax(-1).detach()
    matrices = matrices_of(model)
    for place in (labels >= 0).nonzero().tolist():
        n, *pixel, s = place
        r, j = int(who[n, s]), int(labels[tuple(place)])
        p = probs[(n, *pixel)].tolist()
        likelihood = sum(p[k] * float(matrices[r, k, j]) for k in range(CLASSES))
        assert float(at[tuple(place)]) == pytest.approx(math.log(likelihood), abs=1e-9)


def test_the_listing() -> None:
    """The code printed in the appendix of Tanno 2019, for dense labels: [N, R] with its own loop and masks."""
    trace = 0.01
    model = a_model(trace=trace)
    features, labels = torch.randn(N, FEATURES, dtype=torch.double), torch.randint(CLASSES, (N, ANNOTATORS))
    cells = functional.softplus(model.rho.view(ANNOTATORS, CLASSES, CLASSES))
    matrices = cells / cells.sum(-1, keepdim=True)
    losses = torch.zeros(N, dtype=torch.double)
    probs = model.head(features).softmax(-1)
    for r in range(ANNOTATORS):
        said = (probs @ matrices[r]).clamp(1e-10, 0.9999999)
        losses = losses - (functional.one_hot(labels[:, r], CLASSES) * said.log()).sum(-1)
    published = losses.mean() + trace * torch.stack([matrix.trace() for matrix in matrices]).mean()
    prediction = model(features, features, torch.arange(ANNOTATORS).expand(N, -1))
    ours = -prediction.noisy.at(labels).sum(-1).mean() + prediction.penalty
    torch.testing.assert_close(ours, published)
    for mine, theirs in zip(gradients(ours, model), gradients(published, model), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("annotators", [ANNOTATORS, 100])
@pytest.mark.parametrize("units", [(), (2, 3)])
@pytest.mark.parametrize("options", [{}, {"rank": 2}, {"by_input": True}], ids=str)
def test_the_penalty_is_the_mean_trace_over_labels_given(
    options: dict[str, Any], annotators: int, units: tuple[int, ...]
) -> None:
    model = a_model(annotators, trace=0.7, **options)
    if model.shift is not None:
        torch.nn.init.zeros_(model.shift.weight)
    features, _, who = some_labels(annotators, *units)
    penalty = model(features, features, who).penalty
    rows = model.rho.detach()
    matrices = model.cells.matrices(model.cells.parts(rows))
    traces = [float(matrices[r].trace()) for r in who.flatten().tolist() if r >= 0]
    assert penalty.item() == pytest.approx(0.7 * sum(traces) / len(traces))


@pytest.mark.parametrize("annotators", [ANNOTATORS, 100])
def test_the_penalty_makes_traces_smaller_and_leaves_the_absent_alone(annotators: int) -> None:
    model = a_model(annotators)
    who = torch.tensor([[3, 1], [1, -1], [-1, -1]])
    features = torch.randn(3, FEATURES, dtype=torch.double)
    (gradient,) = torch.autograd.grad(model(features, features, who).penalty, model.rho)
    moved = gradient.abs().sum(-1) > 0
    assert moved.nonzero().flatten().tolist() == [1, 3]
    before = [matrix.trace() for matrix in matrices_of(model)]
    with torch.no_grad():
        model.rho.sub_(10 * gradient)
    after = [matrix.trace() for matrix in matrices_of(model)]
    for r in range(annotators):
        assert (after[r] < before[r]) if r in (1, 3) else (after[r] == before[r])


def test_a_batch_without_labels_costs_nothing() -> None:
    model = a_model(shrinkage=1.0)
    features, nobody = torch.randn(2, FEATURES, dtype=torch.double), torch.full((2, SLOTS), -1)
    prediction = model(features, features, nobody)
    assert prediction.penalty == 0
    labels = torch.full((2, SLOTS), -1)
    losses = over_slots(-prediction.noisy.at(labels), as_batch(features, labels, nobody))
    (losses.sum() + prediction.penalty).backward()
    assert model.rho.grad is not None
    assert not model.rho.grad.any()


@variants
@pytest.mark.parametrize("units", [(), (2, 3)])
def test_looking_at_few_rows_or_at_all_is_the_same(options: dict[str, Any], units: tuple[int, ...]) -> None:
    many = a_model(N * SLOTS + 1, **options)
    few = AnnotatorConfusion(FEATURES, CLASSES, ANNOTATORS, **options).double()
    state = many.state_dict()
    few.load_state_dict({**state, **{name: state[name][:ANNOTATORS] for name in ("rho", "workload")}})
    features, labels, who = some_labels(ANNOTATORS, *units)
    results = []
    for model in (many, few):
        prediction = model(features, features, who)
        value = prediction.penalty - torch.where(labels >= 0, prediction.noisy.at(labels), 0.0).sum()
        value.backward()
        results.append([value, prediction.noisy.all(), *(p.grad for p in model.parameters())])
    for ours, theirs in zip(*results, strict=True):
        assert ours is not None
        assert theirs is not None
        torch.testing.assert_close(ours if ours.shape == theirs.shape else ours[:ANNOTATORS], theirs)


@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("shrinkage", [0.0, 1.0])
def test_every_annotator_starts_with_the_same_diagonal(classes: int, shrinkage: float) -> None:
    matrices = AnnotatorConfusion(3, classes, 2, shrinkage=shrinkage).annotator_confusion()
    assert matrices is not None
    own = matrices.detach().diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(own, torch.full_like(own, 0.956), atol=1e-5, rtol=0)


def test_the_prior_counts_everybody_once_an_epoch() -> None:
    precision, batch = 1.7, 3
    *_, who = some_labels()
    workload = torch.bincount(who[who >= 0], minlength=ANNOTATORS)
    model = a_model(trace=0.0, shrinkage=precision, workload=workload)
    features = torch.randn(N, FEATURES, dtype=torch.double)
    order = torch.randperm(N).view(-1, batch)
    epoch = torch.stack([model(features[i], features[i], who[i]).penalty for i in order]).mean()
    apart = sum(float(row.square().sum()) for row, given in zip(model.rho.detach(), workload, strict=True) if given)
    assert epoch.item() == pytest.approx(precision / 2 * apart / N)


def test_who_said_little_is_like_the_group() -> None:
    model = a_model(shrinkage=1.0)
    assert model.group is not None
    with torch.no_grad():
        model.rho[2] = 0.0
    group = model.cells.matrices(model.cells.parts(model.group.unsqueeze(0)))[0]
    torch.testing.assert_close(matrices_of(model)[2], group.detach())
    assert not torch.allclose(matrices_of(model)[1], group, atol=0.05)
    assert {id(p) for p in model.noise_parameters()} == {id(model.rho), id(model.group)}


@pytest.mark.parametrize("options", [{}, {"shrinkage": 1.0}, {"rank": 2}], ids=str)
@pytest.mark.parametrize("units", [(), (2, 3)])
def test_inputs_change_nothing_until_their_weights_move(options: dict[str, Any], units: tuple[int, ...]) -> None:
    plain = a_model(**options)
    fresh = AnnotatorConfusion(FEATURES, CLASSES, ANNOTATORS, by_input=True, **options).double()
    assert fresh.shift is not None
    fresh.load_state_dict({**fresh.state_dict(), **plain.state_dict()})
    features, labels, who = some_labels(ANNOTATORS, *units)
    ours, theirs = fresh(features, features, who), plain(features, features, who)
    torch.testing.assert_close(ours.noisy.at(labels), theirs.noisy.at(labels))
    torch.testing.assert_close(ours.noisy.all(), theirs.noisy.all())
    torch.testing.assert_close(ours.penalty, theirs.penalty)
    assert fresh.annotator_confusion() is None
    assert id(fresh.shift.weight) not in {id(p) for p in fresh.noise_parameters()}, "it learns like the network"


def test_inputs_shift_the_numbers_of_every_annotator() -> None:
    model = a_model(by_input=True)
    assert model.shift is not None
    features, labels, who = some_labels()
    at, probs = model(features, features, who).noisy.at(labels), model.head(features).softmax(-1)
    for n, s in (labels >= 0).nonzero().tolist():
        raw = (model.rho[who[n, s]] + model.shift.weight @ features[n]).view(CLASSES, CLASSES)
        matrix = functional.softplus(raw) / functional.softplus(raw).sum(-1, keepdim=True)
        torch.testing.assert_close(at[n, s].exp(), probs[n] @ matrix[:, labels[n, s]])


def test_one_matrix_for_everybody_ignores_who() -> None:
    model = a_model(1)
    features, labels, who = some_labels(50)
    nobody_special = torch.where(who >= 0, 0, -1)
    ours, theirs = model(features, features, who), model(features, features, nobody_special)
    assert torch.equal(ours.noisy.at(labels), theirs.noisy.at(labels))
    assert torch.equal(ours.penalty, theirs.penalty)
    (matrix,) = matrices_of(model)
    known = Transition(FEATURES, CLASSES, matrix.float()).double()
    known.transition.copy_(matrix)
    known.head.load_state_dict(model.head.state_dict())
    expected = known(features, features, who).noisy.at(labels)
    torch.testing.assert_close(ours.noisy.at(labels)[labels >= 0], expected[labels >= 0])


@variants
def test_one_hot_targets_are_hard_labels(options: dict[str, Any]) -> None:
    model = a_model(**options)
    features, labels, who = some_labels()
    hard = as_batch(features, labels, who)
    soft = hard._replace(soft=functional.one_hot(labels.clamp_min(0), CLASSES).double())
    losses = []
    for batch in (hard, soft):
        prediction = model(features, features, who)
        losses.append(over_slots(CrossEntropy()(prediction, batch), batch))
    torch.testing.assert_close(*losses)
    assert losses[0][0] == 0


def test_low_rank_is_the_default_for_more_than_ten_million_cells() -> None:
    assert isinstance(AnnotatorConfusion(2, 100, 1000).cells, FullCells)
    low = AnnotatorConfusion(2, 100, 1001)
    assert isinstance(low.cells, LowRankCells)
    assert (low.cells.rank, low.rho.shape) == (4, (1001, 900))
    for rank, kind in ((99, LowRankCells), (100, FullCells), (1000, FullCells)):
        assert type(AnnotatorConfusion(2, 100, 3, rank=rank).cells) is kind


@pytest.mark.parametrize("classes", range(2, 40))
def test_the_default_rank_saves_numbers(classes: int) -> None:
    rank = default_rank(classes)
    assert (rank is None) == (classes < 4)
    assert rank is None or LowRankCells(classes, rank).numbers <= 0.75 * classes**2


@pytest.mark.parametrize("loss", [CrossEntropy(), GeneralizedCrossEntropy(0.7)], ids=lambda loss: type(loss).__name__)
def test_two_annotators_who_name_the_classes_apart_are_told_apart(loss: CrossEntropy) -> None:
    # The first is always right, the second swaps the two classes in four of five cases.
    truth = torch.arange(200) % 2
    inputs = torch.randn(200, 2) + 4 * functional.one_hot(truth, 2)
    swap = torch.where(torch.arange(200) % 10 < 8, 1 - truth, truth)
    labels, who = torch.stack([truth, swap], -1), torch.tensor([0, 1]).expand(200, -1)
    learner = Classifier(MLP(2, width=8), AnnotatorConfusion(8, 2, 2, trace=0.001), loss)
    optimizer = torch.optim.Adam(learner.parameters(), 0.05)
    for _ in range(150):
        optimizer.zero_grad()
        step = learner(as_batch(inputs, labels, who))
        (step.losses.mean() + step.penalty).backward()
        optimizer.step()
    confusion = learner.annotator_confusion()
    assert confusion is not None
    assert (learner.predict(inputs).clean.argmax(-1) == truth).float().mean() > 0.97
    expected = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.2, 0.8], [0.8, 0.2]]])
    bound = 0.1 if isinstance(loss, CrossEntropy) else 0.25
    assert (confusion - expected).abs().max() < bound


def test_mean_over_given_by_hand() -> None:
    values, given = torch.tensor([1.0, 10.0, 100.0]), torch.tensor([[True, False], [True, True]])
    assert mean_over_given(values, torch.tensor([[0, 1], [2, 2]]), given) == pytest.approx(201 / 3)
    own = torch.arange(8.0)  # two examples, two pixels, two slots
    assert mean_over_given(own, None, given) == pytest.approx((0 + 2 + 4 + 5 + 6 + 7) / 6)
    assert mean_over_given(values, torch.zeros(2, 2, dtype=torch.long), torch.zeros_like(given)) == 0


@pytest.mark.parametrize("units", [(), (2, 3)])
def test_known_matrices(units: tuple[int, ...]) -> None:
    matrices = torch.rand(ANNOTATORS, CLASSES, CLASSES, dtype=torch.double) ** 2
    matrices = matrices / matrices.sum(-1, keepdim=True)
    model = FixedConfusion(FEATURES, CLASSES, matrices).double()
    model.matrices.copy_(matrices)
    features, labels, who = some_labels(ANNOTATORS, *units)
    prediction = model(features, features, who)
    probs = prediction.clean.exp().detach()
    for place in (labels >= 0).nonzero().tolist():
        n, *pixel, s = place
        expected = probs[(n, *pixel)] @ matrices[who[n, s], :, labels[tuple(place)]]
        torch.testing.assert_close(prediction.noisy.at(labels)[tuple(place)].detach().exp(), expected)
    assert prediction.penalty == 0
    assert list(model.noise_parameters()) == []
    assert torch.equal(model.annotator_confusion(), matrices)


def test_an_impossible_label_of_known_matrices_stays_finite() -> None:
    model = FixedConfusion(FEATURES, 2, torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]))
    features, labels = torch.randn(4, FEATURES), torch.tensor([[0], [1], [0], [1]])
    at = model(features, features, torch.zeros(4, 1, dtype=torch.long)).noisy.at(labels)
    at.sum().backward()
    assert at[:, 0].tolist() == pytest.approx([0.0, -87.3365, 0.0, -87.3365], abs=1e-3)
    assert model.head.weight.grad is not None
    assert model.head.weight.grad.isfinite().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trace": -0.1}, "^trace must not be negative, got -0.1$"),
        ({"trace": math.nan}, "^trace must not be negative, got nan$"),
        ({"shrinkage": -1.0}, "^shrinkage must not be negative, got -1.0$"),
        ({"rank": 0}, "^rank must be a whole number of at least 1, or None, got 0$"),
        ({"rank": 1.5}, "^rank must be a whole number of at least 1, or None, got 1.5$"),
        ({"by_input": 1}, "^by_input must be true or false, got 1$"),
        ({"annotators": 0}, "^annotators must be at least 1, got 0$"),
        ({"start": 1.0}, "^start must lie between 0 and 1, got 1.0$"),
        ({"workload": torch.ones(4)}, r"^workload must be \(5,\), got \(4,\)$"),
    ],
    ids=str,
)
def test_senseless_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AnnotatorConfusion(**{"features": FEATURES, "classes": CLASSES, "annotators": ANNOTATORS, **options})


@pytest.mark.parametrize(
    ("confusion", "message"),
    [
        (torch.eye(CLASSES), r"^confusion must be \(R, 4, 4\), got \(4, 4\)$"),
        (torch.ones(2, CLASSES, CLASSES), "^the rows of confusion must be probabilities that sum to one$"),
        (torch.full((2, CLASSES, CLASSES), math.nan), "^the rows of confusion must be probabilities"),
    ],
    ids=["flat", "counts", "nan"],
)
def test_what_is_no_confusion_is_refused(confusion: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FixedConfusion(FEATURES, CLASSES, confusion)
