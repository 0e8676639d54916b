"""A run: what a method works on and with. Stages are plain Python over it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor, nn

from truelabel.annotations import Annotations
from truelabel.learners import Learner
from truelabel.networks import Network, build
from truelabel.selection import Selector
from truelabel.training.config import TrainingConfig
from truelabel.training.data import TrainingSet, as_float
from truelabel.training.files import read_tensors, write_tensors
from truelabel.training.fit import Evaluate, Fitted, Logging, Split, fit
from truelabel.training.pace import Pace
from truelabel.training.seeds import generator_of, seeded
from truelabel.training.windows import pieces, stitched
from truelabel.transforms import RandomPatch, Transform, augmentations

MOST_UNITS = 2**21
"""Units times annotators whose matrices are held at once."""

NetworkLike = str | nn.Module | Callable[[tuple[int, ...]], nn.Module]


@dataclass(frozen=True)
class Job:
    """What is to be learned: everything that another process needs to do it too.

    Attributes:
        inputs: ``(N, ...)`` float32, or bytes for images.
        annotations: what was said about the same N examples.
        network: name in the catalogue, a module (its weights are the start), or a function of an example's shape.
        config: how to train.
        seed: of everything random.
        folder: where results are kept; None for memory only.
        evaluate: further numbers for the history, once an epoch.
        logging: progress bar, TensorBoard, and whoever wants to be told.
        capture: on one GPU, record the training step as a CUDA graph.
        compiled: fuse forward and backward passes with torch.compile.
        pace: how often it saves itself, and whether to go on.
    """

    inputs: NDArray[Any]
    annotations: Annotations
    network: NetworkLike = "auto"
    config: TrainingConfig = field(default_factory=TrainingConfig)
    seed: int = 0
    folder: Path | None = None
    evaluate: Evaluate | None = None
    logging: Logging = field(default_factory=Logging)
    capture: bool = False
    compiled: bool = False
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True)
class Blueprint:
    """What a learner is built from, in a run or when it is loaded.

    Attributes:
        network_like: see :class:`Job`.
        shape: of one example.
        classes: K.
        annotators: R.
        workload: ``(R,)``, labels that each annotator gave to examples that are trained on; None where it is not known,
            as when a learner is loaded.
    """

    network_like: NetworkLike
    shape: tuple[int, ...]
    classes: int
    annotators: int
    workload: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, job: Job) -> Blueprint:
        """For what a job wants to learn; of patches, if it is trained on these."""
        said, shape, patch = job.annotations, tuple(job.inputs.shape[1:]), job.config.patch
        shape = shape if patch is None else (shape[0], *patch)
        trained = np.zeros(len(said.examples), bool)
        trained[split_of(job).train] = True
        workload = np.bincount(said.annotator[trained[said.example]], minlength=len(said.annotators))
        return cls(job.network, shape, len(said.classes), len(said.annotators), workload)

    def of_one_annotator(self) -> Blueprint:
        """The same for labels that are one consensus."""
        return replace(self, annotators=1, workload=None)

    def network(self) -> Network:
        """A new network, its start drawn from torch's default generator; a copy if a module was given."""
        given = self.network_like
        return build(copy.deepcopy(given) if isinstance(given, nn.Module) else given, self.shape)


