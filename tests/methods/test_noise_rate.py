from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, Run, TrainingConfig
from truelabel.training.files import read_json

CPU = Engine(device="cpu")
METHOD = get_method("co-teaching")


def blobs(rate: float, validation: float) -> Job:
    """Four blobs that a network tells apart, with a share of labels replaced by another class."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 1500)
    inputs = (6 * np.eye(4, 5)[truth] + rng.normal(size=(1500, 5))).astype(np.float32)
    said = np.where(rng.random(1500) < rate, (truth + rng.integers(1, 4, 1500)) % 4, truth)
    config = TrainingConfig(epochs=12, batch_size=100, learning_rate=0.003, validation=validation)
    return Job(inputs, Annotations.from_labels(said, classes=4), "mlp:32", config, seed=0)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.45])
@pytest.mark.parametrize(("validation", "source"), [(0.3, "held-out labels"), (0.0, "transition")])
def test_the_rate_is_found(rate: float, validation: float, source: str) -> None:
    notes = learn(METHOD, blobs(rate, validation), CPU).notes
    assert notes["noise_rate_from"] == source
    assert notes["noise_rate"] == pytest.approx(rate, abs=0.07)


@pytest.mark.parametrize("validation", [0.0, 0.3])
def test_it_is_found_if_one_class_only_is_mistaken(validation: float) -> None:
    job = blobs(0.0, validation)
    said = job.annotations.label.copy()
    wrong = (said == 0) & (np.random.default_rng(3).random(len(said)) < 0.45)
    said[wrong] = 1
    job = replace(job, annotations=Annotations.from_labels(said, classes=4))
    assert learn(METHOD, job, CPU).notes["noise_rate"] == pytest.approx(wrong.mean(), abs=0.05)


def test_held_out_examples_without_labels_are_no_evidence() -> None:
    job = blobs(0.1, 0.1)
    held_out = Run(job, CPU.fabric("32-true")).split.valid.numpy()
    matrix = job.annotations.label.copy()[:, None]
    matrix[held_out] = -1
    notes = learn(METHOD, replace(job, annotations=Annotations.from_matrix(matrix, classes=4)), CPU).notes
    assert notes["noise_rate_from"] == "transition"
    assert notes["noise_rate"] == pytest.approx(0.1, abs=0.1)


def test_a_rate_that_was_given_says_so_and_costs_no_warm_up(tmp_path: Path) -> None:
    job = replace(blobs(0.2, 0.1), folder=tmp_path)
    assert learn(METHOD.with_options(noise_rate=0.25), job, CPU).notes == {
        "noise_rate": 0.25,
        "noise_rate_from": "given",
    }
    assert read_json(tmp_path / "notes.json") == {"noise_rate": 0.25, "noise_rate_from": "given"}
    assert not (tmp_path / "1-warm-up").exists()


def test_the_estimate_is_kept_in_the_folder(tmp_path: Path) -> None:
    job = replace(blobs(0.2, 0.2), folder=tmp_path)
    first = learn(METHOD, job, CPU).notes
    assert read_json(tmp_path / "notes.json") == dict(first)
    assert learn(METHOD, job, CPU).notes == first
    assert (tmp_path / "1-noise-rate.safetensors").exists()


def test_labels_that_tell_nothing_do_not_empty_the_batch() -> None:
    job = blobs(0.0, 0.2)
    rng = np.random.default_rng(0)
    job = replace(job, annotations=Annotations.from_labels(rng.integers(0, 4, 1500), classes=4))
    with pytest.warns(UserWarning, match="hardly less than if labels told nothing: raise warm_up and epochs"):
        assert learn(METHOD, job, CPU).notes["noise_rate"] <= 0.75


@pytest.mark.parametrize("name", ["co-teaching", "mentornet", "causal-nl"])
def test_options_check_themselves(name: str) -> None:
    with pytest.raises(ValueError, match=r"noise_rate must lie in \[0, 1\), or be None to be estimated, got 1.0"):
        get_method(name).with_options(noise_rate=1.0)
    with pytest.raises(ValueError, match="warm_up must be a whole number of at least 1, got 0"):
        get_method(name).with_options(warm_up=0)
