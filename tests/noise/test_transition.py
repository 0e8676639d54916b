from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy, Reweight, cross_entropy
from truelabel.networks import MLP
from truelabel.noise import Transition
from truelabel.types import Batch, Prediction, mix

FEATURES, CLASSES, SLOTS = 6, 3, 2
T = torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.05, 0.15, 0.8]])
UNITS = [(7,), (3, 4, 5)]


def predict(model: Transition, features: Tensor) -> Prediction:
    n = len(features)
    return model(torch.zeros(n, 1), features, torch.zeros(n, SLOTS, dtype=torch.long))


def a_batch(labels: Tensor) -> Batch:
    n, s = labels.shape
    nobody = torch.zeros(n, s, dtype=torch.long)
    return Batch(torch.zeros(n, 1), labels, nobody, torch.ones(n, s), None, torch.arange(n))


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("revise", [False, True])
def test_mixing_is_a_matrix_product(units: tuple[int, ...], revise: bool) -> None:
    model = Transition(FEATURES, CLASSES, T, revise=revise).double()
    features, labels = torch.randn(*units, FEATURES, dtype=torch.double), torch.randint(CLASSES, (*units, SLOTS))
    prediction = predict(model, features)
    clean = (features @ model.head.weight.T + model.head.bias).softmax(-1)
    torch.testing.assert_close(prediction.clean.exp(), clean)
    noisy = (clean.view(-1, CLASSES) @ T.double()).view(*units, CLASSES)
    torch.testing.assert_close(prediction.noisy.all().exp(), noisy.unsqueeze(-2))
    torch.testing.assert_close(prediction.noisy.all().squeeze(-2), mix(prediction.clean, T.double()))
    expected = torch.stack([noisy.gather(-1, labels[..., s : s + 1]).squeeze(-1) for s in range(SLOTS)], -1)
    torch.testing.assert_close(prediction.noisy.at(labels).exp(), expected)
    assert prediction.noisy.normalised
    assert prediction.penalty == 0


def test_rows_are_the_truth() -> None:
    # Class 0 is said to be 1 in a fifth of all cases, class 1 to be 0 in three tenths.
    model = Transition(FEATURES, CLASSES, T)
    torch.nn.init.zeros_(model.head.weight)
    model.head.bias.data = torch.tensor([50.0, 0.0, 0.0])
    noisy = predict(model, torch.zeros(1, FEATURES)).noisy.all().exp()
    torch.testing.assert_close(noisy[0, 0], T[0])


@pytest.mark.parametrize("revise", [False, True])
def test_with_true_labels_it_is_cross_entropy(revise: bool) -> None:
    model = Transition(FEATURES, CLASSES, torch.eye(CLASSES), revise=revise)
    features, labels = torch.randn(20, FEATURES), torch.randint(CLASSES, (20, 1))
    logits = model.head(features)
    ours = CrossEntropy()(predict(model, features), a_batch(labels)).squeeze(-1)
    theirs = cross_entropy(logits, labels[:, 0])
    torch.testing.assert_close(ours, theirs)
    gradients = [
        torch.autograd.grad(values.sum(), model.head.weight, retain_graph=True)[0] for values in (ours, theirs)
    ]
    torch.testing.assert_close(*gradients)


