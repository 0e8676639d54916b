"""What a learner costs: parameters, operations, memory."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from truelabel.experiments.measures.measure import Outcome
from truelabel.learners import Learner
from truelabel.training import as_float
from truelabel.types import Batch


def cost(outcome: Outcome) -> dict[str, float]:
    """Size of a learner and cost of one image, Table 6 of Zhang 2020.

    ``parameters``: trainable numbers. ``flops``: operations of a forward pass of one image, up to what every annotator
    says about it; a multiplication and an addition are two, and only convolutions and matrix products are counted.
    ``memory_gb``, on a GPU alone: most memory in 10⁹ bytes held in a training step of one image, weights and gradients
    included, the optimiser not. On a CPU the peak of the process says nothing about the learner.
    """
    scene, learner = outcome.scene, outcome.learner
    kind = next(learner.parameters()).dtype
    image = as_float(torch.from_numpy(scene.train.inputs[:1]).to(scene.device)).to(kind)
    everybody = torch.arange(len(scene.said.annotators), device=scene.device)[None]
    learner.eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        learner.predict(image, everybody).noisy.all()
    scores = {
        "parameters": float(sum(p.numel() for p in learner.parameters() if p.requires_grad)),
        "flops": float(counter.get_total_flops()),
    }
    if scene.device.type == "cuda":
        truth = torch.from_numpy(scene.train.labels[:1]).long().to(scene.device)
        scores["memory_gb"] = _peak(learner, one_image(image, truth, everybody)) / 1e9
    return scores


def one_image(image: Tensor, truth: Tensor, annotators: Tensor) -> Batch:
    """A batch of one image ``(1, C, *space)`` of which annotators ``(1, R)`` all draw the truth ``(1, *space)``."""
    labels = truth.unsqueeze(-1).expand(*truth.shape, annotators.shape[1])
    weights = torch.ones(annotators.shape, device=image.device)
    return Batch(image, labels, annotators, weights, None, torch.zeros(1, dtype=torch.long, device=image.device))


def training_step(learner: Learner, batch: Batch) -> None:
    """Losses and their gradient, which is then thrown away: the learner stays as it was, in evaluation mode."""
    learner.train()
    try:
        step = learner(batch)
        (step.losses.mean() + step.penalty).backward()  # type: ignore[no-untyped-call]
    finally:
        learner.zero_grad(set_to_none=True)
        learner.eval()


def _peak(learner: Learner, batch: Batch) -> int:
    """Bytes: the most that a step holds, and the weights, but nothing else that happens to be on the device."""
    device = batch.inputs.device
    torch.cuda.synchronize(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    training_step(learner, batch)
    torch.cuda.synchronize(device)
    weights = sum(t.numel() * t.element_size() for t in (*learner.parameters(), *learner.buffers()))
    return torch.cuda.max_memory_allocated(device) - before + weights
