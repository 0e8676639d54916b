from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from truelabel import Annotations
from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.methods import METHODS
from truelabel.networks import Network
from truelabel.noise import NoNoise
from truelabel.selection import Selector
from truelabel.training import Blueprint, Engine, Fitted, Job, Run, RunFolderError, TrainingConfig
from truelabel.types import Batch, Step

LEARNER = METHODS["cross-entropy"].learner


def train(job: Job, fabric: Fabric, peers: int = 1, **options: Any) -> Fitted:
    run = Run(job, fabric)
    return run.fit("main", run.build("main", LEARNER, peers=peers), **options)


def weights(fitted: Fitted, peer: int = 0) -> list[Tensor]:
    return [value.clone() for value in fitted.peers[peer].state_dict().values()]


def equal(a: list[Tensor], b: list[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


class Recorder(Selector):
    """Keeps everything and writes down what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.progress: list[float] = []
        self.sizes: set[tuple[int, ...]] = set()

    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        self.progress.append(float(progress))
        self.sizes.add(tuple(losses.shape))
        return torch.ones_like(losses)


class Seen:
    """A transform that writes down which examples came."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def __call__(self, batch: Batch) -> Batch:
        self.batches.append(batch.index.tolist())
        return batch


def test_it_learns(job: Job, fabric: Fabric) -> None:
    config = replace(job.config, epochs=60, learning_rate=0.02)
    fitted = train(replace(job, config=config), fabric)
    assert fitted.history.best("valid_accuracy") == 1
    assert fitted.history.rows[-1]["train_loss"] < 0.05
    assert not fitted.peers[0].training


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("schedule", ["constant", "step", "cosine"])
def test_one_step_of_every_optimizer_and_schedule(job: Job, fabric: Fabric, optimizer: Any, schedule: Any) -> None:
    config = replace(job.config, epochs=2, optimizer=optimizer, schedule=schedule, step_epochs=(1,))
    rows = train(replace(job, config=config), fabric).history.rows
    expected = {"constant": 0.01, "step": 0.001, "cosine": 0.005}[schedule]
    assert [row["learning_rate"] for row in rows] == pytest.approx([0.01, expected])


def test_same_seed_same_weights_and_every_seed_its_own(job: Job, fabric: Fabric) -> None:
    first = weights(train(job, fabric))
    torch.rand(3)
    assert equal(first, weights(train(job, fabric)))
    assert not equal(first, weights(train(replace(job, seed=1), fabric)))


def test_the_default_generator_comes_back_untouched(job: Job, fabric: Fabric) -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    train(job, fabric)
    assert torch.equal(torch.rand(1), expected)


def test_full_batches_without_repetition_and_never_the_held_out(job: Job, fabric: Fabric) -> None:
    seen = Seen()
    run = Run(job, fabric)
    run.fit("main", run.build("main", LEARNER), transforms=[seen])
    assert [len(batch) for batch in seen.batches] == [32] * 3 * 4
    held_out = set(run.split.valid.tolist())
    for epoch in range(4):
        examples = [i for batch in seen.batches[3 * epoch : 3 * epoch + 3] for i in batch]
        assert len(set(examples)) == 96
        assert not held_out & set(examples)
    assert seen.batches[0] != seen.batches[3]


def test_a_batch_larger_than_the_data_is_all_of_it(job: Job, fabric: Fabric) -> None:
    seen = Seen()
    train(replace(job, config=replace(job.config, batch_size=5000)), fabric, transforms=[seen])
    assert [len(batch) for batch in seen.batches] == [108] * 4


def test_selectors_see_all_peers_and_the_progress(job: Job, fabric: Fabric) -> None:
    recorder = Recorder()
    train(job, fabric, peers=2, selector=recorder)
    assert recorder.sizes == {(2, 32)}
    assert recorder.progress == pytest.approx([i / 12 for i in range(12)])


def test_two_peers_train_as_each_would_alone(job: Job, fabric: Fabric) -> None:
    config = replace(job.config, optimizer="sgd", select="last")
    pair = train(replace(job, config=config), fabric, peers=2)
    alone = train(replace(job, config=config), fabric)
    assert all(torch.allclose(x, y, atol=1e-7) for x, y in zip(weights(pair), weights(alone), strict=True))
    assert not equal(weights(pair, 0), weights(pair, 1))


def test_best_and_last_are_kept_apart(job: Job, fabric: Fabric, tmp_path: Path) -> None:
    scores = iter([0.2, 0.9, 0.4, 0.3])
    seen: list[list[Tensor]] = []

    def evaluate(learner: Learner) -> Mapping[str, float]:
        seen.append([p.detach().clone() for p in learner.state_dict().values()])
        return {"valid_accuracy": next(scores), "test_accuracy": len(seen) / 10}

    fitted = train(replace(job, evaluate=evaluate, folder=tmp_path), fabric)
    assert fitted.history.best_epoch == 1
    assert equal(weights(fitted), seen[1])
    assert fitted.history.best("test_accuracy") == 0.2
    assert fitted.history.mean_of_last("test_accuracy") == pytest.approx(0.25)
    scores = iter([0.2, 0.9, 0.4, 0.3])
    last = train(replace(job, evaluate=evaluate, config=replace(job.config, select="last")), fabric)
    assert equal(weights(last), seen[-1])


@pytest.mark.parametrize(("select", "best"), [("best", 2), ("best-loss", 2), ("best-accuracy", 0)])
def test_settings_say_what_the_best_epoch_is_chosen_by_if_they_care(
    select: Any, best: int, job: Job, fabric: Fabric
) -> None:
    scores = iter([(0.9, 3.0), (0.5, 2.0), (0.4, 1.0), (0.3, 4.0)])

    def evaluate(learner: Learner) -> dict[str, float]:
        accuracy, loss = next(scores)
        return {"valid_accuracy": accuracy, "valid_loss": loss}

    run = Run(replace(job, evaluate=evaluate, config=replace(job.config, select=select)), fabric)
    peers = run.build("main", LEARNER)
    peers[0].chosen_by = "loss"
    assert run.fit("main", peers).history.best_epoch == best


def test_patience_stops_early(job: Job, fabric: Fabric) -> None:
    scores = iter([0.5, 0.6, 0.1, 0.1, 0.1, 0.1])
    config = replace(job.config, epochs=6, patience=2)
    fitted = train(replace(job, config=config, evaluate=lambda _: {"valid_accuracy": next(scores)}), fabric)
    assert len(fitted.history.rows) == 4


def test_without_validation_the_last_epoch_is_kept(job: Job, fabric: Fabric) -> None:
    fitted = train(replace(job, config=replace(job.config, validation=0.0)), fabric)
    assert fitted.history.best_epoch is None
    assert "valid_accuracy" not in fitted.history.rows[0]


def test_a_finished_stage_is_loaded_not_repeated(job: Job, fabric: Fabric, tmp_path: Path) -> None:
    seen = Seen()
    kept = replace(job, folder=tmp_path)
    first = train(kept, fabric, transforms=[seen])
    steps = len(seen.batches)
    again = train(kept, fabric, transforms=[seen])
    assert len(seen.batches) == steps
    assert equal(weights(first), weights(again))
    assert again.history == first.history
    names = sorted(p.name for p in (tmp_path / "main").iterdir())
    assert names == ["best.safetensors", "finished.json", "last.safetensors", "metrics.csv"]
    assert json.loads((tmp_path / "main" / "finished.json").read_text())["weights"] == "best"


def test_a_folder_and_memory_give_the_same(job: Job, fabric: Fabric, tmp_path: Path) -> None:
    assert equal(weights(train(job, fabric)), weights(train(replace(job, folder=tmp_path), fabric)))


def test_another_network_in_the_folder_is_refused(job: Job, fabric: Fabric, tmp_path: Path) -> None:
    train(replace(job, folder=tmp_path), fabric)
    with pytest.raises(RunFolderError, match="holds weights of another network: use another folder"):
        train(replace(job, folder=tmp_path, network="mlp:8"), fabric)


def test_weights_and_soft_targets_reach_the_loss(job: Job, fabric: Fabric) -> None:
    labels = torch.from_numpy(job.annotations.label).long()
    other = Annotations.from_labels(1 - labels.numpy())
    job = replace(job, config=replace(job.config, select="last"))
    flipped = torch.nn.functional.one_hot(1 - labels, 2).float()
    soft = train(job, fabric, soft=flipped)
    hard = train(job, fabric, annotations=other)
    assert all(torch.allclose(x, y, atol=1e-6) for x, y in zip(weights(soft), weights(hard), strict=True))
    nothing = train(job, fabric, weights=torch.zeros(len(labels)))
    start = Run(job, fabric).build("main", LEARNER)[0].state_dict().values()
    assert equal(weights(nothing), list(start))


def test_bf16_trains(job: Job, fabric: Fabric) -> None:
    mixed = Engine(device="cpu").fabric("bf16-mixed")
    config = TrainingConfig(epochs=20, batch_size=32, learning_rate=0.02, precision="bf16-mixed")
    fitted = train(replace(job, config=config), mixed)
    assert fitted.history.best("valid_accuracy") > 0.8
    assert all(value.dtype == torch.float32 for value in weights(fitted))


def test_segmentation_trains_on_the_same_loop(fabric: Fabric) -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(24, 1, 16, 16, generator=generator)
    images[:, :, 4:12, 4:12] += 1.0
    masks = (images > 1).long().expand(-1, 3, -1, -1).clone()
    masks[:, 2] = 0
    masks[::2, 1] = -1
    config = TrainingConfig(epochs=12, batch_size=8, learning_rate=0.02)
    job = Job(images.numpy(), Annotations.from_masks(masks.numpy(), classes=2), "unet:8", config, seed=0)
    rows = train(job, fabric).history.rows
    assert rows[-1]["train_loss"] < 0.8 * rows[0]["train_loss"]


def test_learners_are_told_how_far_the_training_is(job: Job, fabric: Fabric) -> None:
    seen: list[float] = []

    class Told(Classifier):
        def forward(self, batch: Batch) -> Step:
            if self.training:
                assert self.progress is not None
                seen.append(float(self.progress))
            return super().forward(batch)

    def make(plan: Blueprint) -> Learner:
        network = plan.network()
        return Told(network, NoNoise(network.features, plan.classes), CrossEntropy())

    run = Run(job, fabric)
    fitted = run.fit("main", run.build("main", make))
    steps = len(seen) / len(fitted.history.rows)
    assert seen == pytest.approx([step / len(seen) for step in range(len(seen))])
    assert steps == int(steps)
    assert fitted.peers[0].progress is None
    assert "progress" not in fitted.peers[0].state_dict()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler")
def test_a_compiled_training_is_the_same_training() -> None:
    # In a process of its own, for what the compiler warns of is not ours.
    script = Path(__file__).parent / "scripts" / "compiled.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    plain, compiled = json.loads(done.stdout.splitlines()[-1])
    # One graph, for steps: what is measured is not compiled.
    assert (plain["graphs"], compiled["graphs"]) == (0, 1)
    assert compiled["losses"] == pytest.approx(plain["losses"], rel=1e-5)


class Watching(Network):
    """Notes whether the pictures that it trains on have their channels last."""

    features = 4

    def __init__(self, pooled: bool) -> None:
        super().__init__()
        self.convolution, self.pooled = torch.nn.Conv2d(2, 4, 3, padding=1), pooled
        self.seen: list[bool] = []

    def forward(self, inputs: Tensor) -> Tensor:
        if self.training:
            self.seen.append(inputs.is_contiguous(memory_format=torch.channels_last))
        mapped: Tensor = self.convolution(inputs)
        return mapped.mean((2, 3)) if self.pooled else mapped.movedim(1, -1)


@pytest.mark.parametrize(
    ("kind", "precision", "last"),
    [("classes", "bf16-mixed", True), ("classes", "32-true", False), ("masks", "bf16-mixed", False)],
)
def test_pictures_have_their_channels_last_where_that_is_faster(kind: str, precision: Any, last: bool) -> None:
    said = Annotations.from_masks(torch.zeros(8, 1, 8, 8).long().numpy(), classes=2)
    if kind == "classes":
        said = Annotations.from_labels([0, 1] * 4, classes=2)
    config = TrainingConfig(epochs=1, batch_size=8, validation=0, precision=precision)
    job = Job(torch.rand(8, 2, 8, 8).numpy(), said, Watching(kind == "classes"), config)
    (learner,) = train(job, Engine(device="cpu").fabric(precision)).peers
    (network,) = (part for part in learner.modules() if isinstance(part, Watching))
    assert network.seen == [last]


def test_a_module_of_the_user_gets_pictures_as_they_are() -> None:
    own = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3), torch.nn.Flatten())
    own.register_forward_pre_hook(lambda module, inputs: (inputs[0].view(8, 2, 8, 8),) if module.training else None)
    config = TrainingConfig(epochs=1, batch_size=8, validation=0, precision="bf16-mixed")
    job = Job(torch.rand(8, 2, 8, 8).numpy(), Annotations.from_labels([0, 1] * 4, classes=2), own, config)
    (learner,) = train(job, Engine(device="cpu").fabric("bf16-mixed")).peers
    assert next(learner.parameters()).is_contiguous()
