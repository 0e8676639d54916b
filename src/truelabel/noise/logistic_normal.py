"""Gaussian noise on logits, learned as in regression: the logistic-normal likelihood of Englesson 2023."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.checks import check_whole
from truelabel.noise.fixed_draws import spread_over_draws
from truelabel.noise.logit_density import DiagonalScale, LogitDensity, RankOneScale, Scale
from truelabel.noise.model import NoiseModel
from truelabel.noise.sampled_softmax import GaussianLatent
from truelabel.precision import at_least_single, unmixed
from truelabel.types import Prediction, Uncertainty

Covariance = Literal["full", "diagonal", "isotropic", "identity"]


class Attenuation(NamedTuple):
    r"""How far labels are from the mean, with and without :math:`\Sigma`; each ``(*U, S)``, NaN in empty slots.

    Figure 6 of the paper shows histograms of the squares of the first two.

    Attributes:
        residual: :math:`\lVert y - \mu \rVert`, what a model without covariance would be trained on.
        whitened: :math:`\lVert \Sigma^{-1/2} (y - \mu) \rVert`, what the loss is made of.
        gradient: :math:`\lVert \Sigma^{-1} (y - \mu) \rVert`, how hard a label pulls at the mean (Eq. 6).
    """

    residual: Tensor
    whitened: Tensor
    gradient: Tensor


class LogisticNormal(NoiseModel):
    r"""A label is a point in the space of logits, the true logits :math:`\mu(x)` plus noise :math:`N(0, \Sigma(x))`.

    .. math::
        -\log p(\tilde y \mid x) = \tfrac12 \lVert S^{-1} (y - \mu) \rVert^2 + \log\det S + \tfrac D2 \log 2\pi,
        \qquad \Sigma = S S, \qquad S = c c^\top + \lambda I

    Eq. 5 and 9 of Englesson 2023, "Logistic-Normal Likelihoods for Heteroscedastic Label Noise in Classification".
    Two linear heads give :math:`\mu` and :math:`c`, D numbers each; :math:`c c^\top + \lambda I` is the scale, not the
    covariance. A label far from the mean, :math:`\lVert y - \mu \rVert > \lambda`, is attenuated: the best :math:`c`
    turns its squared error into a logarithm. :math:`c` and :math:`-c` are the same model, and :math:`c = 0` is
    stationary: its head must not start there. Both heads start as in the published code, Glorot uniform (Keras's
    default) with biases at zero.

    The target :math:`y` of class k is the inverse of the softmax at :math:`1-t` on k plus t spread over all corners:
    with the dummy class, a corner more that no label has and whose logit is zero, :math:`D = K` and :math:`y = a e_k`,
    where :math:`a = \tau \log(((1-t)(D+1) + t) / t)`. Without it the last class is that corner: :math:`D = K - 1`, and
    the last class has :math:`-a` in every component. The clean answer is the softmax of :math:`\mu / \tau` over the K
    classes.

    The likelihood is the density of the logits y. It may exceed one and depends on K, t, :math:`\tau` and
    :math:`\lambda`: do not compare it across these, nor with cross entropy. On the simplex (Eq. 4) the logarithm would
    be larger by :math:`D \log \tau - \sum_j \log s_j`, which is the same for all classes and has no gradient.

    Differs from the paper: its code takes the argmax with the dummy class included. How the diagonal and isotropic
    scales of its Table 3 are made positive is not published; here they are softplus + :math:`\lambda`.

    All parameters count as the classifier's: the published runs decay both heads.

    Args:
        features: F.
        classes: K.
        temperature: :math:`\tau`, which multiplies the targets; small values overfit the noise.
        scale: :math:`\lambda`, the least scale and the residual at which attenuation sets in; not used by "identity".
        smoothing: t. The published runs use 0.01, and 0.1 for Clothing1M.
        covariance: of the noise, "full" as above, "diagonal", "isotropic" or "identity"; with the last one training is
            squared error regression to the targets.
        dummy: whether to add the dummy class; without it many classes are learned badly (Table 3).
        prediction_samples: draws behind :meth:`uncertainty`; the clean answer needs none.

    Attributes:
        target: a.

    Example:
        >>> model = LogisticNormal(features=8, classes=10)
        >>> prediction = model(torch.zeros(5, 8), torch.zeros(5, 8), torch.zeros(5, 1, dtype=torch.long))
        >>> prediction.clean.shape, prediction.noisy.all().shape
        (torch.Size([5, 10]), torch.Size([5, 1, 10]))
        >>> round(model.target, 5)
        6.99393
    """

    def __init__(
        self,
        features: int,
        classes: int,
        *,
        temperature: float = 1.0,
        scale: float = 0.5,
        smoothing: float = 0.01,
        covariance: Covariance = "full",
        dummy: bool = True,
        prediction_samples: int = 1000,
    ) -> None:
        super().__init__()
        if features < 1:
            raise ValueError(f"features={features} of LogisticNormal must be at least 1")
        if classes < 2:
            raise ValueError(f"classes={classes} of LogisticNormal must be at least 2")
        for name, value in (("temperature", temperature), ("scale", scale)):
            if not 0 < value < math.inf:
                raise ValueError(f"{name}={value} of LogisticNormal must be positive and finite")
        if not 0 < smoothing < 1:
            raise ValueError(f"smoothing={smoothing} of LogisticNormal must lie between 0 and 1, both excluded")
        if covariance not in get_args(Covariance):
            raise ValueError(f"covariance={covariance!r} must be one of {', '.join(get_args(Covariance))}")
        check_whole("prediction_samples", prediction_samples)
        self.prediction_samples = prediction_samples
        self.temperature = temperature
        self.scale = scale
        self.covariance = covariance
        self.dummy = dummy
        size = classes if dummy else classes - 1
        self.target = temperature * math.log(((1 - smoothing) * (size + 1) + smoothing) / smoothing)
        self.head = _linear(features, size)
        if covariance != "identity":
            self.spread = _linear(features, 1 if covariance == "isotropic" else size)

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        density = self._density(features)
        logits = density.mean.squeeze(-2) / self.temperature
        clean = (logits if self.dummy else functional.pad(logits, (0, 1))).log_softmax(-1)
        return Prediction(clean, density, clean.new_zeros(()))

    def latent(self, features: Tensor) -> GaussianLatent:
        r"""Distribution of a label's logits y / τ, for the K classes: ``features (*U, F)``.

        The full covariance has one factor, :math:`\Sigma = \lambda^2 I + (2 \lambda + \lVert c \rVert^2)\, c c^\top`.
        Without the dummy class the logit of the last class is always zero.
        """
        density = self._density(features)
        scale, factors = density.scale.factored()
        parts = [density.mean.squeeze(-2), scale.squeeze(-2), factors.squeeze(-3)]
        if not self.dummy:
            ends = [(0, 1), (0, 1), (0, 0, 0, 1)]
            parts = [functional.pad(part, end) for part, end in zip(parts, ends, strict=True)]
        return GaussianLatent(*(part / self.temperature for part in parts))

    @torch.no_grad()
    def uncertainty(self, features: Tensor) -> Uncertainty:
        """Over fixed draws of a label's logits: softmax(y / τ) of the K classes, as in the clean answer.

        ``probs`` is the mean of that, noise included, and as a rule less sure than the clean answer, the softmax at μ.
        """
        return spread_over_draws(self.latent(features), self.prediction_samples)

    def attenuation(self, features: Tensor, labels: Tensor) -> Attenuation:
        """Distances of labels from the mean, to plot what the covariance does to labels that are wrong.

        Args:
            features: ``(*U, F)``.
            labels: ``(*U, S)``, -1 where missing.

        Returns:
            Three distances, each ``(*U, S)``.

        Example:
            >>> model = LogisticNormal(features=8, classes=10, covariance="identity")
            >>> far = model.attenuation(torch.randn(5, 8), torch.tensor([[0], [1], [2], [3], [-1]]))
            >>> torch.equal(far.residual[:4], far.gradient[:4]), far.residual[4].item()
            (True, nan)
        """
        density = self._density(features)
        residual = density.targets(labels) - density.mean
        whitened = density.scale.solve(residual)
        steps = (residual, whitened, density.scale.solve(whitened))
        return Attenuation(*(torch.where(labels >= 0, step.norm(dim=-1), math.nan) for step in steps))

    def _density(self, features: Tensor) -> LogitDensity:
        mean = self.head(features).unsqueeze(-2)
        return LogitDensity(mean, self._scale(features, mean), self.target, self.dummy)

    def _scale(self, features: Tensor, mean: Tensor) -> Scale:
        if self.covariance == "identity":
            return DiagonalScale(torch.ones_like(mean))
        spread = self.spread(features).unsqueeze(-2)
        if self.covariance == "full":
            return RankOneScale(spread, self.scale)
        return DiagonalScale((functional.softplus(spread) + self.scale).expand_as(mean))


class _Head(nn.Linear):
    """A linear layer that mixed precision leaves alone: residuals divided by a small scale need their digits."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  # as torch names it
        with unmixed(input.device):
            return at_least_single(super().forward(input.to(self.weight.dtype)))


def _linear(features: int, size: int) -> nn.Linear:
    """A head that starts Glorot uniform, with its bias at zero."""
    layer = _Head(features, size)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
