"""A fitted estimator on disk: weights as safetensors, everything else as JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from truelabel.coding import class_names, name_array
from truelabel.methods import Method, get_method
from truelabel.training import Blueprint, History, NetworkLike, RunFolderError
from truelabel.training.files import read_json, read_tensors, write_json, write_tensors

FORMAT = 5
NOTE = "model.json"
TUPLES = ("step_epochs", "augment", "patch")
"""Parameters that JSON turns into lists."""


def save_estimator(estimator: Any, folder: Path) -> None:
    """Write ``model.safetensors``, then ``model.json``, which names it complete."""
    params = estimator.get_params(deep=False)
    method: Method = estimator.method_
    seed = params["random_state"]
    described = {
        **params,
        "method": method.name,
        "network": params["network"] if isinstance(params["network"], str) else None,
        "folder": None,
        "search": None,
        "trials": None,
        "random_state": int(seed) if isinstance(seed, int) else None,
    }
    described |= {name: list(params[name]) for name in TUPLES if params.get(name) is not None}
    tensors = {name: torch.from_numpy(value) for name, value in estimator.kept_arrays().items()}
    tensors |= {f"learner.{name}": value for name, value in estimator.learner_.state_dict().items()}
    write_tensors(folder / "model.safetensors", tensors)
    write_json(
        folder / NOTE,
        {
            "format": FORMAT,
            "kind": type(estimator).__name__,
            "parameters": described,
            "options": method.options(),
            "classes": class_names(estimator.classes_),
            "annotators": class_names(estimator.annotators_),
            "input_shape": list(estimator.input_shape_),
            "history": asdict(estimator.history_),
            "notes": estimator.notes_,
            **estimator.described(),
        },
    )


def stored_kind(folder: Path) -> str:
    """The name of the class of the estimator that a folder holds."""
    return str(_read_note(folder)["kind"])


def load_estimator(kind: type[Any], folder: Path, network: NetworkLike | None) -> Any:
    """An estimator as :func:`save_estimator` left it."""
    note = _read_note(folder)
    if note.get("kind") != kind.__name__:
        raise RunFolderError(f"{folder} holds a {note.get('kind')}, not a {kind.__name__}: load it with that class")
    try:
        return _rebuild(kind, folder, note, network)
    except (KeyError, TypeError) as error:
        raise RunFolderError(f"{folder / NOTE} is damaged: {error!r}") from error


def _read_note(folder: Path) -> dict[str, Any]:
    if not (folder / NOTE).is_file():
        raise RunFolderError(
            f"{folder} holds no trained model: there is no {NOTE} in it; name one that was trained into"
        )
    note = read_json(folder / NOTE)
    if not isinstance(note, dict) or note.get("format") != FORMAT:
        version = note.get("format") if isinstance(note, dict) else None
        raise RunFolderError(f"{folder} was written by another version (format {version}, not {FORMAT})")
    return note


def _rebuild(kind: type[Any], folder: Path, note: dict[str, Any], network: NetworkLike | None) -> Any:
    tensors, _ = read_tensors(folder / "model.safetensors")
    params = note["parameters"]
    params["method"] = get_method(params["method"]).with_options(**note["options"])
    params["network"] = network if params["network"] is None else params["network"]
    params |= {name: tuple(params[name]) for name in TUPLES if params.get(name) is not None}
    if params["network"] is None:
        raise RunFolderError(f"{folder} was trained with a network of the user's own: pass it as network=")
    estimator = kind(**params)
    shape = tuple(note["input_shape"])
    patch = params.get("patch")
    plan_shape = shape if patch is None else (shape[0], *patch)
    plan = Blueprint(params["network"], plan_shape, len(note["classes"]), len(note["annotators"]))
    learner: nn.Module = params["method"].learner(plan)
    try:
        learner.load_state_dict(
            {n.removeprefix("learner."): value for n, value in tensors.items() if n.startswith("learner.")}
        )
    except RuntimeError as error:
        given = params["network"] if isinstance(params["network"], str) else type(params["network"]).__name__
        raise RunFolderError(f"{folder} holds weights of another network than {given}") from error
    estimator.method_ = params["method"]
    estimator.learner_ = learner.eval()
    estimator.classes_ = class_array(note["classes"])
    estimator.annotators_ = name_array(note["annotators"])
    estimator.input_shape_ = shape
    estimator.history_ = History(**note["history"])
    estimator.notes_ = note["notes"]
    estimator.n_iter_ = len(estimator.history_.rows)
    estimator.restored(note, {n: value.numpy() for n, value in tensors.items() if not n.startswith("learner.")})
    return estimator


def class_array(classes: Any) -> Any:
    """Class names as scikit-learn has them: strings in a string array, the rest as they are."""
    return np.asarray(classes) if all(isinstance(c, str) for c in classes) else name_array(classes)
