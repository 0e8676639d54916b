from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from truelabel import Annotations
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.methods import METHODS
from truelabel.networks import MLP, UNet
from truelabel.noise import AnnotatorConfusion, InstanceConfusion
from truelabel.training import Blueprint, Job, Run, clean_probs, mean_matrices

LEARNER = METHODS["cross-entropy"].learner


def test_the_split_is_a_partition_and_depends_on_the_seed_only(job: Job, fabric: Fabric) -> None:
    split = Run(job, fabric).split
    assert len(split.valid) == 12
    assert sorted(split.train.tolist() + split.valid.tolist()) == list(range(120))
    assert torch.equal(Run(job, fabric).split.valid, split.valid)
    assert not torch.equal(Run(replace(job, seed=1), fabric).split.valid, split.valid)


def test_the_last_may_be_held_out(job: Job, fabric: Fabric) -> None:
    last = replace(job, config=replace(job.config, hold_out="last"))
    for seed in (0, 1):
        split = Run(replace(last, seed=seed), fabric).split
        assert split.train.tolist() == list(range(108))
        assert split.valid.tolist() == list(range(108, 120))


def test_peers_start_differently_and_stages_independently(job: Job, fabric: Fabric) -> None:
    def start(stage: str, peer: int, seed: int = 0) -> Tensor:
        learners = Run(replace(job, seed=seed), fabric).build(stage, LEARNER, peers=2)
        return next(learners[peer].parameters())

    first = start("a", 0)
    assert torch.equal(first, start("a", 0))
    for other in (start("a", 1), start("b", 0), start("a", 0, seed=1)):
        assert not torch.equal(first, other)


def test_building_does_not_touch_the_default_generator(job: Job, fabric: Fabric) -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    Run(job, fabric).build("a", LEARNER)
    assert torch.equal(torch.rand(1), expected)


def test_a_module_given_keeps_its_weights_and_is_not_trained_itself(job: Job, fabric: Fabric) -> None:
    module = nn.Linear(2, 5)
    before = module.weight.detach().clone()
    run = Run(replace(job, network=module), fabric)
    built = run.build("main", LEARNER)
    assert any(torch.equal(p, before) for p in built[0].parameters())
    run.fit("main", built)
    assert torch.equal(module.weight, before)


def test_once_computes_once(job: Job, fabric: Fabric, tmp_path: Path) -> None:
    calls: list[int] = []

    def compute() -> dict[str, Tensor]:
        calls.append(1)
        return {"T": torch.eye(2) * len(calls)}

    run = Run(replace(job, folder=tmp_path), fabric)
    assert torch.equal(run.once("t", compute)["T"], torch.eye(2))
    assert torch.equal(Run(replace(job, folder=tmp_path), fabric).once("t", compute)["T"], torch.eye(2))
    assert calls == [1]
    in_memory = Run(job, fabric)
    assert torch.equal(in_memory.once("t", compute)["T"], 2 * torch.eye(2))


def test_clean_probs_do_not_depend_on_the_chunk(job: Job, fabric: Fabric) -> None:
    learner = Run(job, fabric).build("main", LEARNER)[0].double()
    inputs = torch.from_numpy(job.inputs)
    whole, parts = clean_probs(learner, inputs, chunk=120), clean_probs(learner, inputs, chunk=7)
    assert torch.allclose(whole, parts, atol=1e-12)
    assert np.allclose(whole.sum(-1), 1)
    assert whole.dtype == torch.double


def test_a_blueprint_knows_how_much_everybody_said(job: Job, fabric: Fabric) -> None:
    matrix = np.full((120, 3), -1)
    held_out = Run(job, fabric).split.valid
    matrix[:, 0], matrix[held_out[:7], 1] = 1, 0
    matrix[:30, 2] = 0
    many = replace(job, annotations=Annotations.from_matrix(matrix, classes=2))
    plan = Blueprint.of(many)
    assert (plan.shape, plan.classes, plan.annotators) == ((2,), 2, 3)
    assert plan.workload is not None
    # What is held out teaches nobody.
    assert plan.workload.tolist() == [108, 0, sum(n < 30 for n in Run(job, fabric).split.train.tolist())]
    assert np.array_equal(Run(many, fabric).plan.workload, plan.workload)  # type: ignore[arg-type]
    consensus = plan.of_one_annotator()
    assert (consensus.annotators, consensus.workload) == (1, None)
    assert (consensus.shape, consensus.classes, consensus.network_like) == (plan.shape, plan.classes, job.network)


def test_an_annotator_of_masks_said_one_thing_a_mask(job: Job) -> None:
    masks = np.zeros((4, 2, 5, 6), np.int64)
    masks[1:, 1] = -1
    plan = Blueprint.of(
        replace(job, inputs=np.zeros((4, 1, 5, 6), np.float32), annotations=Annotations.from_masks(masks))
    )
    assert plan.workload is not None
    assert plan.workload.tolist() == [4, 1]


