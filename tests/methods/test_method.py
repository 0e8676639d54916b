"""How a method is carried out, and what a run folder may hold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from truelabel import Annotations
from truelabel.learners import Learner
from truelabel.methods import METHODS, Learned, Method, get_method, learn
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.training import Blueprint, Engine, Job, Run, RunFolderError, TrainingConfig, clean_probs

CPU = Engine(device="cpu")
METHOD = get_method("cross-entropy")


@dataclass(frozen=True, kw_only=True)
class TwoStages(Method):
    """A warm-up whose weights are where the second stage starts."""

    name = "two-stages"
    summary = "warm up, then train"
    paper = "test"

    scale: float = 1.0
    steps: tuple[int, ...] = (1, 2)

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)

    def learn(self, run: Run) -> Learned:
        warm = run.fit("1-warm", run.build("1-warm", self.learner)).peers[0]
        scale = run.once("scale", lambda: {"scale": torch.tensor(self.scale)})["scale"]
        with torch.no_grad():
            for parameter in warm.parameters():
                parameter.mul_(scale)
        fitted = run.fit("2-main", [warm])
        return Learned(fitted.peers[0], fitted.history)


def written(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def weights(learned: Learned) -> list[float]:
    return torch.cat([parameter.detach().ravel() for parameter in learned.learner.parameters()]).tolist()


def other_label(job: Job) -> Job:
    matrix = job.annotations.matrix()
    matrix[7, 0] = 1 - matrix[7, 0]
    return replace(job, annotations=Annotations.from_matrix(matrix))


def other_input(job: Job) -> Job:
    inputs = job.inputs.copy()
    inputs[7, 0] += 1e-3
    return replace(job, inputs=inputs)


def fewer(job: Job) -> Job:
    return replace(job, inputs=job.inputs[:300], annotations=job.annotations.take(np.arange(300)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda job: replace(job, seed=1), r"\(seed is 0, not 1\)"),
        (lambda job: replace(job, network="mlp:9"), r"\(network is 'mlp:8', not 'mlp:9'\)"),
        (lambda job: replace(job, network=nn.Linear(2, 8)), r"\(network is 'mlp:8', not 'Linear'\)"),
        (lambda job: replace(job, config=replace(job.config, epochs=2)), "epochs"),
        (lambda job: replace(job, config=replace(job.config, epsilon=1e-7)), r"\(epsilon is 1e-08, not 1e-07\)"),
        (lambda job: replace(job, annotations=Annotations.from_labels(job.annotations.matrix()[:, 0])), "labels"),
        (fewer, r"\(examples is 400, not 300\)"),
        (other_label, "said"),
        (other_input, "inputs"),
    ],
    ids=["seed", "network", "module", "epochs", "epsilon", "annotators", "examples", "a label", "an input"],
)
def test_the_folder_of_another_run_is_refused(
    change: Callable[[Job], Job], message: str, short: Job, tmp_path: Path
) -> None:
    job = replace(short, folder=tmp_path)
    learn(METHOD, job, CPU)
    before = {name: (tmp_path / name).read_bytes() for name in written(tmp_path)}
    with pytest.raises(RunFolderError, match=message) as caught:
        learn(METHOD, change(job), CPU)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path} holds another run (")
    assert text.endswith("): name another folder, or delete it")
    assert "\n" not in text
    assert {name: (tmp_path / name).read_bytes() for name in written(tmp_path)} == before


def test_a_folder_from_before_a_setting_is_the_same_run_and_so_is_one_that_says_its_value(
    short: Job, tmp_path: Path
) -> None:
    job = replace(short, folder=tmp_path)
    first = learn(METHOD, job, CPU)
    note = json.loads((tmp_path / "run.json").read_text())
    assert "epsilon" not in note["training"]
    note["training"]["epsilon"] = 1e-8
    (tmp_path / "run.json").write_text(json.dumps(note))
    assert learn(METHOD, job, CPU).history == first.history


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (get_method("cross-entropy"), r"\(method is 'majority-vote', not 'cross-entropy'\)"),
        (get_method("majority-vote").with_options(ties="lowest"), "options is .*random.*, not .*lowest"),
    ],
)
def test_the_folder_of_another_method_is_refused(method: Method, message: str, short: Job, tmp_path: Path) -> None:
    job = replace(short, folder=tmp_path)
    learn(get_method("majority-vote"), job, CPU)
    with pytest.raises(RunFolderError, match=message):
        learn(method, job, CPU)


def test_a_folder_that_says_nonsense_is_refused_in_one_line(short: Job, tmp_path: Path) -> None:
    for text in ("{", "[]", "null"):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(RunFolderError) as caught:
            learn(METHOD, replace(short, folder=tmp_path), CPU)
        assert "\n" not in str(caught.value)
        assert written(tmp_path) == ["run.json"]


def test_a_finished_run_is_loaded(short: Job, tmp_path: Path) -> None:
    job = replace(short, folder=tmp_path)
    method = TwoStages(scale=0.5)
    first = learn(method, job, CPU)
    assert written(tmp_path) == [
        *(f"1-warm/{name}" for name in ("best.safetensors", "finished.json", "last.safetensors", "metrics.csv")),
        *(f"2-main/{name}" for name in ("best.safetensors", "finished.json", "last.safetensors", "metrics.csv")),
        "run.json",
        "scale.safetensors",
    ]
    times = {name: (tmp_path / name).stat().st_mtime_ns for name in written(tmp_path)}
    second = learn(method, job, CPU)
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in written(tmp_path)} == times
    assert weights(second) == weights(first)
    assert second.history == first.history
    assert weights(learn(method, short, CPU)) == weights(first), "without a folder it is the same"
    with pytest.raises(RunFolderError, match="options"):
        learn(TwoStages(scale=0.5, steps=(1, 3)), job, CPU)


def test_the_folder_says_what_the_run_is(short: Job, tmp_path: Path) -> None:
    learn(get_method("majority-vote"), replace(short, folder=tmp_path / "new" / "run"), CPU)
    note = json.loads((tmp_path / "new" / "run" / "run.json").read_text(encoding="utf-8"))
    assert note["method"] == "majority-vote"
    assert note["options"] == {"base": "cross-entropy", "soft": False, "ties": "random"}
    assert (note["seed"], note["network"], note["training"]["epochs"]) == (0, "mlp:8", 1)
    assert (note["examples"], note["labels"], note["annotators"], note["classes"]) == (400, 2000, 5, [0, 1])


@pytest.mark.parametrize(
    ("change", "engine"),
    [
        ({"network": "nope"}, CPU),
        ({"network": "lenet-5"}, CPU),
        ({"network": nn.Linear(3, 8)}, CPU),
        ({"network": lambda shape: None}, CPU),
        ({"annotations": Annotations.from_labels([0, 1])}, CPU),
        pytest.param(
            {}, Engine(device="cuda"), marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
        ),
    ],
    ids=["unknown", "for images", "other shape", "no module", "other labels", "no such device"],
)
def test_what_cannot_work_leaves_no_folder_behind(
    change: dict[str, Any], engine: Engine, short: Job, tmp_path: Path
) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        learn(METHOD, replace(short, folder=tmp_path / "run", **change), engine)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden files count


def test_options_are_the_fields() -> None:
    method = TwoStages()
    assert method.options() == {"scale": 1.0, "steps": (1, 2)}
    other = method.with_options(scale=2.0)
    assert (other.options()["scale"], method.options()["scale"]) == (2.0, 1.0)
    with pytest.raises(ValueError, match="two-stages has no option 'size': it has scale, steps"):
        method.with_options(size=1)
    with pytest.raises(ValueError, match="cross-entropy has no option 'size': it has none"):
        METHODS["cross-entropy"].with_options(size=1)


def masks_job(inputs: tuple[int, ...], labels: tuple[int, ...], patch: tuple[int, ...] | None = None) -> Job:
    """Six images and the masks of two readers, of sizes that need not be the same."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(6, 1, *inputs)).astype(np.float32)
    annotations = Annotations.from_masks(rng.integers(0, 2, (6, 2, *labels)))
    config = TrainingConfig(epochs=1, batch_size=3, patch=patch)
    return Job(images, annotations, "unet:4", config, seed=0)


