from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from truelabel import Annotations
from truelabel.methods import METHODS
from truelabel.training import Blueprint, Job, Run, clean_probs

LEARNER = METHODS["cross-entropy"].learner


def test_the_split_is_a_partition_and_depends_on_the_seed_only(job: Job, fabric: Fabric) -> None:
    split = Run(job, fabric).split
    assert len(split.valid) == 12
    assert sorted(split.train.tolist() + split.valid.tolist()) == list(range(120))
    assert torch.equal(Run(job, fabric).split.valid, split.valid)
    assert not torch.equal(Run(replace(job, seed=1), fabric).split.valid, split.valid)


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
    matrix[:, 0], matrix[:7, 2] = 1, 0
    many = replace(job, annotations=Annotations.from_matrix(matrix, classes=2))
    plan = Blueprint.of(many)
    assert (plan.shape, plan.classes, plan.annotators) == ((2,), 2, 3)
    assert plan.workload is not None
    assert plan.workload.tolist() == [120, 0, 7]
    assert Run(many, fabric).plan.workload is not None
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
