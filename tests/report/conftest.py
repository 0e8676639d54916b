"""Run folders as `truelabel train` leaves them, small, with names that would do harm if a page believed them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from pyarrow import csv

from truelabel import Annotations, TrueLabelClassifier, TrueLabelSegmenter
from truelabel.corruption import ConfusedAnnotators, hammer_spammers
from truelabel.data import digits, discs, mask_folder, write_mask
from truelabel.estimators.image_reading import ImageReading

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
CLASSES = ["zero", SCRIPT, "two, or 2", 'a "three"']
PEOPLE = ["ann", "bob", "cid & co", IMAGE]
SIZE = 120


def write(path: Path, **columns: Any) -> None:
    csv.write_csv(pa.table({name: pa.array(values) for name, values in columns.items()}), path)


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def said_of(labels: NDArray[np.int64]) -> Annotations:
    crowd = ConfusedAnnotators(hammer_spammers(4, [0.95, 0.8, 0.6, 0.3]), labels_per_example=(1, 3))
    said = crowd(torch.from_numpy(labels), None, torch.Generator().manual_seed(0))
    names: dict[str, Any] = {
        "examples": said.examples,
        "annotators": np.array(PEOPLE, object),
        "classes": tuple(CLASSES),
    }
    return Annotations(said.example, said.annotator, said.label, **names)


def write_run(folder: Path) -> None:
    """Train, and write what the contract of run folders says."""
    data = digits()
    few = data.take(np.flatnonzero(data.labels < 4)[:SIZE])
    X = few.scaled().reshape(SIZE, -1)
    said = said_of(few.labels.astype(np.int64))
    clf = TrueLabelClassifier(
        "annotator-confusion", "mlp:32", epochs=25, batch_size=32, learning_rate=0.01, folder=folder, random_state=0
    )
    clf.fit(X, said).save(folder)
    np.save(folder.parent / "features.npy", X)
    np.save(folder / "pictures.npy", (few.scaled() * 255).astype(np.uint8).reshape(SIZE, 8, 8))
    probs = clf.predict_proba(X)
    people, classes = said.annotators, np.array(said.classes, object)
    joint = np.log(probs)
    np.add.at(joint, said.example, np.log(clf.confusion_[said.annotator, :, said.label] + 1e-9))
    joint = np.exp(joint - joint.max(1, keepdims=True))
    joint /= joint.sum(1, keepdims=True)
    best = joint.argmax(1)
    write(
        folder / "label_quality.csv",
        example=[str(name) for name in said.examples[said.example]],
        annotator=people[said.annotator].tolist(),
        label=classes[said.label].tolist(),
        probability_right=joint[said.example, said.label],
        suggested=classes[best[said.example]].tolist(),
        suggested_probability=joint.max(1)[said.example],
    )
    write(folder / "examples.csv", example=[str(name) for name in said.examples])
    np.savez(folder / "posterior.npz", probs=probs.astype(np.float32))
    ends = clf.annotator_skill_interval_
    skill = {"skill": clf.annotator_skill_, "skill_low": ends[:, 0], "skill_high": ends[:, 1]}
    write(folder / "annotators.csv", annotator=people.tolist(), labels=said.workload, **skill)
    r, k = clf.confusion_.shape[:2]
    write(
        folder / "confusion.csv",
        annotator=np.repeat(people, k * k).tolist(),
        true=np.tile(np.repeat(classes, k), r).tolist(),
        observed=np.tile(classes, r * k).tolist(),
        probability=clf.confusion_.ravel(),
    )
    bins = [[0.45, 0.4, 20], [0.7, 0.62, 55], [0.95, 0.9, 130]]
    quality = {"out_of_sample": True, "folds": 5, "classes": CLASSES, "noise_rate": 0.31}
    write_json(folder / "quality.json", {**quality, "calibration": {"bins": bins, "error": 0.056}})
    source = {"data": str(folder.parent / "features.npy"), "labels": None, "kind": "arrays"}
    write_json(folder / "source.json", {**source, "text_column": None, "decisions": None})


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 120 digits in four classes, labelled by four people. Do not write to it."""
    folder = tmp_path_factory.mktemp("report") / "run"
    folder.mkdir()
    with torch.random.fork_rng(devices=[]):
        write_run(folder)
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return shutil.copytree(trained, tmp_path / "run")


def write_masks_run(folder: Path) -> None:
    """A segmenter that learned from eight discs, drawn by two readers, and regions in doubt."""
    study = folder.parent / "study"
    data = discs(8, (20, 20), seed=0)
    drawn = {"ann": data.labels, "bob": np.maximum(data.labels, np.roll(data.labels, 2, axis=-1))}
    (study / "images").mkdir(parents=True)
    for n, image in enumerate(data.inputs[:, 0]):
        pixels = np.interp(image, (image.min(), image.max()), (0, 255)).astype(np.uint8)
        Image.fromarray(pixels).save(study / "images" / f"p{n}.png")
        for reader, masks in drawn.items():
            write_mask(study / reader / f"p{n}.png", masks[n])
    read = mask_folder(study)
    segmenter = TrueLabelSegmenter(
        "heteroscedastic", "unet:4", epochs=3, standardize=False, folder=folder, random_state=0
    )
    segmenter.fit(read.images, read.annotations)
    segmenter.reading_ = ImageReading(values=tuple(int(value) for value in read.classes))
    segmenter.save(folder)
    write(folder / "annotators.csv", reader=["ann", "bob"], images=[8, 8], skill=segmenter.annotator_skill_)
    k = len(read.classes)
    write(
        folder / "confusion.csv",
        reader=np.repeat(["ann", "bob"], k * k),
        true=np.tile(np.repeat(read.classes, k), 2),
        observed=np.tile(read.classes, 2 * k),
        probability=segmenter.confusion_.ravel(),
    )
    write(folder / "examples.csv", example=[f"p{n}" for n in range(8)])
    places: dict[str, Any] = {"pixels": [30, 12], "top": [4, 6], "left": [3, 9], "bottom": [12, 11], "right": [9, 18]}
    write(
        folder / "label_quality.csv",
        example=["p1", "p3"],
        annotator=["bob", "ann"],
        region=[1, 2],
        label=[1, 1],
        probability_right=[0.04, 0.3],
        suggested=[0, 0],
        suggested_probability=[0.96, 0.7],
        **places,
    )
    write_json(folder / "source.json", {"data": str(study), "labels": None, "kind": "masks"})


@pytest.fixture(scope="session")
def masks_trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a segmenter, with its study beside it. Do not write to it."""
    folder = tmp_path_factory.mktemp("masks") / "run"
    folder.mkdir()
    with torch.random.fork_rng(devices=[]):
        write_masks_run(folder)
    return folder


@pytest.fixture
def masks_run(masks_trained: Path, tmp_path: Path) -> Path:
    """A copy of it to change; its study stays where it was."""
    return shutil.copytree(masks_trained, tmp_path / "masks")
