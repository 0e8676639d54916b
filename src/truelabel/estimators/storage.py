"""A fitted classifier on disk: weights as safetensors, everything else as JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from truelabel.coding import class_names, name_array
from truelabel.estimators.inputs import Scaling
from truelabel.methods import Method, get_method
from truelabel.training import Blueprint, History, NetworkLike, RunFolderError
from truelabel.training.files import read_json, read_tensors, write_json, write_tensors

FORMAT = 3
ARRAYS = ("confusion_", "annotator_skill_", "annotator_skill_interval_")


def save_classifier(classifier: Any, folder: Path) -> None:
    """Write ``model.safetensors``, then ``model.json``, which names it complete."""
    params = classifier.get_params(deep=False)
    method: Method = classifier.method_
    seed = params["random_state"]
    described = {
        **params,
        "method": method.name,
        "network": params["network"] if isinstance(params["network"], str) else None,
        "folder": None,
        "search": None,
        "trials": None,
        "random_state": int(seed) if isinstance(seed, int) else None,
        "step_epochs": list(params["step_epochs"]),
        "augment": list(params["augment"]),
    }
    arrays = {name: getattr(classifier, name) for name in ARRAYS}
    arrays |= {"mean": classifier.scaling_.mean, "scale": classifier.scaling_.scale}
    tensors = {name: torch.from_numpy(value) for name, value in arrays.items()}
    tensors |= {f"learner.{name}": value for name, value in classifier.learner_.state_dict().items()}
    write_tensors(folder / "model.safetensors", tensors)
    write_json(
        folder / "model.json",
        {
            "format": FORMAT,
            "parameters": described,
            "options": method.options(),
            "classes": class_names(classifier.classes_),
            "annotators": class_names(classifier.annotators_),
            "input_shape": list(classifier.input_shape_),
            "features": class_names(getattr(classifier, "feature_names_in_", np.empty(0, object))),
            "history": asdict(classifier.history_),
            "notes": classifier.notes_,
        },
    )


def load_classifier(kind: type[Any], folder: Path, network: NetworkLike | None) -> Any:
    """A classifier as :func:`save_classifier` left it."""
    if not (folder / "model.json").is_file():
        raise RunFolderError(f"{folder} holds no trained classifier: there is no model.json in it")
    note = read_json(folder / "model.json")
    if not isinstance(note, dict) or note.get("format") != FORMAT:
        version = note.get("format") if isinstance(note, dict) else None
        raise RunFolderError(f"{folder} was written by another version (format {version}, not {FORMAT})")
    try:
        return _rebuild(kind, folder, note, network)
    except (KeyError, TypeError) as error:
        raise RunFolderError(f"{folder / 'model.json'} is damaged: {error!r}") from error


def _rebuild(kind: type[Any], folder: Path, note: dict[str, Any], network: NetworkLike | None) -> Any:
    tensors, _ = read_tensors(folder / "model.safetensors")
    params = note["parameters"]
    params["method"] = get_method(params["method"]).with_options(**note["options"])
    params["network"] = network if params["network"] is None else params["network"]
    for name in ("step_epochs", "augment"):
        params[name] = tuple(params[name])
    if params["network"] is None:
        raise RunFolderError(f"{folder} was trained with a network of the user's own: pass it as network=")
    classifier = kind(**params)
    shape = tuple(note["input_shape"])
    plan = Blueprint(params["network"], shape, len(note["classes"]), len(note["annotators"]))
    learner: nn.Module = params["method"].learner(plan)
    try:
        learner.load_state_dict(
            {n.removeprefix("learner."): value for n, value in tensors.items() if n.startswith("learner.")}
        )
    except RuntimeError as error:
        given = params["network"] if isinstance(params["network"], str) else type(params["network"]).__name__
        raise RunFolderError(f"{folder} holds weights of another network than {given}") from error
    classifier.method_ = params["method"]
    classifier.learner_ = learner.eval()
    classifier.classes_ = class_array(note["classes"])
    classifier.annotators_ = name_array(note["annotators"])
    classifier.input_shape_ = shape
    if len(shape) == 1:
        classifier.n_features_in_ = shape[0]
    if note["features"]:
        classifier.feature_names_in_ = name_array(note["features"])
    classifier.history_ = History(**note["history"])
    classifier.notes_ = note["notes"]
    classifier.n_iter_ = len(classifier.history_.rows)
    classifier.scaling_ = Scaling(tensors["mean"].numpy(), tensors["scale"].numpy())
    for name in ARRAYS:
        setattr(classifier, name, tensors[name].numpy())
    return classifier


def class_array(classes: Any) -> Any:
    """Class names as scikit-learn has them: strings in a string array, the rest as they are."""
    return np.asarray(classes) if all(isinstance(c, str) for c in classes) else name_array(classes)
