"""CausalNL: a generative model in which the true class causes the input, and both cause the label (Yao 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.learners.classifier import reduce_slots
from truelabel.learners.learner import Learner
from truelabel.losses import CrossEntropy
from truelabel.networks import Network
from truelabel.networks.conditional import decoder, encoder
from truelabel.precision import log_softmax
from truelabel.types import Batch, Categorical, Likelihood, Prediction, Step, mix

Reconstruction = Literal["absolute", "squared"]
Relaxation = Literal["soft", "straight-through", "exact"]


@dataclass(frozen=True, kw_only=True)
class ElboWeights:
    """How much each term of the objective counts; the published values.

    Attributes:
        teaching: cross entropy of q(y|x) on the labels, the part that peers select from.
        reconstruction: β0.
        labels: β1, cross entropy of p(ỹ|y,x).
        entropy: β2.
        latent: β3, the divergence of q(z|x,y) from its prior.
    """

    teaching: float = 1.0
    reconstruction: float = 0.1
    labels: float = 0.1
    entropy: float = 1e-5
    latent: float = 0.01

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < math.inf:
                raise ValueError(f"the weight of {name} must be finite and not negative, got {value!r}")


class Elbo(NamedTuple):
    r"""The four terms, each to be made small, as means over examples: ``()`` each.

    Attributes:
        reconstruction: mean absolute or squared error of x̂.
        labels: cross entropy of the labels given under p(ỹ|x̂,y).
        entropy: :math:`\sum_k q_k \log q_k`, minus the entropy of q(y|x).
        latent: KL of q(z|x,y) from N(0, I).
    """

    reconstruction: Tensor
    labels: Tensor
    entropy: Tensor
    latent: Tensor


class CausalNL(Learner):
    r"""One branch of CausalNL: :math:`p(x, \tilde y, y, z) = p(y)\, p(z)\, p(x \mid y, z)\, p(\tilde y \mid y, x)`.

    The classifier q(y|x) gives a relaxed class y, an encoder q(z|x,y) the rest z of what an input is, a decoder
    p(x|y,z) the input back, and p(ỹ|x̂,y) the label that was given. Two such branches teach each other by small losses.

    .. math::
        \mathcal L = \mathrm{CE}(q, \tilde y) + \beta_0 \lVert x - \hat x \rVert_1 / d
        + \beta_1 \mathrm{CE}(p_{\theta_2}(\hat x, y), \tilde y) + \beta_2 \sum_k q_k \log q_k
        + \beta_3 \mathrm{KL}\!\left(q(z \mid x, y) \,\Vert\, N(0, I)\right)

    The first term is the loss that a selector sees; the others always count. y is a Gumbel-softmax draw and
    :math:`z = \mu + \sigma \varepsilon` with normal :math:`\varepsilon` in training; in evaluation y is q and z is μ.

    Differs from the paper, whose App. B prints the KL with the wrong sign and without ½; from its code, whose prior on
    y has no gradient, whose ε is uniform, and which divides the co-teaching loss twice. See the method's page.

    Args:
        network: of q(y|x), ``inputs -> features (N, F)``.
        classes: K.
        shape: of one example: ``(C, H, W)`` images with values in [0, 1], or ``(F,)`` features.
        latent: J, the dimension of z.
        weights: of the terms.
        reconstruction: "absolute" error, as the paper says, or "squared", as its code does.
        relaxation: what the other parts are told about the class: a "soft" Gumbel-softmax draw, as in the published
            code; "straight-through", the draw made one-hot with the gradient of the soft one; or "exact", every class
            in turn, weighted by q(y|x), at the price of K passes through encoder and decoder.
        temperature: of the Gumbel-softmax.
        labels_first: share of the training in which the bound does not move q(y|x), so that labels decide what the
            classes are before the decoder has a say; zero in the paper.

    Reference: Eq. 6, Algorithm 1 and App. B of Yao et al., NeurIPS 2021.

    Example:
        >>> from truelabel.networks import MLP
        >>> learner = CausalNL(MLP(2, width=16), classes=3, shape=(2,), latent=1).eval()
        >>> learner.transition(torch.zeros(5, 2)).shape  # p(ỹ | y, x)
        torch.Size([5, 3, 3])
    """

    def __init__(
        self,
        network: Network,
        classes: int,
        shape: tuple[int, ...],
        latent: int = 25,
        *,
        weights: ElboWeights | None = None,
        reconstruction: Reconstruction = "absolute",
        relaxation: Relaxation = "soft",
        temperature: float = 1.0,
        labels_first: float = 0.0,
    ) -> None:
        super().__init__()
        for name, value, kind in (
            ("reconstruction", reconstruction, Reconstruction),
            ("relaxation", relaxation, Relaxation),
        ):
            if value not in get_args(kind):
                raise ValueError(f"{name} must be one of {', '.join(get_args(kind))}, got {value!r}")
        self.classes, self.latent = classes, latent
        self.weights = weights or ElboWeights()
        self.reconstruction, self.relaxation, self.temperature = reconstruction, relaxation, temperature
        self.labels_first = labels_first
        self.network = network
        self.head = nn.Linear(network.features, classes)
        self.encode = encoder(shape, classes, 2 * latent)
        self.decode = decoder(shape, classes, latent)
        self.observe = encoder(shape, classes, classes)
        self.loss = CrossEntropy()

    def forward(self, batch: Batch) -> Step:
        logits = self.head(self.network(batch.inputs))
        taught = self._judge(log_softmax(logits), batch)
        weights, terms = self.weights, self._elbo(logits, batch)
        penalty = (
            weights.reconstruction * terms.reconstruction
            + weights.labels * terms.labels
            + weights.entropy * terms.entropy
            + weights.latent * terms.latent
        )
        return taught._replace(losses=weights.teaching * taught.losses, penalty=penalty.to(taught.losses.dtype))

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        clean = self._clean(inputs)
        return Prediction(clean, _Observed(clean, lambda: self.transition(inputs)), clean.new_zeros(()))

    def elbo(self, batch: Batch) -> Elbo:
        """The terms of the bound on a batch, without their weights."""
        return self._elbo(self.head(self.network(batch.inputs)), batch)

    def transition(self, inputs: Tensor) -> Tensor:
        """What every class would be called for this very input, p(ỹ|y,x): ``(N, ...) -> (N, K, K)``, [true, observed].

        The decoder sees z = μ(x, y), and the label is judged by the reconstruction, as in training.
        """
        rows = [self.observe(self.decode(y, self._posterior(inputs, y)[0]), y) for y in self._each_class(inputs)]
        return torch.stack(rows, 1).softmax(-1)

    def reconstruct(self, inputs: Tensor) -> Tensor:
        """The inputs as the model sees them, from q(y|x) and the mean of q(z|x,y): ``(N, ...) -> (N, ...)``."""
        y = self._clean(inputs).exp()
        return self.decode(y, self._posterior(inputs, y)[0])

    def sample(self, classes: Tensor, latent: Tensor | None = None) -> Tensor:
        """Inputs of these classes: ``(N,) -> (N, ...)``; z is ``latent (N, J)``, or drawn from its prior."""
        y = functional.one_hot(classes, self.classes).to(self.head.weight.dtype)
        if latent is None:
            latent = torch.randn(len(y), self.latent, dtype=y.dtype, device=y.device)
        return self.decode(y, latent)

    def _clean(self, inputs: Tensor) -> Tensor:
        return log_softmax(self.head(self.network(inputs)))

    def _elbo(self, logits: Tensor, batch: Batch) -> Elbo:
        if self.labels_first and self.progress is not None:
            logits = torch.where(self.progress < self.labels_first, logits.detach(), logits)
        clean = log_softmax(logits)
        if self.relaxation == "exact":
            costs = (clean.exp().T.unsqueeze(-1) * self._costs_of_each_class(batch)).sum(0).mean(0)
        else:
            costs = self._costs(self._relaxed(logits), batch).mean(0)
        reconstruction, labels, latent = costs.unbind()
        return Elbo(reconstruction, labels, (clean.exp() * clean).sum(-1).mean(), latent)

    def _costs_of_each_class(self, batch: Batch) -> Tensor:
        """The same, told every class: ``(K, N, 3)``. In one pass, so that batch norm sees all classes at once."""
        n, k = len(batch.inputs), self.classes
        y = torch.cat(self._each_class(batch.inputs))
        inputs, labels, annotators, weights = (
            values.repeat(k, *[1] * (values.dim() - 1))
            for values in (batch.inputs, batch.labels, batch.annotators, batch.weights)
        )
        soft = None if batch.soft is None else batch.soft.repeat(k, *[1] * (batch.soft.dim() - 1))
        return self._costs(y, Batch(inputs, labels, annotators, weights, soft, batch.index.repeat(k))).view(k, n, -1)

    def _costs(self, y: Tensor, batch: Batch) -> Tensor:
        """Reconstruction, labels and divergence of every example if it is told to be of class ``y``: ``(N, 3)``."""
        inputs = batch.inputs
        mean, log_variance = self._posterior(inputs, y)
        z = mean + (log_variance / 2).exp() * torch.randn_like(mean) if self.training else mean
        again = self.decode(y, z)
        error = (again - inputs).abs() if self.reconstruction == "absolute" else (again - inputs) ** 2
        labels = self._judge(log_softmax(self.observe(again, y)), batch).losses
        latent = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(-1)
        return torch.stack([error.flatten(1).mean(1), labels, latent], -1)

    def _relaxed(self, logits: Tensor) -> Tensor:
        """One draw of the class: ``(N, K)``; its distribution itself in evaluation."""
        if not self.training:
            return logits.softmax(-1)
        return functional.gumbel_softmax(logits, self.temperature, hard=self.relaxation == "straight-through")

    def _each_class(self, inputs: Tensor) -> list[Tensor]:
        """Every class for all examples: K times ``(N, K)``."""
        return [y.expand(len(inputs), -1) for y in torch.eye(self.classes, dtype=inputs.dtype, device=inputs.device)]

    def _posterior(self, inputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the variance of q(z|x,y): ``(N, J)`` each."""
        mean, log_variance = self.encode(inputs, y).chunk(2, -1)
        return mean, log_variance

    def _judge(self, log_probs: Tensor, batch: Batch) -> Step:
        """Cross entropy of the labels given."""
        shared = Prediction(log_probs, Categorical(log_probs.unsqueeze(-2)), log_probs.new_zeros(()))
        return reduce_slots(self.loss(shared, batch), shared, batch)


class _Observed(Likelihood):
    """p(ỹ|x), the same for all annotators; K passes through the decoder, so only if somebody asks."""

    def __init__(self, clean: Tensor, transition: Callable[[], Tensor]) -> None:
        self.clean, self.transition = clean, transition

    def all(self) -> Tensor:
        return mix(self.clean, self.transition()).unsqueeze(-2)