class Run:
    """A job on an engine: builds learners, trains them in named stages, keeps what passes between stages.

    Args:
        job: what is to be learned.
        fabric: the engine, launched.
    """

    def __init__(self, job: Job, fabric: Fabric) -> None:
        self.job = job
        self.fabric = fabric
        self.annotations = job.annotations
        self.inputs = torch.from_numpy(np.ascontiguousarray(job.inputs)).to(fabric.device)
        split = split_of(job)
        self.split = Split(split.train.to(fabric.device), split.valid.to(fabric.device))
        self.plan = Blueprint.of(job)

    def build(self, stage: str, make: Callable[[Blueprint], Learner], peers: int = 1) -> list[Learner]:
        """Peers whose weights start from (seed, stage, peer) and nothing else."""
        learners = []
        for peer in range(peers):
            with seeded(self.job.seed, stage, f"init-{peer}"):
                learners.append(make(self.plan))
        return learners

    def fit(
        self,
        stage: str,
        peers: Sequence[Learner],
        *,
        annotations: Annotations | None = None,
        weights: Tensor | None = None,
        soft: Tensor | None = None,
        config: TrainingConfig | None = None,
        selector: Selector | None = None,
        transforms: Sequence[Transform] = (),
    ) -> Fitted:
        """Train peers, or load them if this stage had finished; see :func:`truelabel.training.fit`.

        Args:
            stage: its name within the run, and of its folder.
            peers: trained in place.
            annotations: other labels than the job's, for instance after fusion.
            weights: ``(L,)``, how much each of these labels counts.
            soft: ``(L, *space, K)``, targets instead of them.
            config: other settings than the job's.
            selector: which examples count.
            transforms: of training batches, after the augmentation that the config asks for.
        """
        config = config or self.job.config
        labels = self.annotations if annotations is None else annotations
        data = TrainingSet(self.inputs, labels, weights=weights, soft=soft, device=self.fabric.device)
        patches = [] if config.patch is None else [RandomPatch(config.patch)]
        return fit(
            peers,
            data,
            self.split,
            config,
            fabric=self.fabric,
            seed=self.job.seed,
            stage=stage,
            folder=None if self.job.folder is None else self.job.folder / stage,
            selector=selector,
            transforms=[*patches, *augmentations(config.augment, self.plan.shape), *transforms],
            evaluate=self.job.evaluate,
            logging=self.job.logging,
            capture=self.job.capture,
            compiled=self.job.compiled,
            pace=self.job.pace,
        )

    def once(self, name: str, compute: Callable[[], Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """Tensors that pass between stages: computed once, kept in the folder, the same on every process."""
        path = None if self.job.folder is None else self.job.folder / f"{name}.safetensors"
        if path is not None and path.exists():
            return read_tensors(path)[0]
        self.fabric.barrier()
        values = dict(compute()) if self.fabric.is_global_zero else {}
        if path is not None and self.fabric.is_global_zero:
            write_tensors(path, values)
        shared: dict[str, Tensor] = self.fabric.broadcast(values)
        return shared

    @torch.no_grad()
    def posterior(self, learner: Learner, chunk: int = 1024) -> Tensor:
        """Clean class probabilities of all examples, ``(N, *space, K)``, on the CPU."""
        return clean_probs(learner, self.inputs, chunk, self.job.config.patch)


@torch.no_grad()
def clean_probs(
    learner: Learner,
    inputs: Tensor,
    chunk: int = 1024,
    patch: Sequence[int] | None = None,
    overlap: float = 0.5,
) -> Tensor:
    """p(y|x) of many inputs, chunk by chunk: ``(N, *space, K)`` on the CPU, in the precision of the learner.

    Args:
        learner: put into evaluation mode.
        inputs: ``(N, ...)`` on the learner's device, floats or bytes.
        chunk: examples at once; fewer, if they are images.
        patch: answer for images in windows of this size, and join them; images whole if None.
        overlap: of windows.
    """

    def answer(values: Tensor) -> Tensor:
        return learner.predict(values).clean.exp()

    return in_chunks(learner, answer, inputs, chunk, patch, overlap)


@torch.no_grad()
def in_chunks(
    learner: Learner,
    answer: Callable[[Tensor], Tensor],
    inputs: Tensor,
    chunk: int = 1024,
    patch: Sequence[int] | None = None,
    overlap: float = 0.5,
) -> Tensor:
    """Whatever ``answer`` says of inputs, ``(n, ...) -> (n, *space, ...)``, chunk by chunk and window by window.

    Args:
        learner: put into evaluation mode; inputs are brought to its precision.
        answer: of floats.
        inputs: ``(N, ...)`` on the learner's device, floats or bytes.
        chunk: examples of 784 numbers at once, and fewer of larger ones.
        patch: size of windows; images whole if None.
        overlap: of windows.

    Returns:
        ``(N, *space, ...)`` on the CPU.
    """
    learner.eval()
    kind = next(learner.parameters()).dtype
    size = max(1, chunk * 784 // max(784, inputs[:1].numel()))
    parts = []
    for part in inputs.split(size):
        values = as_float(part).to(kind)
        parts.append(answer(values).cpu() if patch is None else stitched(answer, values, patch, overlap))
    return torch.cat(parts)


@torch.no_grad()
def mean_matrices(
    learner: Learner,
    inputs: Tensor,
    annotators: int,
    chunk: int = 16,
    patch: Sequence[int] | None = None,
    counted: Tensor | None = None,
) -> Tensor:
    r"""Mean confusion of every annotator over units, each row weighted by how probable its class is there.

    .. math:: \bar T^{(r)}[k, j] = \sum_u p(k \mid x_u)\, T^{(r)}_u[k, j] \Big/ \sum_u p(k \mid x_u)

    Args:
        learner: one with matrices at units; put into evaluation mode.
        inputs: ``(N, ...)`` on the learner's device, floats or bytes.
        annotators: R.
        chunk: examples at once, at most; fewer if they are large.
        patch: look at images in windows of this size; at whole ones if None.
        counted: ``(*U)`` booleans, the units that the mean is over; all by default.

    Returns:
        ``(R, K, K)`` float64 on the CPU, ``[annotator, true, observed]``.
    """
    learner.eval()
    kind = next(learner.parameters()).dtype
    everybody = torch.arange(annotators, device=inputs.device)
    sums, weights = torch.zeros(()), torch.zeros(())
    chunk = max(1, min(chunk, MOST_UNITS // max(1, inputs[0, :1].numel() * annotators)))
    starts = range(0, len(inputs), chunk)
    for first, window, part in ((s, *piece) for s in starts for piece in pieces(inputs[s : s + chunk], patch)):
        values = as_float(part).to(kind)
        probs = learner.predict(values).clean.exp().double()
        if counted is not None:
            probs = probs * counted[(slice(first, first + chunk), *window)].to(probs).unsqueeze(-1)
        probs = probs.flatten(0, -2)
        matrices = learner.matrices_at(values, everybody.expand(len(part), -1))
        if matrices is None:
            raise ValueError("the learner has no confusion matrices")
        sums = sums + torch.einsum("uk,urkj->rkj", probs, matrices.flatten(0, -4).double()).cpu()
        weights = weights + probs.sum(0).cpu()
    mean: Tensor = sums / weights.clamp_min(torch.finfo(weights.dtype).tiny).unsqueeze(-1)
    return mean / mean.sum(-1, keepdim=True).clamp_min(torch.finfo(mean.dtype).tiny)


def split_of(job: Job) -> Split:
    """Which examples a job trains on, and which it holds out; on the CPU."""
    examples = len(job.inputs)
    held_out = int(job.config.validation * examples)
    if job.config.hold_out == "last":
        order = torch.arange(examples).flip(0)
    else:
        order = torch.randperm(examples, generator=generator_of(job.seed, "", "split"))
    return Split(order[held_out:].sort().values, order[:held_out].sort().values)
