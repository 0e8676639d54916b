"""The one training loop. It always trains a list of peers; one peer is ordinary training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from truelabel.learners import Learner
from truelabel.selection import KeepAll, Selector
from truelabel.training.capture import CapturedStep
from truelabel.training.checkpoint import State, load_peers, peer_tensors
from truelabel.training.config import TrainingConfig
from truelabel.training.data import TrainingSet
from truelabel.training.divergence import FiniteWatch
from truelabel.training.files import read_json, read_tensors, write_json, write_tensors
from truelabel.training.history import History
from truelabel.training.layout import laid_out, memory_format, tensor_cores
from truelabel.training.logs import Listener, csv_log, progress_bar, tensorboard_log
from truelabel.training.optimizers import build_optimizer, learning_rate_factor, set_learning_rate
from truelabel.training.pace import Pace, Stopped
from truelabel.training.processes import gather
from truelabel.training.schedule import Schedule
from truelabel.training.scoring import noisy_scores
from truelabel.training.seeds import generator_of, seeded
from truelabel.training.step import step_loss
from truelabel.transforms import Transform

Evaluate = Callable[[Learner], Mapping[str, float]]
"""Further numbers for the history, from the first peer in evaluation mode, once an epoch."""


@dataclass(frozen=True)
class Split:
    """Positions of the examples that train and of those held out: ``(n,)`` each."""

    train: Tensor
    valid: Tensor


@dataclass(frozen=True)
class Fitted:
    """Trained peers, in evaluation mode with the weights selected, and what happened on the way."""

    peers: list[Learner]
    history: History


@dataclass(frozen=True)
class Logging:
    """Where a training tells about itself.

    Attributes:
        progress: a bar on standard error.
        tensorboard: scalars beside the checkpoints.
        tell: called after every epoch with the stage, how many epochs are over, and how many there are; in the first
            process, so that it has to be picklable if several are started.
    """

    progress: bool = False
    tensorboard: bool = False
    tell: Callable[[str, int, int], None] | None = None


def fit(
    peers: Sequence[Learner],
    data: TrainingSet,
    split: Split,
    config: TrainingConfig,
    *,
    fabric: Fabric,
    seed: int,
    stage: str = "main",
    folder: Path | None = None,
    selector: Selector | None = None,
    transforms: Sequence[Transform] = (),
    evaluate: Evaluate | None = None,
    logging: Logging | None = None,
    capture: bool = False,
    compiled: bool = False,
    pace: Pace | None = None,
) -> Fitted:
    """Train peers together on the labels that people gave.

    Every step minimises, summed over peers, the mean of weight times loss plus the penalty, with one backward pass.
    On a GPU, products of float32 matrices are those of its tensor cores (TF32).
    With a ``folder`` the state is kept there after every epoch, or as ``pace`` says: a training that was killed goes on
    from there and ends with the same bits on a CPU, and one that had finished is loaded instead of repeated.

    Args:
        peers: M learners, trained in place.
        data: inputs and labels, on the engine's device.
        split: which examples train and which are held out.
        config: epochs, optimiser, schedule, selection.
        fabric: the engine, launched.
        seed: of order, sampling and transforms, together with ``stage``.
        stage: name of this training within the run.
        folder: for checkpoints, ``metrics.csv`` and TensorBoard; None keeps everything in memory.
        selector: which examples count for which peer; all by default.
        transforms: applied to every training batch, in order.
        evaluate: further numbers for the history.
        logging: progress bar, TensorBoard, and whoever wants to be told.
        capture: on one GPU, record the step as a CUDA graph. Network and transforms must have static shapes and no
            branch on the values of tensors; if it cannot be recorded, a warning says so and the step runs eagerly.
        compiled: let torch.compile fuse the forward and backward passes of steps, which takes a minute first; the
            learners themselves, and so whatever is measured, stay as they are.
        pace: how often the state is kept in the folder, and whether to go on.

    Returns:
        The peers with the weights of the best epoch on the held-out labels, or of the last, as ``config.select`` says.
    """
    if folder is not None and (folder / "finished.json").exists():
        return _reload(peers, folder, fabric)
    selector = selector or KeepAll()
    logging = logging or Logging()
    pace = pace or Pace()
    rank = fabric.global_rank
    with seeded(seed, stage, "step", rank, fabric.device), tensor_cores(fabric.device), ExitStack() as stack:
        layout = memory_format(fabric, config, data, peers)
        wrapped = [fabric.setup_module(_for_steps(peer, fabric, layout, compiled)) for peer in peers]
        plain = list(peers)
        for module in wrapped:
            module.mark_forward_method("predict")
        schedule = Schedule(config, len(split.train), fabric)
        optimizers = [build_optimizer(peer, config, fabric.device, schedule.total) for peer in plain]
        stepping: list[Any] = [fabric.setup_optimizers(optimizer) for optimizer in optimizers]
        selector = selector.to(fabric.device)
        order = generator_of(seed, stage, "order")
        state = State(plain, optimizers, selector, order, History(chosen_by=config.chosen_by(plain[0].chosen_by)))
        memory = _Keeper(folder, plain)
        if folder is not None and (folder / "last.safetensors").exists():
            state.load(folder / "last.safetensors", rank, fabric.world_size)
        history = state.history
        listeners = _listeners(stack, stage, config.epochs, len(history.rows), folder, fabric, logging)
        for peer in plain:
            peer.progress = schedule.progress
        watch = FiniteWatch(fabric.device)
        total = torch.zeros((), device=fabric.device)

        def clear() -> None:
            for stepper in stepping:
                stepper.zero_grad()

        def train_on(index: Tensor) -> None:
            batch = data.batch(index)
            if layout is not torch.contiguous_format:
                batch = batch._replace(inputs=batch.inputs.contiguous(memory_format=layout))
            for transform in transforms:
                batch = transform(batch)
            loss = step_loss(fabric, wrapped, batch, selector, schedule.progress)
            watch.see(loss)
            fabric.backward(loss.total)
            for stepper in stepping:
                stepper.step()
            total.add_(loss.total.detach())

        saved = time.monotonic()
        take_step = CapturedStep(train_on, clear) if capture and _can_capture(fabric) else None
        while len(history.rows) < config.epochs and not _patience_over(history, config):
            epoch, began = len(history.rows), time.perf_counter()
            for optimizer in optimizers:
                set_learning_rate(optimizer, learning_rate_factor(config, epoch))
            total.zero_()
            for module in wrapped:
                module.train()
            for step, index in enumerate(schedule.batches(split.train, order, fabric)):
                schedule.fill_progress(epoch, step)
                if take_step is not None:
                    take_step(index)
                else:
                    clear()
                    train_on(index)
            rate = config.learning_rate * learning_rate_factor(config, epoch)
            watch.check(fabric, epoch, schedule.steps, data, rate)
            row = _measure(fabric, plain[0], data, split, total / schedule.steps, rate, evaluate, config.patch)
            row["seconds"] = time.perf_counter() - began
            if history.add(row):
                memory.keep_best(fabric)
            over = len(history.rows) == config.epochs or _patience_over(history, config)
            stopping = not over and fabric.broadcast(pace.over)
            if over or stopping or time.monotonic() - saved >= pace.save_every:
                _save(state, fabric, folder)
                saved = time.monotonic()
                if pace.on_save is not None and fabric.is_global_zero:
                    pace.on_save()
            for listen in listeners:
                listen(history)
            if stopping:
                raise Stopped(f"stopped after epoch {epoch} of {config.epochs}")
    best = config.keeps_best and history.best_epoch is not None
    if best:
        memory.restore_best()
    if folder is not None and fabric.is_global_zero:
        write_json(folder / "finished.json", {"weights": "best" if best else "last", "history": asdict(history)})
    fabric.barrier()
    for peer in plain:
        peer.progress = None
    return Fitted([peer.eval() for peer in plain], history)


class _Keeper:
    """Holds the best weights: in the folder if there is one, otherwise in memory."""

    def __init__(self, folder: Path | None, peers: Sequence[nn.Module]) -> None:
        self.path = None if folder is None else folder / "best.safetensors"
        self.peers = peers
        self.weights: dict[str, Tensor] = {}

    def keep_best(self, fabric: Fabric) -> None:
        if self.path is None:
            self.weights = {name: value.detach().clone() for name, value in peer_tensors(self.peers).items()}
        elif fabric.is_global_zero:
            # Before the checkpoint that speaks of it: a kill in between repeats this epoch and writes the same again.
            write_tensors(self.path, peer_tensors(self.peers))

    def restore_best(self) -> None:
        if self.path is None:
            load_peers(self.peers, self.weights, Path("memory"))
        else:
            load_peers(self.peers, read_tensors(self.path)[0], self.path)


def _reload(peers: Sequence[Learner], folder: Path, fabric: Fabric) -> Fitted:
    finished = read_json(folder / "finished.json")
    path = folder / f"{finished['weights']}.safetensors"
    for peer in peers:
        peer.to(fabric.device)
    load_peers(peers, read_tensors(path)[0], path)
    return Fitted([peer.eval() for peer in peers], History(**finished["history"]))


def _save(state: State, fabric: Fabric, folder: Path | None) -> None:
    if folder is None:
        return
    states = {name: gather(fabric, value) for name, value in state.random_states().items()}
    if fabric.is_global_zero:
        state.save(folder / "last.safetensors", states)
    fabric.barrier()


def _measure(
    fabric: Fabric,
    learner: Learner,
    data: TrainingSet,
    split: Split,
    loss: Tensor,
    rate: float,
    evaluate: Evaluate | None,
    patch: Sequence[int] | None,
) -> dict[str, float]:
    """The numbers of an epoch, measured by the first process for all, so that all decide alike."""
    row: dict[str, float] = {"train_loss": float(gather(fabric, loss).mean()), "learning_rate": rate}
    if fabric.is_global_zero:
        if len(split.valid):
            row |= noisy_scores(fabric, learner, data, split.valid, patch)
        if evaluate is not None:
            learner.eval()
            row |= evaluate(learner)
    shared: dict[str, float] = fabric.broadcast(row)
    if not all(math.isfinite(value) for value in shared.values()):
        bad = ", ".join(name for name, value in shared.items() if not math.isfinite(value))
        raise ArithmeticError(
            f"{bad} is not finite although the training loss is: the network overflows in evaluation; lower the "
            "learning rate, or scale the inputs"
        )
    return shared


def _for_steps(peer: Learner, fabric: Fabric, layout: torch.memory_format, compiled: bool) -> nn.Module:
    module = laid_out(_for_processes(peer, fabric), layout)
    # Not peer.compile(), which would compile the evaluation too, once more for every size of its last batch.
    fused: nn.Module = torch.compile(module) if compiled else module  # type: ignore[assignment]  # it stays a module
    return fused


def _for_processes(peer: Learner, fabric: Fabric) -> nn.Module:
    """Batch norm sees each process's share only, on CPUs; on GPUs its statistics are joined."""
    if fabric.world_size > 1 and fabric.device.type == "cuda":
        joined: nn.Module = nn.SyncBatchNorm.convert_sync_batchnorm(peer)
        return joined
    return peer


def _can_capture(fabric: Fabric) -> bool:
    return fabric.device.type == "cuda" and fabric.world_size == 1


def _patience_over(history: History, config: TrainingConfig) -> bool:
    return config.patience is not None and history.epochs_since_best >= config.patience


def _listeners(
    stack: ExitStack, stage: str, epochs: int, done: int, folder: Path | None, fabric: Fabric, logging: Logging
) -> list[Listener]:
    if not fabric.is_global_zero:
        return []
    listeners = [stack.enter_context(progress_bar(stage, epochs, done, logging.progress))]
    if logging.tell is not None:
        tell = logging.tell
        listeners.append(lambda history: tell(stage, len(history.rows), epochs))
    if folder is not None:
        listeners.append(csv_log(folder / "metrics.csv"))
        listeners.append(stack.enter_context(tensorboard_log(folder / "tensorboard", done, logging.tensorboard)))
    return listeners