@pytest.mark.parametrize(
    ("space", "patch"),
    [((6, 7), (7, 7)), ((6, 7), (6, 8)), ((6, 7), (2, 3, 3)), ((4, 5, 6), (4, 5)), ((4, 5, 6), (5, 5, 5))],
    ids=str,
)
def test_a_patch_that_does_not_fit_leaves_no_folder_behind(
    space: tuple[int, ...], patch: tuple[int, ...], tmp_path: Path
) -> None:
    job = replace(masks_job(space, space, patch), folder=tmp_path / "run")
    with pytest.raises(ValueError) as caught:
        learn(METHOD, job, CPU)
    assert str(caught.value) == f"patch {patch} does not fit into label maps of {space}: make it smaller"
    assert not (tmp_path / "run").exists()


def test_patches_of_one_label_an_example_make_no_sense(short: Job) -> None:
    with pytest.raises(ValueError, match=r"patch \(2, 2\) does not fit into label maps of \(\): make it smaller"):
        learn(METHOD, replace(short, config=replace(short.config, patch=(2, 2))), CPU)


@pytest.mark.parametrize("space", [(6, 7), (4, 5, 6)], ids=str)
def test_a_patch_as_large_as_the_image_is_the_image(space: tuple[int, ...]) -> None:
    whole, patch = (learn(METHOD, masks_job(space, space, size), CPU) for size in (None, space))
    # The corners of patches are drawn, even if there is only one; nothing else in this training is.
    assert weights(patch) == weights(whole)


SAMPLED = {"samples": 8, "prediction_samples": 8}


def test_labels_may_be_larger_than_what_a_network_gives_if_a_head_enlarges_it() -> None:
    method = get_method("heteroscedastic-temperature").with_options(upsample=2, **SAMPLED)
    assert method.space((6, 7)) == (12, 14)
    assert method.with_options(upsample=1).space((6, 7)) == METHOD.space((6, 7)) == (6, 7)
    job = masks_job((6, 7), (12, 14))
    learned = learn(method, job, CPU)
    probs = clean_probs(learned.learner, torch.from_numpy(job.inputs))
    assert probs.shape == (6, 12, 14, 2)
    torch.testing.assert_close(probs.sum(-1), torch.ones(6, 12, 14))


@pytest.mark.parametrize(
    ("options", "labels", "patch", "given", "wanted"),
    [
        ({"upsample": 1}, (12, 14), None, "6 x 7", "12 x 14"),
        ({"upsample": 2}, (6, 7), None, "12 x 14", "6 x 7"),
        ({"upsample": 3}, (12, 14), None, "18 x 21", "12 x 14"),
        ({"upsample": 2}, (12, 14), (6, 6), "12 x 12", "6 x 6"),
    ],
)
def test_labels_of_another_size_than_the_answers_are_refused(
    options: dict[str, int], labels: tuple[int, int], patch: tuple[int, int] | None, given: str, wanted: str
) -> None:
    method = get_method("heteroscedastic-temperature").with_options(**options, **SAMPLED)
    with pytest.raises(ValueError) as caught:
        learn(method, masks_job((6, 7), labels, patch), CPU)
    expected = f"the network gives maps of {given}, but the labels are maps of {wanted}: choose another network"
    assert str(caught.value) == expected
