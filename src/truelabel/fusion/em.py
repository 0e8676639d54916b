"""The loop that all fusions by EM share: climb until the evidence stands still, over one process or several."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from truelabel.annotations import Annotations
from truelabel.fusion.kernels import Array, Votes

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Parameters = TypeVar("Parameters")


@dataclass(frozen=True)
class Climb(Generic[Parameters]):
    """Where EM ended.

    Attributes:
        parameters: those that the last E-step used.
        history: the evidence of the parameters after every iteration.
        converged: whether the last iteration gained less than the tolerance.
    """

    parameters: Parameters
    history: tuple[float, ...]
    converged: bool


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """When EM stops.

    Attributes:
        tolerance: gain of evidence, per label given, that is not worth another iteration.
        max_iterations: how many at most.
    """

    tolerance: float
    max_iterations: int

    def __post_init__(self) -> None:
        if not self.tolerance >= 0:
            raise ValueError(f"tolerance must be at least 0, got {self.tolerance!r}")
        if self.max_iterations < 1:
            raise ValueError(f"max_iterations must be at least 1, got {self.max_iterations!r}")

    def climb(
        self, step: Callable[[Parameters], tuple[float, Parameters]], start: Parameters, labels: float
    ) -> Climb[Parameters]:
        """Repeat ``step``, which gives the evidence of some parameters and better ones.

        Args:
            step: one E-step and one M-step.
            start: the first parameters.
            labels: how many labels there are, in all processes.
        """
        parameters, following, history = start, start, list[float]()
        for _ in range(self.max_iterations):
            parameters = following
            evidence, following = step(parameters)
            history.append(evidence)
            if len(history) > 1 and evidence - history[-2] <= self.tolerance * labels:
                return Climb(parameters, tuple(history), True)
        return Climb(parameters, tuple(history), False)

    def warn(self, name: str, climb: Climb[Parameters], labels: float) -> None:
        """Tell the caller of the fusion ``name`` if its climb was cut short."""
        if climb.converged:
            return
        from sklearn.exceptions import ConvergenceWarning

        gain = "" if len(climb.history) < 2 else f" while the evidence rose by {_gain(climb, labels):.1e} per label"
        warnings.warn(
            f"{name} stopped after {self.max_iterations} iterations{gain}: raise max_iterations or tolerance",
            ConvergenceWarning,
            stacklevel=3,
        )


def _gain(climb: Climb[Parameters], labels: float) -> float:
    return (climb.history[-1] - climb.history[-2]) / max(labels, 1)


def pooled(fabric: Fabric | None, *values: Array | float) -> list[Array]:
    """Each of ``values``, summed over all processes."""
    arrays = [np.asarray(value, np.float64) for value in values]
    if fabric is None or fabric.world_size == 1:
        return arrays
    import torch

    flat = torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))
    total = fabric.all_reduce(flat.to(fabric.device), reduce_op="sum")
    if not isinstance(total, torch.Tensor):
        raise TypeError(f"fabric.all_reduce gave {type(total).__name__} for a tensor")
    parts = np.split(total.cpu().numpy(), np.cumsum([array.size for array in arrays])[:-1])
    return [part.reshape(array.shape) for part, array in zip(parts, arrays, strict=True)]


def warn_of_single_labels(name: str, votes: Votes, fabric: Fabric | None) -> None:
    """Tell the caller of the fusion ``name`` that there is nothing to compare annotators by, if so."""
    compared, size = pooled(fabric, votes.compared, votes.size)
    if size > 0 and compared == 0:
        warnings.warn(
            f"no example has two labels, so nothing tells which annotator is right and {name} may give worse labels "
            "than it got: use majority_vote",
            UserWarning,
            stacklevel=3,
        )


def check_shared(fabric: Fabric | None, annotations: Annotations) -> None:
    """Raise unless all processes have the same annotators and classes, in the same order."""
    if fabric is None or fabric.world_size == 1:
        return
    names = repr((annotations.annotators.tolist(), annotations.classes))
    mark = float(zlib.crc32(names.encode()) % 2**20)  # whose square is exact
    total, squares = pooled(fabric, mark, mark * mark)
    if total * total != squares * fabric.world_size:
        raise ValueError(
            "annotations of the processes differ in annotators or classes: pass annotators= and classes= to "
            "Annotations.from_table, or share out one with Annotations.take"
        )
