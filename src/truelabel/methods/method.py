"""The contract of a method, and how one is carried out."""

from __future__ import annotations

import hashlib
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor

from truelabel.learners import Learner
from truelabel.training import Blueprint, Engine, History, Job, Run, RunFolderError
from truelabel.training.config import LATER
from truelabel.training.files import read_json, write_json
from truelabel.training.seeds import seeded
from truelabel.transforms import augmentations

TaskName = Literal["classification", "segmentation"]


@dataclass(frozen=True)
class Learned:
    """What a method leaves behind.

    Attributes:
        learner: answers with the clean class, in evaluation mode.
        history: of the stage that trained it.
        notes: what a result depends on besides options, data and seed, for the record: a noise rate, and whether it was
            given or estimated.
        confusion: ``(R, K, K)``, the annotators' matrices that were estimated beside the learner; None where the
            learner itself has them, or nobody.
    """

    learner: Learner
    history: History
    notes: Mapping[str, Any] = field(default_factory=dict)
    confusion: Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A named, frozen recipe from labels to a learner; its fields are its hyper-parameters and check themselves.

    ``learner(plan)`` says what is trained. ``learn(run)`` says how, as Python over a
    :class:`~truelabel.training.Run`: build learners with ``run.build``, train them
    with ``run.fit(stage, …)``, keep what passes between stages with ``run.once``. What had finished before a kill is
    loaded instead of repeated.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    tasks: ClassVar[tuple[TaskName, ...]] = ("classification",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Values of options that the papers search over, for :func:`~truelabel.methods.search`."""
    search_score: ClassVar[Literal["accuracy", "likelihood"]] = "accuracy"
    """What the papers choose among them by, on the noisy validation part."""
    in_epochs: ClassVar[tuple[str, ...]] = ()
    """Options that are numbers of epochs, which a shorter training bounds."""

    @abstractmethod
    def learner(self, plan: Blueprint) -> Learner:
        """The learner that :meth:`learn` gives back, untrained; also how a saved one is rebuilt."""

    def learn(self, run: Run) -> Learned:
        """Train; in one stage on the labels as they are, unless a method does otherwise."""
        fitted = run.fit("main", run.build("main", self.learner))
        return Learned(fitted.peers[0], fitted.history)

    def space(self, features: tuple[int, ...]) -> tuple[int, ...]:
        """Size of the maps of answers, from that of the maps of features; the same unless a head enlarges them."""
        return features

    def options(self) -> dict[str, Any]:
        """Hyper-parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_options(self, **options: Any) -> Method:
        """The same recipe with other hyper-parameters; an unknown name is an error that lists those there are."""
        known = [field.name for field in fields(self)]
        for name in options:
            if name not in known:
                there = f"it has {', '.join(known)}" if known else "it has none"
                raise ValueError(f"{self.name} has no option {name!r}: {there}")
        return replace(self, **options)


def learn(method: Method, job: Job, engine: Engine | None = None) -> Learned:
    """Carry out a method, in this process or in several, and return what it learned.

    With a folder the run is described in ``run.json`` and goes on where it stopped; a folder that holds another run is
    refused. What the method notes on the way is written to ``notes.json``.
    """
    engine = engine or Engine()
    if job.folder is None and engine.processes > 1:
        with tempfile.TemporaryDirectory(prefix="truelabel-") as folder:
            return learn(method, replace(job, folder=Path(folder)), engine)
    _check(method, job)
    fabric = engine.fabric(job.config.precision)
    if job.folder is not None:
        claim(job.folder, method, job)
    if engine.processes > 1:
        engine.run(job.config.precision, _Work(method, job))
    # After several processes every stage has finished: this loads the result.
    fabric.launch()
    learned = method.learn(Run(job, fabric))
    if job.folder is not None and learned.notes:
        write_json(job.folder / "notes.json", dict(learned.notes))
    return learned


class _Work:
    """A method and its job, on their way to another process."""

    def __init__(self, method: Method, job: Job) -> None:
        self.method, self.job = method, job

    def __call__(self, fabric: Fabric) -> None:
        self.method.learn(Run(self.job, fabric))


def _check(method: Method, job: Job) -> None:
    """Meet labels or a network that do not fit these inputs before anything is written."""
    if job.annotations.space and "segmentation" not in method.tasks:
        raise ValueError(f"{method.name} is for one class an example, but the labels are masks: choose another method")
    if len(job.inputs) != len(job.annotations.examples):
        raise ValueError(f"there are {len(job.inputs)} inputs, but labels for {len(job.annotations.examples)} examples")
    patch = job.config.patch
    if patch is not None and not _fits(patch, job.annotations.space):
        raise ValueError(f"patch {patch} does not fit into label maps of {job.annotations.space}: make it smaller")
    shape = Blueprint.of(job).shape
    augmentations(job.config.augment, shape)
    with seeded(job.seed, "", "check"), torch.no_grad():
        plan = Blueprint.of(job)
        method.learner(plan)
        network = plan.network()
        example = next((p.new_zeros(1, *shape) for p in network.parameters()), torch.zeros(1, *shape))
        space = method.space(tuple(network.eval()(example).shape[1:-1]))
    wanted = job.annotations.space if patch is None else patch
    if space != wanted:
        kinds = [f"maps of {' x '.join(map(str, s))}" if s else "one answer an example" for s in (space, wanted)]
        raise ValueError(f"the network gives {kinds[0]}, but the labels are {kinds[1]}: choose another network")


def _fits(patch: tuple[int, ...], space: tuple[int, ...]) -> bool:
    return len(patch) == len(space) and all(side <= whole for side, whole in zip(patch, space, strict=True))


def _fingerprint(*arrays: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def claim(folder: Path, method: Method, job: Job) -> None:
    """Describe the run in its folder, or refuse a folder that holds another one."""
    ours = {
        "method": method.name,
        "options": method.options(),
        "training": job.config.to_json(),
        "seed": job.seed,
        "network": job.network if isinstance(job.network, str) else type(job.network).__name__,
        "examples": len(job.inputs),
        "labels": job.annotations.size,
        "annotators": len(job.annotations.annotators),
        "classes": list(job.annotations.classes),
        "inputs": _fingerprint(job.inputs),
        "said": _fingerprint(job.annotations.example, job.annotations.annotator, job.annotations.label),
    }
    ours = json.loads(json.dumps(ours))
    path = folder / "run.json"
    if not path.exists():
        write_json(path, ours)
        return
    theirs = read_json(path)
    if not isinstance(theirs, dict):
        raise RunFolderError(f"{path} does not describe a run: name another folder, or delete it")
    flat, other = ({**LATER, **note, **note.get("training", {}), "training": None} for note in (ours, theirs))
    differing = next((key for key in flat if other.get(key) != flat[key]), None)
    if differing is not None:
        raise RunFolderError(
            f"{folder} holds another run ({differing} is {other.get(differing)!r}, not {flat[differing]!r}): "
            "name another folder, or delete it"
        )
