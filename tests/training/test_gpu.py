"""What has to hold on a GPU; skipped where there is none."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from truelabel.corruption import ConfusedAnnotators, EdgeAdded, Faithful, MaskReaders, symmetric
from truelabel.data import discs
from truelabel.methods import METHODS, learn
from truelabel.selection import KeepAll
from truelabel.training import Engine, Job, Run, TrainingConfig, TrainingSet, clean_probs, fit
from truelabel.training.capture import CapturedStep
from truelabel.training.divergence import FiniteWatch
from truelabel.training.optimizers import build_optimizer
from truelabel.training.step import step_loss

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
LEARNER = METHODS["cross-entropy"].learner
DEVICE = torch.device("cuda")


def image_job(n: int = 512) -> Job:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 10, (n,), generator=generator)
    images = torch.randint(0, 60, (n, 1, 28, 28), generator=generator, dtype=torch.uint8)
    rows = torch.arange(n)
    images[rows, 0, 2 * labels + 4] = 255
    corruption = ConfusedAnnotators(symmetric(10, 0.3).expand(3, 10, 10), labels_per_example=(1, 3))
    config = TrainingConfig(epochs=5, batch_size=64)
    return Job(images.numpy(), corruption(labels, None, generator), "lenet-5", config, seed=0)


def mask_job(n: int = 64) -> Job:
    """Discs drawn by two readers, one of whom draws too much."""
    data = discs(n, (16, 16))
    readers = MaskReaders({"careful": Faithful(), "generous": EdgeAdded(1)})
    said = readers(torch.from_numpy(data.labels).long(), None, torch.Generator().manual_seed(0))
    return Job(data.inputs, said, "unet:4", TrainingConfig(epochs=5, batch_size=8), seed=0)


def stepper(job: Job, learning: Any) -> tuple[Any, Any]:
    """One training step as a function of an index, and the learner that it trains."""
    fabric = Engine(device="cuda").fabric("32-true")
    run = Run(job, fabric)
    learner = run.build("main", LEARNER)[0].to(DEVICE)
    optimizer = build_optimizer(learner, replace(job.config, optimizer=learning), DEVICE, steps=100)
    data = TrainingSet(run.inputs, run.annotations, device=DEVICE)
    watch, selector, progress = FiniteWatch(DEVICE), KeepAll().to(DEVICE), torch.zeros((), device=DEVICE)

    def step(index: Tensor) -> None:
        loss = step_loss(fabric, [learner], data.batch(index), selector, progress)
        watch.see(loss)
        optimizer.zero_grad(set_to_none=False)
        loss.total.backward()
        optimizer.step()

    return step, learner


@pytest.mark.parametrize("learning", ["adam", "adamw", "sgd"])
def test_a_step_never_waits_for_the_device(learning: str) -> None:
    step, _ = stepper(image_job(), learning)
    index = torch.arange(64, device=DEVICE)
    for _ in range(3):
        step(index)
    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        step(index)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("learning", ["adam", "adamw", "sgd"])
def test_a_step_can_be_captured_and_equals_the_eager_one(learning: str) -> None:
    batches = torch.randint(0, 512, (8, 64), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    eager, reference = stepper(image_job(), learning)
    step, captured = stepper(image_job(), learning)
    index = batches[0].clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(index)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(index)
    for _ in range(3):
        eager(batches[0])
    for batch in batches:
        eager(batch)
        index.copy_(batch)
        graph.replay()
    # Kernels on a GPU add in no fixed order, and Adam turns the sign of a tiny gradient into a whole step: the odd
    # weight may differ, the mean may not.
    for (name, ours), theirs in zip(captured.named_parameters(), reference.parameters(), strict=True):
        assert (ours - theirs).abs().mean() < 1e-5, name


def test_the_optimiser_is_one_launch() -> None:
    learner = Run(image_job(), Engine(device="cuda").fabric("32-true")).build("main", LEARNER)[0].to(DEVICE)
    assert type(build_optimizer(learner, TrainingConfig(), DEVICE, steps=100)).__name__ == "KernelAdam"


def test_it_learns_and_goes_on_from_its_folder(tmp_path: Path) -> None:
    job = replace(image_job(), folder=tmp_path / "run")
    learned = learn(METHODS["cross-entropy"], job, Engine(device="cuda"))
    assert learned.history.best("valid_accuracy") > 0.5
    assert next(learned.learner.parameters()).device.type == "cuda"
    again = learn(METHODS["cross-entropy"], job, Engine(device="cuda"))
    inputs = torch.from_numpy(job.inputs).to(DEVICE)
    assert torch.equal(clean_probs(learned.learner, inputs), clean_probs(again.learner, inputs))
    stopped = replace(job, folder=tmp_path / "stopped")
    with pytest.raises(KeyboardInterrupt):
        learn(
            METHODS["cross-entropy"],
            replace(stopped, evaluate=interrupt_at(tmp_path / "stopped", 2)),
            Engine(device="cuda"),
        )
    resumed = learn(METHODS["cross-entropy"], stopped, Engine(device="cuda"))
    assert len(resumed.history.rows) == 5


def interrupt_at(folder: Path, epoch: int) -> Any:
    def evaluate(learner: object) -> dict[str, float]:
        rows = folder / "main" / "metrics.csv"
        if rows.exists() and len(rows.read_text().splitlines()) - 1 == epoch:
            raise KeyboardInterrupt
        return {}

    return evaluate


def test_mixed_precision_trains() -> None:
    job = image_job()
    mixed = replace(job, config=replace(job.config, precision="bf16-mixed"))
    assert learn(METHODS["cross-entropy"], mixed, Engine(device="cuda")).history.best("valid_accuracy") > 0.5


QUICK: dict[str, dict[str, Any]] = {
    "causal-nl": {"noise_rate": 0.3},
    "co-teaching": {"noise_rate": 0.3},
    "forward": {"warm_up": 1},
    "generalized-em": {"rounds": 1},
    "mbem": {"rounds": 1},
    "mentornet": {"noise_rate": 0.3},
    "oracle-confusion": {"confusion": symmetric(10, 0.3)},
    "reweight": {"warm_up": 1},
    "t-revision": {"warm_up": 1},
}


@pytest.mark.parametrize("name", METHODS)
def test_the_step_of_every_method_is_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = []
    record = CapturedStep._record

    def told(step: CapturedStep, index: Tensor) -> None:
        recorded.append(step)
        record(step, index)

    monkeypatch.setattr(CapturedStep, "_record", told)
    job = image_job() if "classification" in METHODS[name].tasks else mask_job()
    config = replace(job.config, epochs=2, augment=("crop", "flip"))
    job = replace(job, config=config, capture=True)
    learned = learn(METHODS[name].with_options(**QUICK.get(name, {})), job, Engine(device="cuda"))
    assert recorded
    assert len(learned.history.rows) == 2


@pytest.mark.parametrize("name", METHODS)
def test_captured_and_eager_training_are_equal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loss and weights after an epoch of SGD, up to the order of sums.

    Adam would make a whole step of the sign of a tiny gradient. Full float32, for eager and recorded steps may take
    other algorithms of cuDNN, of which not all round to TF32.
    """
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setitem(fit.__globals__, "tensor_cores", nullcontext)
    job = image_job() if "classification" in METHODS[name].tasks else mask_job()
    config = replace(job.config, epochs=1, optimizer="sgd", learning_rate=1e-2, select="last", augment=("crop", "flip"))
    method = METHODS[name].with_options(**QUICK.get(name, {}))
    eager, captured = (
        learn(method, replace(job, config=config, capture=capture), Engine(device="cuda")) for capture in (False, True)
    )
    ours, theirs = captured.history.rows[-1]["train_loss"], eager.history.rows[-1]["train_loss"]
    assert ours == pytest.approx(theirs, rel=1e-4)
    weights = eager.learner.state_dict()
    for part, values in captured.learner.state_dict().items():
        torch.testing.assert_close(values, weights[part], rtol=1e-3, atol=1e-4, msg=part)
