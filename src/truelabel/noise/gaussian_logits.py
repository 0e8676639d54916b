"""Heteroscedastic logits: the input decides how uncertain its label is."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.checks import check_whole
from truelabel.noise.fixed_draws import draw_shapes, fixed_draws, spread_over_draws
from truelabel.noise.model import NoiseModel
from truelabel.noise.sampled_softmax import Draws, GaussianLatent, log_mean_softmax, log_mean_softmax_at
from truelabel.precision import at_least_single, log_softmax
from truelabel.types import Categorical, Likelihood, Prediction, Uncertainty

SMALLEST_SCALE = 1e-3


class GaussianLogits(NoiseModel):
    r"""Logits with Gaussian noise whose size, and correlation between classes, depend on the input.

    .. math:: u = f(x) + V(x)\, \epsilon_Q + d(x) \odot \epsilon_K, \qquad
              p(\tilde y \mid x) = \mathbb{E}\, \operatorname{softmax}(u / \tau),

    with linear heads :math:`f`, :math:`V` and :math:`d = \operatorname{softplus}(\cdot) + 10^{-3}`. The expectation is
    a mean over draws, and its logarithm is the likelihood: Kendall & Gal 2017 (:math:`\tau = 1`), Eq. 7 of Collier
    2020 (any :math:`\tau`; a label is the arg max of :math:`u` as :math:`\tau \to 0`), Collier 2021 (:math:`Q` =
    ``factors`` > 0: covariance :math:`V V^\top + \operatorname{diag}(d^2)`).

    In training every unit has fresh draws of its own, from torch's default generator. What was said is computed for the
    labels given, in one pass. ``noisy.all()``, for soft targets, and upsampled logits need a second pass for the
    gradient: there the draws are kept, and the examples of a step share them up to a random sign for every number, so
    that each alone sees plain independent draws. ``clean`` is then the softmax of :math:`f / \tau`, which costs
    nothing and needs no draws: it serves to name a predicted class, while the answer is what evaluation gives.

    All parameters count as the classifier's: the papers' runs decay all heads.

    In evaluation ``clean`` and ``noisy`` are the same mean over one fixed set of draws, equal on all devices.

    Differs from the papers: the mean is taken in log space instead of clipping probabilities at 1e-7.

    Args:
        features: F.
        classes: K.
        temperature: τ. It changes the start and the pace of learning, since f, V and d can scale with it.
        factors: Q, the rank of the covariance between classes.
        samples: draws in training.
        prediction_samples: draws in evaluation.
        binary: one latent for two classes, p(1|x) = E sigmoid(u/τ), instead of two.
        upsample: for features ``(N, H, W, F)``: sample logits at that resolution, then enlarge them so many times by
            bilinear interpolation, before the softmax (Appendix E of Collier 2020). Memory is that of the draws,
            (K + Q) H W for each sample, whatever N is.

    Example:
        >>> import torch
        >>> model = GaussianLogits(features=8, classes=3, temperature=0.5, factors=2).eval()
        >>> prediction = model(torch.zeros(5, 8), torch.zeros(5, 8), torch.zeros(5, 1, dtype=torch.long))
        >>> prediction.clean.shape, prediction.noisy.all().shape
        (torch.Size([5, 3]), torch.Size([5, 1, 3]))
        >>> model.uncertainty(torch.zeros(5, 8)).entropy.shape
        torch.Size([5])
    """

    def __init__(
        self,
        features: int,
        classes: int,
        *,
        temperature: float = 1.0,
        factors: int = 0,
        samples: int = 1000,
        prediction_samples: int = 1000,
        binary: bool = False,
        upsample: int = 1,
    ) -> None:
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, got {temperature}")
        check_whole("factors", factors, least=0)
        for name, count in (("samples", samples), ("prediction_samples", prediction_samples), ("upsample", upsample)):
            check_whole(name, count)
        if binary and (classes != 2 or factors):
            raise ValueError(f"binary needs classes=2 and factors=0, got classes={classes} and factors={factors}")
        self.temperature, self.factors, self.binary, self.upsample = temperature, factors, binary, upsample
        self.samples, self.prediction_samples = samples, prediction_samples
        latents = 1 if binary else classes
        self.location_head = nn.Linear(features, latents)
        self.scale_head = nn.Linear(features, latents)
        self.factor_head = nn.Linear(features, latents * factors) if factors else None

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        latent = self.latent(features)
        if self.training:
            logits = _enlarge(latent.location, self.upsample)
            noisy: Likelihood = _SampledSoftmax(latent, self.samples, self.upsample)
            return Prediction(log_softmax(logits), noisy, logits.new_zeros(()))
        clean = log_mean_softmax(latent, fixed_draws(latent, self.prediction_samples, self.upsample), self.upsample)
        return Prediction(clean, Categorical(clean.unsqueeze(-2)), clean.new_zeros(()))

    def latent(self, features: Tensor) -> GaussianLatent:
        """Distribution of u / τ, in float32 or better: ``features (*U, F)``."""
        if self.upsample > 1 and features.dim() != 4:
            raise ValueError(f"upsample={self.upsample} needs features (N, H, W, F), got {tuple(features.shape)}")
        location = self.location_head(features)
        scale = functional.softplus(at_least_single(self.scale_head(features))) + SMALLEST_SCALE
        if self.factor_head is None:
            factors = location.new_zeros(*location.shape, 0)
        else:
            factors = self.factor_head(features).unflatten(-1, (-1, self.factors))
        if self.binary:  # sigmoid(u) is the second softmax probability of (0, u)
            location, scale = functional.pad(location, (1, 0)), functional.pad(scale, (1, 0))
            factors = factors.expand(*location.shape, 0)
        return GaussianLatent(*(at_least_single(values) / self.temperature for values in (location, scale, factors)))

    @torch.no_grad()
    def uncertainty(self, features: Tensor) -> Uncertainty:
        """Over the fixed draws of softmax(u / τ), whose mean is the answer: noise that the input itself brings.

        With ``upsample`` units are ``(N, upsample H, upsample W)``. Figure 4 of Collier 2020 shows the variance.
        """
        return spread_over_draws(self.latent(features), self.prediction_samples, self.upsample)


class _SampledSoftmax(Likelihood):
    """What is said in training: fresh draws at every call."""

    def __init__(self, latent: GaussianLatent, samples: int, upsample: int) -> None:
        self.latent, self.samples, self.upsample = latent, samples, upsample

    def at(self, labels: Tensor) -> Tensor:
        if self.upsample > 1:
            return super().at(labels)
        return log_mean_softmax_at(self.latent, labels.clamp_min(0), self.samples)

    def all(self) -> Tensor:
        location, scale, factors = self.latent
        shapes = draw_shapes(self.latent, self.samples, self.upsample)
        draws = Draws(*(torch.randn(shape, dtype=scale.dtype, device=scale.device) for shape in shapes))
        signs = torch.randint_like(scale, 2) * 2 - 1
        factor_signs = torch.randint_like(factors[..., :1, :], 2) * 2 - 1
        turned = GaussianLatent(location, scale * signs, factors * factor_signs)
        return log_mean_softmax(turned, draws, self.upsample).unsqueeze(-2)


def _enlarge(values: Tensor, upsample: int) -> Tensor:
    """``(N, H, W, K)`` to ``(N, upsample H, upsample W, K)``, bilinear."""
    if upsample == 1:
        return values
    large = functional.interpolate(values.movedim(-1, 1), scale_factor=upsample, mode="bilinear", align_corners=False)
    return large.movedim(1, -1)
