"""Methods with confusion matrices in the network: one an annotator, one for all, or the true ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.methods.method import Method
from truelabel.noise import AnnotatorConfusion, FixedConfusion
from truelabel.noise.annotator_confusion import check_options
from truelabel.noise.transition import check_rows
from truelabel.training import Blueprint

Matrices = tuple[tuple[tuple[float, ...], ...], ...]


@dataclass(frozen=True, kw_only=True)
class AnnotatorConfusionMethod(Method):
    r"""Classifier and annotators at once: :math:`-\sum_r \log (p^\top T^{(r)})_{\tilde y^{(r)}}`, and the traces.

    Attributes:
        trace: λ, weight of the mean trace over the labels given.
        rank: of low-rank matrices; by default full up to ten million cells, then 4 or less by the number of classes.
        shrinkage: precision of a prior that draws every annotator to the group; 0, as in the paper, for none. It fades
            with the number of labels.
        by_input: let the input change the matrices.
    """

    name = "annotator-confusion"
    summary = "a confusion matrix for each annotator, learned along, with a trace penalty"
    paper = "Tanno 2019"
    tasks = ("classification", "segmentation")
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {"trace": (0.1, 0.01, 0.001)}
    search_score = "likelihood"

    trace: float = 0.01
    rank: int | None = None
    shrinkage: float = 0.1
    by_input: bool = False

    def __post_init__(self) -> None:
        check_options(trace=self.trace, rank=self.rank, shrinkage=self.shrinkage, by_input=self.by_input)

    def learner(self, plan: Blueprint) -> Learner:
        return confused_classifier(plan, plan.annotators, **self.options())


@dataclass(frozen=True, kw_only=True)
class SingleConfusion(Method):
    r"""One matrix for everybody, learned along: :math:`-\log (p^\top T)_{\tilde y} + \lambda \operatorname{tr} T`.

    Attributes:
        trace: λ, weight of the trace.
    """

    name = "single-confusion"
    summary = "one confusion matrix for all labels, learned along, with a trace penalty"
    paper = "Sukhbaatar 2014"
    tasks = ("classification", "segmentation")

    trace: float = 0.01

    def __post_init__(self) -> None:
        check_options(trace=self.trace, rank=None, shrinkage=0.0, by_input=False)

    def learner(self, plan: Blueprint) -> Learner:
        return confused_classifier(plan, 1, trace=self.trace)


@dataclass(frozen=True, kw_only=True)
class OracleConfusion(Method):
    r"""The true matrices, given: :math:`-\sum_r \log (p^\top T^{(r)})_{\tilde y^{(r)}}`, the most to hope for.

    Attributes:
        confusion: ``[annotator][true][observed]``, rows of probabilities, or one matrix for all; it must be given.
    """

    name = "oracle-confusion"
    summary = "the annotators' true confusion matrices, given"
    paper = "Tanno 2019"
    tasks = ("classification", "segmentation")

    confusion: Matrices | None = None

    def __post_init__(self) -> None:
        if self.confusion is not None:
            object.__setattr__(self, "confusion", _matrices(self.confusion))

    def learner(self, plan: Blueprint) -> Learner:
        network = plan.network()
        confusion = self.given(plan.annotators)
        return Classifier(network, FixedConfusion(network.features, plan.classes, confusion), CrossEntropy())

    def given(self, annotators: int) -> Tensor:
        """The matrices, one an annotator: ``(R, K, K)``."""
        if self.confusion is None:
            raise ValueError("oracle-confusion needs confusion, the true matrices [annotator][true][observed]")
        if len(self.confusion) not in (1, annotators):
            raise ValueError(f"confusion is for {len(self.confusion)} annotators, but there are {annotators}")
        return torch.tensor(self.confusion).repeat(annotators // len(self.confusion), 1, 1)


def confused_classifier(plan: Blueprint, annotators: int, **options: Any) -> Classifier:
    """A network whose class head is seen through annotators' matrices."""
    network = plan.network()
    workload = None if plan.workload is None or annotators == 1 else torch.from_numpy(plan.workload)
    noise = AnnotatorConfusion(network.features, plan.classes, annotators, workload=workload, **options)
    return Classifier(network, noise, CrossEntropy())


def _matrices(given: Any) -> Matrices:
    try:
        values = given if isinstance(given, Tensor) else torch.tensor(given, dtype=torch.double)
    except (TypeError, ValueError) as error:
        raise ValueError(f"confusion must be numbers [annotator][true][observed], got {given!r}") from error
    values = values.unsqueeze(0) if values.dim() == 2 else values
    if values.dim() != 3 or values.shape[1] != values.shape[2]:
        raise ValueError(f"confusion must be (annotators, classes, classes), got {tuple(values.shape)}")
    check_rows("confusion", values)
    return tuple(tuple(tuple(row) for row in matrix) for matrix in values.tolist())