def a_reader(dims: int) -> Classifier:
    """A learner of masks by four readers of three classes whose matrices differ from pixel to pixel; in float64."""
    noise = InstanceConfusion(4, 3, 4)
    learner = Classifier(UNet(1, width=4, depth=2, dims=dims), noise, CrossEntropy()).double()
    with torch.no_grad():
        for parameter in (noise.weight, noise.bias, noise.head.weight):
            parameter.add_(torch.randn_like(parameter))
    return learner


@pytest.mark.parametrize("space", [(5, 6), (3, 4, 5)], ids=str)
@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_mean_matrices_by_loops(space: tuple[int, ...], chunk: int) -> None:
    learner, images = a_reader(len(space)).eval(), torch.randn(5, 1, *space, dtype=torch.double)
    everybody = torch.arange(4).expand(5, -1)
    with torch.no_grad():
        probs = learner.predict(images).clean.exp().reshape(-1, 3)
        matrices = learner.matrices_at(images, everybody)
    assert matrices is not None
    expected = torch.zeros(4, 3, 3, dtype=torch.double)
    for p, pixel in zip(probs, matrices.reshape(-1, 4, 3, 3), strict=True):
        for k in range(3):
            expected[:, k] += p[k] * pixel[:, k]
    expected /= probs.sum(0).view(1, 3, 1)
    found = mean_matrices(learner.train(), images, 4, chunk)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(-1), torch.ones(4, 3, dtype=torch.double))
    assert not learner.training


@pytest.mark.parametrize("chunk", [2, 100])
@pytest.mark.parametrize("patch", [None, (3, 3)], ids=str)
def test_mean_matrices_of_units_that_count(chunk: int, patch: tuple[int, ...] | None) -> None:
    learner, images = a_reader(2).eval(), torch.randn(5, 1, 6, 6, dtype=torch.double)
    counted = torch.rand(5, 6, 6) < 0.3
    with torch.no_grad():
        sums, weights = torch.zeros(4, 3, 3, dtype=torch.double), torch.zeros(3, dtype=torch.double)
        for row, column in [(0, 0)] if patch is None else [(0, 0), (0, 3), (3, 0), (3, 3)]:
            window = slice(row, row + (patch or (6, 6))[0]), slice(column, column + (patch or (6, 6))[1])
            part, here = images[:, :, *window], counted[:, *window]
            probs = learner.predict(part).clean.exp()[here]
            matrices = learner.matrices_at(part, torch.arange(4).expand(5, -1))
            assert matrices is not None
            for p, pixel in zip(probs, matrices[here], strict=True):
                sums, weights = sums + p.view(1, 3, 1) * pixel, weights + p
    found = mean_matrices(learner, images, 4, chunk, patch, counted)
    torch.testing.assert_close(found, sums / weights.view(1, 3, 1))


def test_mean_matrices_of_a_sure_answer_are_those_of_its_pixels() -> None:
    learner, images = a_reader(2).eval(), torch.randn(6, 1, 5, 6, dtype=torch.double)
    assert isinstance(learner.noise, InstanceConfusion)
    with torch.no_grad():
        learner.noise.head.weight.mul_(1e3)
        answer = learner.predict(images).clean.argmax(-1)
        matrices = learner.matrices_at(images, torch.arange(4).expand(6, -1))
    assert matrices is not None
    found = mean_matrices(learner, images, 4)
    for k in range(3):
        assert (answer == k).any()
        torch.testing.assert_close(found[:, k], matrices[answer == k][:, :, k].mean(0), atol=1e-2, rtol=0)


def test_mean_matrices_that_are_everywhere_the_same_are_themselves() -> None:
    noise = AnnotatorConfusion(8, 3, 4)
    nn.init.normal_(noise.rho)
    learner = Classifier(MLP(5, width=8), noise, CrossEntropy())
    found, confusion = mean_matrices(learner, torch.randn(20, 5), 4, chunk=7), learner.annotator_confusion()
    assert confusion is not None
    assert found.dtype == torch.double
    torch.testing.assert_close(found, confusion.detach().double(), atol=1e-6, rtol=1e-6)


def test_mean_matrices_of_bytes_are_those_of_floats() -> None:
    learner = a_reader(2)
    pixels = torch.randint(256, (3, 1, 5, 6), dtype=torch.uint8)
    torch.testing.assert_close(mean_matrices(learner, pixels, 4), mean_matrices(learner, pixels / 255, 4))


def test_mean_matrices_need_matrices(job: Job, fabric: Fabric) -> None:
    learner = Run(job, fabric).build("main", LEARNER)[0]
    with pytest.raises(ValueError, match="^the learner has no confusion matrices$"):
        mean_matrices(learner, torch.from_numpy(job.inputs), 1)
