"""The probabilistic U-Net: whole masks drawn from a latent variable, instead of pixels each by itself (Kohl 2018)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.checks import check_amount, check_whole
from truelabel.learners.classifier import reduce_slots
from truelabel.learners.learner import Learner
from truelabel.losses import CrossEntropy
from truelabel.networks import Network
from truelabel.networks.encoder import Gaussian, GaussianEncoder
from truelabel.noise.confusion_cells import over_units
from truelabel.precision import log_softmax
from truelabel.types import Batch, Categorical, ChosenBy, Prediction, Step, Uncertainty

Masks = Literal["one", "all"]
_SEED = 20180


class ProbabilisticUNet(Learner):
    r"""A network whose masks depend on a latent variable z, one for the image: readers who differ are several z.

    .. math::
        p(\tilde y \mid x) = \int \prod_u p(\tilde y_u \mid x, z)\, p(z \mid x)\, dz \\
        \ell = \frac{1}{|U|} \sum_s w_s \left( \sum_u -\log p(\tilde y_{us} \mid x, z_s)
        + \beta\, \mathrm{KL}(q(z \mid x, \tilde y_s) \,\Vert\, p(z \mid x)) \right),
        \qquad z_s \sim q(z \mid x, \tilde y_s)

    The prior p(z|x) and the posterior q(z|x,ỹ) of each mask are Gaussians with independent dimensions, from
    convolutional encoders with a mean over the image. z is joined to the last features of every pixel and passed
    through linear layers, which are 1x1 convolutions.

    The bound is of a whole mask, a sum over its pixels; like every loss of the library it is then divided by the pixels
    |U| of the image, its divergence too, so that β = 1 is the bound itself whatever the size. It is one number per
    mask, so the divergence is part of ``Step.losses``: a selector that drops an example drops it too, a label's weight
    scales it, and a mask without a label has none. ``Step.penalty`` is zero.

    In evaluation the answer is the mean of the probabilities of one fixed set of draws from the prior, the same for all
    examples, and the loss is the cross entropy of that; labels are not shown to the posterior.

    Differs from the published code: a mask is shown to the posterior one-hot, with zeros where it has no label, instead
    of centred at one half; one that was drawn has the weight of all masks of its example, so that "one" and "all" have
    the same expectation; for the encoders see :class:`~truelabel.networks.encoder.GaussianEncoder`.

    Args:
        network: ``inputs (N, C, *space) -> features (N, *space, F)``.
        classes: K.
        shape: of one example: ``(C, H, W)`` or ``(C, D, H, W)``.
        latent: J, the dimension of z.
        beta: β, how much the divergence counts.
        samples: draws behind the answer; they come in pairs of opposite sign.
        masks: from which masks of an example a step learns: "one", drawn with its weight as in the paper, or "all",
            which costs a pass of posterior and linear layers each.
        width: maps of the encoders' first level.
        layers: linear layers with ReLU between z and the class head, as wide as the features.

    Reference: Eq. 1 to 4 of Kohl et al., NeurIPS 2018.

    Example:
        >>> from truelabel.networks import UNet
        >>> learner = ProbabilisticUNet(UNet(1, width=4), classes=2, shape=(1, 16, 16)).eval()
        >>> learner.sample(torch.rand(5, 1, 16, 16), count=3).shape
        torch.Size([3, 5, 16, 16, 2])
    """

    # Pixels of the mean are right long before the draws have the readers' shares, which only the loss sees.
    chosen_by: ChosenBy = "loss"

    def __init__(
        self,
        network: Network,
        classes: int,
        shape: tuple[int, ...],
        latent: int = 6,
        *,
        beta: float = 1.0,
        samples: int = 16,
        masks: Masks = "one",
        width: int = 16,
        layers: int = 3,
    ) -> None:
        super().__init__()
        check_amount("beta", beta)
        for name, value in (("latent", latent), ("samples", samples), ("width", width), ("layers", layers)):
            check_whole(name, value)
        if masks not in get_args(Masks):
            raise ValueError(f"masks must be one of {', '.join(get_args(Masks))}, got {masks!r}")
        if len(shape) not in (3, 4):
            raise ValueError(f"shape must be (C, H, W) or (C, D, H, W), got {shape}: a class for each pixel is needed")
        channels, dims = shape[0], len(shape) - 1
        self.classes, self.latent, self.beta, self.samples, self.masks = classes, latent, beta, samples, masks
        self.network = network
        self.prior = GaussianEncoder(channels, latent, dims, width=width)
        self.posterior = GaussianEncoder(channels + classes, latent, dims, width=width)
        self.combine = Combine(network.features, latent, classes, layers)
        self.loss = CrossEntropy()

    def forward(self, batch: Batch) -> Step:
        start, prior = self._start(batch.inputs)
        if not self.training:
            answer = self._answer(start, prior)
            return reduce_slots(self.loss(answer, batch), answer, batch)
        heard = one_mask(batch) if self.masks == "one" else batch
        posterior = self.posterior_of(heard)
        said = self.combine(start, posterior.at(torch.randn_like(posterior.mean)))
        with torch.no_grad():
            # Only to name a class; what the labels say must not be in it.
            clean = self.combine(start, prior.mean.unsqueeze(1)).squeeze(-2)
        prediction = Prediction(clean, Categorical(said), clean.new_zeros(()))
        step = reduce_slots(self.loss(prediction, heard), prediction, heard)
        apart = posterior.divergence_from(Gaussian(*(values.unsqueeze(1) for values in prior)))  # (N, S)
        cost = torch.where(_given(heard), heard.weights * apart, 0.0).sum(1)
        losses = step.losses + (self.beta / clean[0, ..., 0].numel() * cost).to(step.losses.dtype)
        return step._replace(losses=losses, surprise=losses.detach())

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        """The mean over the fixed draws, for readers ``annotators (N, S)`` too: to this model all readers are one."""
        return self._answer(*self._start(inputs))

    @torch.no_grad()
    def uncertainty(self, inputs: Tensor) -> Uncertainty:
        """Over the fixed draws, whose mean is the answer: the variance is large where masks of the image differ."""
        start, prior = self._start(inputs)
        mean, squares = prior.mean.new_zeros(()), prior.mean.new_zeros(())
        for count, log_probs in enumerate(self._drawn(start, prior), 1):
            probs = log_probs.exp()
            apart = probs - mean
            mean = mean + apart / count
            squares = squares + apart * (probs - mean)
        return Uncertainty.of_draws(mean, squares / self.samples)

    def sample(self, inputs: Tensor, count: int, generator: torch.Generator | None = None) -> Tensor:
        """Log probabilities given z, for ``count`` draws of it from the prior: ``(count, N, *space, K)``.

        All examples share the draws, up to mean and scale, so that a part of a data set is answered like the whole.

        Args:
            inputs: ``(N, C, *space)``.
            count: draws.
            generator: on the CPU; torch's default one if None.
        """
        start, prior = self._start(inputs)
        noise = torch.randn(count, self.latent, generator=generator).to(prior.mean)
        return torch.stack([self.combine(start, prior.at(draw).unsqueeze(1)).squeeze(-2) for draw in noise])

    def posterior_of(self, batch: Batch) -> Gaussian:
        """What each mask of a batch says about z: mean and scale ``(N, S, J)``."""
        targets = batch.labels.unsqueeze(-1) == torch.arange(self.classes, device=batch.labels.device)
        if batch.soft is not None:
            targets = torch.where(batch.labels.unsqueeze(-1) >= 0, batch.soft, 0.0)
        masks = targets.to(batch.inputs.dtype).movedim((-2, -1), (1, 2))  # (N, S, K, *space)
        n, slots = masks.shape[:2]
        images = batch.inputs.unsqueeze(1).expand(-1, slots, *[-1] * (batch.inputs.dim() - 1))
        found = self.posterior(torch.cat([images, masks], 2).flatten(0, 1))
        return Gaussian(*(values.unflatten(0, (n, slots)) for values in found))

    def _start(self, inputs: Tensor) -> tuple[Tensor, Gaussian]:
        """The features' part of the first layer ``(N, *space, width)``, which all draws share, and the prior."""
        features = self.network(inputs)
        if features.shape[:-1] != inputs[:, 0].shape:
            raise ValueError(
                f"the network gives features {tuple(features.shape)} for images {tuple(inputs.shape)}: "
                "the probabilistic U-Net needs them for each pixel, as network 'unet' does"
            )
        return self.combine.start(features), self.prior(inputs)

    def _answer(self, start: Tensor, prior: Gaussian) -> Prediction:
        clean = prior.mean.new_full((), -torch.inf)
        for log_probs in self._drawn(start, prior):
            clean = torch.logaddexp(clean, log_probs)
        clean = clean - math.log(self.samples)
        return Prediction(clean, Categorical(clean.unsqueeze(-2)), clean.new_zeros(()))

    def _drawn(self, start: Tensor, prior: Gaussian) -> Iterator[Tensor]:
        """Log probabilities ``(N, *space, K)`` given each z of the fixed draws, one at a time, for memory."""
        half = torch.randn(-(-self.samples // 2), self.latent, generator=torch.Generator().manual_seed(_SEED))
        for draw in torch.cat([half, -half])[: self.samples].to(prior.mean):
            yield self.combine(start, prior.at(draw).unsqueeze(1)).squeeze(-2)


class Combine(nn.Module):
    """Class probabilities of pixels from their features and a latent vector: linear layers on both, joined.

    The first layer is split into a part for the features, computed once, and one for the latent vector, which all
    pixels share, so that the joined features are never formed.

    Args:
        features: F.
        latent: J.
        classes: K.
        layers: with ReLU, F wide, before the class head.

    Shapes: ``start (N, *space, F)`` and ``z (N, S, J)`` to log probabilities ``(N, *space, S, K)``.

    Example:
        >>> combine = Combine(features=8, latent=2, classes=3, layers=1)
        >>> combine(combine.start(torch.zeros(5, 4, 6, 8)), torch.zeros(5, 1, 2)).shape
        torch.Size([5, 4, 6, 1, 3])
    """

    def __init__(self, features: int, latent: int, classes: int, layers: int) -> None:
        super().__init__()
        self.features = features
        self.enter = nn.Linear(features + latent, features)
        self.layers = nn.Sequential(nn.ReLU())
        for _ in range(layers - 1):
            self.layers.append(nn.Linear(features, features))
            self.layers.append(nn.ReLU())
        self.layers.append(nn.Linear(features, classes))
        for layer in (self.enter, *self.layers):
            if isinstance(layer, nn.Linear):
                # As published; torch's own start is small enough for z to be ignored, and then it stays so.
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)

    def start(self, features: Tensor) -> Tensor:
        """What the features ``(N, *space, F)`` add to the first layer."""
        return functional.linear(features, self.enter.weight[:, : self.features], self.enter.bias)

    def forward(self, start: Tensor, z: Tensor) -> Tensor:
        rest = functional.linear(z, self.enter.weight[:, self.features :])
        spread = rest.view(len(rest), *[1] * (start.dim() - 2), *rest.shape[1:])
        return log_softmax(self.layers(start.unsqueeze(-2) + spread))

    def __call__(self, start: Tensor, z: Tensor) -> Tensor:
        log_probs: Tensor = super().__call__(start, z)
        return log_probs


def one_mask(batch: Batch) -> Batch:
    """One slot of every example, drawn with its weight among those with labels; it then has the weight of them all.

    Losses that are sums over slots keep their expectation. An example without labels gets an empty slot.

    Example:
        >>> labels = torch.tensor([[[0, 1, -1]], [[-1, -1, -1]]])
        >>> who = torch.tensor([[4, 2, -1], [-1, -1, -1]])
        >>> one = one_mask(Batch(torch.zeros(2, 1, 1), labels, who, torch.ones(2, 3), None, torch.arange(2)))
        >>> one.labels.shape, one.weights
        (torch.Size([2, 1, 1]), tensor([[2.],
                [0.]]))
    """
    share = torch.where(_given(batch), batch.weights, 0.0)
    # The shortest of exponential waits whose rates are the weights; unlike multinomial it takes rows of zeros.
    drawn = (share / torch.empty_like(share).exponential_()).argmax(1, keepdim=True)
    where = over_units(drawn, batch.labels.shape[:-1])
    soft = batch.soft
    if soft is not None:
        soft = soft.gather(-2, where.unsqueeze(-1).expand(*where.shape, soft.shape[-1]))
    return batch._replace(
        labels=batch.labels.gather(-1, where),
        annotators=batch.annotators.gather(1, drawn),
        weights=share.sum(1, keepdim=True),
        soft=soft,
    )


def _given(batch: Batch) -> Tensor:
    """Which slots have a label at all: ``(N, S)``."""
    return (batch.labels >= 0).flatten(1, -2).any(1)
