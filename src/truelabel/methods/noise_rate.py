"""How many labels are wrong: given, or estimated from the labels themselves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from scipy.optimize import nnls
from torch import Tensor

from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.method import Method
from truelabel.noise import estimate_transition
from truelabel.training import Run


@dataclass(frozen=True)
class NoiseRate:
    """A share of wrong labels, and where it comes from.

    Attributes:
        value: in [0, 1).
        source: "given", "held-out labels" or "transition".
    """

    value: float
    source: str

    def note(self) -> dict[str, Any]:
        """For the record of a run."""
        return {"noise_rate": round(self.value, 4), "noise_rate_from": self.source}


@dataclass(frozen=True, kw_only=True)
class NoiseRateMethod(Method):
    r"""A method that must know how many labels are wrong; it is told, or finds out by itself.

    Unless given, the rate is the share of held-out labels that contradict a network trained for ``warm_up`` epochs by
    cross entropy, at its best epoch. It is usually too large, by at most what that network errs, and too small where
    the network has learned the mistakes. Without held-out labels it is :math:`1 - \sum_k \pi_k T[k, k]`, with T read
    off anchor points and the class frequencies :math:`\pi` that explain, through T, what the network predicts.

    Attributes:
        noise_rate: share of wrong labels; estimated if None.
        warm_up: epochs of the network that it is estimated with, at most those of the training.
    """

    in_epochs: ClassVar[tuple[str, ...]] = ("warm_up",)

    noise_rate: float | None = None
    warm_up: int = 10

    def __post_init__(self) -> None:
        if self.noise_rate is not None and not 0 <= self.noise_rate < 1:
            raise ValueError(f"noise_rate must lie in [0, 1), or be None to be estimated, got {self.noise_rate!r}")
        if self.warm_up < 1 or self.warm_up != int(self.warm_up):
            raise ValueError(f"warm_up must be a whole number of at least 1, got {self.warm_up!r}")
        object.__setattr__(self, "warm_up", int(self.warm_up))

    def rate(self, run: Run) -> NoiseRate:
        """The rate given, or an estimate, made once a run."""
        if self.noise_rate is not None:
            return NoiseRate(float(self.noise_rate), "given")
        labels_held_out = int(run.annotations.counts[run.split.valid.cpu().numpy()].sum())
        config = replace(
            run.job.config,
            epochs=min(self.warm_up, run.job.config.epochs),
            select="best" if labels_held_out else "last",
        )
        fitted = run.fit("1-warm-up", run.build("1-warm-up", plain_classifier), config=config)

        def estimate() -> dict[str, Tensor]:
            if labels_held_out:
                wrong = 1 - fitted.history.best("valid_accuracy")
            else:
                wrong = rate_of(run.posterior(fitted.peers[0]).flatten(0, -2))
            # The upper end is what remains if labels tell nothing; no selector should keep less.
            return {"rate": torch.tensor(wrong).clamp(0, 1 - 1 / run.plan.classes)}

        value = float(run.once("1-noise-rate", estimate)["rate"])
        if value > 0.95 * (1 - 1 / run.plan.classes) and run.fabric.is_global_zero:
            warnings.warn(
                f"the noise rate is estimated at {value:.0%}, hardly less than if labels told nothing: raise warm_up "
                f"and epochs (the estimate had {config.epochs} epochs), or pass noise_rate",
                stacklevel=2,
            )
        return NoiseRate(value, "held-out labels" if labels_held_out else "transition")


def rate_of(posterior: Tensor, quantile: float | None = 0.97) -> float:
    r"""The share of wrong labels :math:`1 - \sum_k \pi_k T[k, k]` that explains noisy class probabilities.

    T comes from anchor points; :math:`\pi \ge 0` solves :math:`\pi^\top T = \bar p` by least squares.

    Args:
        posterior: ``(N, K)``, noisy class probabilities of a network trained by cross entropy.
        quantile: rule for the anchor points, see :func:`~truelabel.noise.estimate_transition`.

    Example:
        >>> T = torch.tensor([[0.6, 0.4], [0.0, 1.0]])
        >>> round(rate_of(T.repeat_interleave(50, 0), quantile=None), 3)  # half of the examples are of class 0
        0.2
    """
    transition = estimate_transition(posterior, quantile).double()
    prior = torch.from_numpy(nnls(transition.T.numpy(), posterior.double().mean(0).numpy())[0])
    return 1 - float(prior / prior.sum() @ transition.diagonal())