def test_an_impossible_label_costs_much_but_stays_finite() -> None:
    model = Transition(FEATURES, 2, torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    features = torch.randn(4, FEATURES)
    values = CrossEntropy()(predict(model, features), a_batch(torch.tensor([[0], [1], [0], [1]])))
    values.sum().backward()
    assert values[:, 0].tolist() == pytest.approx([0.0, 87.3365, 0.0, 87.3365], abs=1e-3)
    assert model.head.weight.grad is not None
    assert model.head.weight.grad.isfinite().all()


def test_the_slack_starts_at_zero_and_belongs_to_the_noise() -> None:
    fixed, revised = Transition(FEATURES, CLASSES, T), Transition(FEATURES, CLASSES, T, revise=True)
    assert fixed.slack is None
    assert list(fixed.noise_parameters()) == []
    assert revised.slack is not None
    assert torch.equal(revised.slack, torch.zeros(CLASSES, CLASSES))
    assert [id(p) for p in revised.noise_parameters()] == [id(revised.slack)]
    torch.testing.assert_close(revised.revised(), T)
    assert fixed.revised() is fixed.transition
    assert {name for name, _ in fixed.named_parameters()} == {"head.weight", "head.bias"}
    assert "transition" in fixed.state_dict()
    revised.load_state_dict({**revised.state_dict(), **fixed.state_dict()})
    features = torch.randn(9, FEATURES)
    torch.testing.assert_close(predict(revised, features).noisy.all(), predict(fixed, features).noisy.all())


def test_a_revised_matrix_has_rows_of_probabilities() -> None:
    model = Transition(FEATURES, CLASSES, T, revise=True)
    assert model.slack is not None
    slack = [[0.3, -0.5, 0.0], [-1.0, -1.0, 0.1], [0.0, 0.0, 1.0]]
    model.slack.data = torch.tensor(slack)
    revised = model.revised()
    expected = []
    for row, moved in zip(T.tolist(), slack, strict=True):
        cells = [max(0.0, a + b) for a, b in zip(row, moved, strict=True)]
        expected.append([cell / sum(cells) for cell in cells])
    torch.testing.assert_close(revised, torch.tensor(expected))
    features = torch.randn(5, FEATURES)
    prediction = predict(model, features)
    torch.testing.assert_close(prediction.noisy.all().exp().squeeze(1), prediction.clean.exp() @ revised)


@pytest.mark.parametrize("attached", [True, False])
def test_reweighting_reaches_the_slack_only_through_an_attached_weight(attached: bool) -> None:
    network = MLP(2, width=FEATURES)
    learner = Classifier(network, Transition(FEATURES, CLASSES, T, revise=True), Reweight(attached=attached))
    batch = a_batch(torch.randint(CLASSES, (16, 1)))._replace(inputs=torch.randn(16, 2))
    learner(batch).losses.sum().backward()
    assert [id(p) for p in learner.parameter_groups().noise] == [id(learner.noise.slack)]
    assert isinstance(learner.noise.slack, Tensor)
    reached = learner.noise.slack.grad is not None and bool(learner.noise.slack.grad.any())
    assert reached == attached


def slack_gradients(transition: Tensor) -> tuple[Tensor, Tensor]:
    """Of the log likelihood of all labels with respect to the slack: ours, and by a product of matrices."""
    model = Transition(FEATURES, CLASSES, transition, revise=True).double()
    features, labels = torch.randn(30, FEATURES, dtype=torch.double), torch.arange(30).unsqueeze(-1) % CLASSES
    assert model.slack is not None
    (ours,) = torch.autograd.grad(predict(model, features).noisy.at(labels).sum(), model.slack)
    slack = torch.zeros(CLASSES, CLASSES, dtype=torch.double, requires_grad=True)
    cells = transition.double() + slack
    noisy = model.head(features).softmax(-1).detach() @ (cells / cells.sum(-1, keepdim=True))
    (theirs,) = torch.autograd.grad(noisy.gather(-1, labels).log().sum(), slack)
    return ours, theirs


def test_the_gradient_of_the_slack() -> None:
    torch.testing.assert_close(*slack_gradients(T))


def test_the_gradient_of_the_slack_where_the_transition_is_zero() -> None:
    torch.testing.assert_close(*slack_gradients(torch.eye(CLASSES)))


def test_the_matrix_follows_the_precision_of_the_model() -> None:
    model = Transition(FEATURES, CLASSES, T.double())
    assert model.transition.dtype == torch.float
    assert model.double().transition.dtype == torch.double


@pytest.mark.parametrize(
    ("transition", "message"),
    [
        (torch.eye(2), r"^transition must be \(3, 3\), got \(2, 2\)$"),
        (torch.eye(3)[:2], r"^transition must be \(3, 3\), got \(2, 3\)$"),
        (T.T, "^the rows of transition must be probabilities that sum to one$"),
        (torch.eye(3) + torch.tensor([[-0.5, 0.5, 0.0]] * 3), "^the rows of transition must be probabilities"),
        pytest.param(
            torch.full((3, 3), math.nan),
            "^the rows of transition must be probabilities",
        ),
    ],
    ids=["small", "oblong", "columns", "negative", "nan"],
)
def test_what_is_no_transition_is_refused(transition: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Transition(FEATURES, CLASSES, transition)
