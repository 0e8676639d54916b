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
    ``memory_gb``: 10⁹ bytes of a training step of one image, the optimiser left out. On a GPU the most that is held at
    a time. On a CPU, where the peak of the process says nothing about the learner, what has to be held is counted: the
    weights, their gradient, and the tensors kept for it; this is less, for there are no short-lived ones.
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
    truth = torch.from_numpy(scene.train.labels[:1]).long().to(scene.device)
    step_bytes = peak_bytes if scene.device.type == "cuda" else kept_bytes
    return {**scores, "memory_gb": step_bytes(learner, one_image(image, truth, everybody)) / 1e9}


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
        (step.losses.mean() + step.penalty).backward()
    finally:
        learner.zero_grad(set_to_none=True)
        learner.eval()


def peak_bytes(learner: Learner, batch: Batch) -> int:
    """The most that a step holds on a GPU, and the weights, but nothing else that happens to be there."""
    device = batch.inputs.device
    torch.cuda.synchronize(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    training_step(learner, batch)
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before + _weight_bytes(learner)


def kept_bytes(learner: Learner, batch: Batch) -> int:
    """Weights, their gradient, and what is kept for it from the forward pass, on any device."""
    weights = {p.untyped_storage().data_ptr() for p in (*learner.parameters(), *learner.buffers())}
    kept: dict[int, int] = {}

    def keep(values: Tensor) -> Tensor:
        storage = values.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        # Without its history: a result that is kept for its own gradient would hold itself.
        return values.detach()

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda values: values):
        training_step(learner, batch)
    gradient = sum(p.numel() * p.element_size() for p in learner.parameters() if p.requires_grad)
    return _weight_bytes(learner) + gradient + sum(size for place, size in kept.items() if place not in weights)


def _weight_bytes(learner: Learner) -> int:
    return sum(values.numel() * values.element_size() for values in (*learner.parameters(), *learner.buffers()))
