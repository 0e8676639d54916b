from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import Blank, EdgeAdded, Faithful, MaskReaders, Reader
from truelabel.data import Dataset, discs, spheres
from truelabel.estimators import TrueLabelSegmenter
from truelabel.learners import Classifier, Learner
from truelabel.methods import Learned, Method, get_method, learn
from truelabel.methods.pixelwise_confusion import PixelwiseConfusion
from truelabel.metrics import confusion_rmse, dice, reader_confusion
from truelabel.networks import Trunk, UNet
from truelabel.noise import InstanceConfusion
from truelabel.noise.pixel_cells import FullPixelCells, LowRankPixelCells
from truelabel.training import Blueprint, Engine, Fitted, Job, Run, TrainingConfig, clean_probs
from truelabel.training.files import read_tensors

Score = Callable[[Method], tuple[float, float]]

CPU = Engine(device="cpu")
CONFIG = TrainingConfig(epochs=12, batch_size=8, learning_rate=0.01, validation=0.1)
LONG = replace(CONFIG, epochs=30, schedule="cosine", validation=0.0, select="last")
OURS = get_method("pixelwise-confusion").with_options(warm_up=15)
LOW = get_method("pixelwise-confusion-low-rank").with_options(warm_up=15)
PLAN = Blueprint("unet:4", (1, 16, 16), classes=3, annotators=5)
THREE: dict[str, Reader] = {"exact": Faithful(), "wide": EdgeAdded(1), "other": Faithful()}


def study(count: int = 40) -> tuple[Job, np.ndarray, torch.Tensor]:
    """Discs by two readers who are right, one who draws a pixel too far and one who draws nothing; their confusion."""
    data = discs(count, (16, 16), most=1)
    readers = MaskReaders({"right": Faithful(), "again": Faithful(), "wide": EdgeAdded(1), "blank": Blank()})
    said = readers(torch.from_numpy(data.labels).long(), None, torch.Generator().manual_seed(0))
    return Job(data.inputs, said, "unet:8", CONFIG), data.labels, readers.confusion


def score(job: Job, truth: np.ndarray, method: str, **options: object) -> float:
    learned = learn(get_method(method).with_options(**options), job, CPU)
    found = clean_probs(learned.learner, torch.from_numpy(job.inputs)).argmax(-1).numpy()
    return float(dice(found, truth, classes=2).mean())


def test_it_finds_the_truth_and_the_readers() -> None:
    job, truth, confusion = study()
    learned = learn(get_method("pixelwise-confusion"), job, CPU)
    found = clean_probs(learned.learner, torch.from_numpy(job.inputs)).argmax(-1).numpy()
    assert dice(found, truth, classes=2).mean() > 0.8
    assert learned.confusion is not None
    torch.testing.assert_close(learned.confusion, confusion, atol=0.25, rtol=0)
    assert learned.confusion[3, 1, 0] > 0.9, "the blank reader draws no disc"
    assert learned.confusion[2, 0, 1] > learned.confusion[0, 0, 1] + 0.02, "the wide reader draws background"


def test_the_warm_up_is_a_stage_that_keeps_matrices_at_the_identity(tmp_path: Path) -> None:
    job, _, _ = study(16)
    job = replace(job, folder=tmp_path / "run", config=replace(CONFIG, epochs=2))
    learn(get_method("pixelwise-confusion").with_options(warm_up=100), job, CPU)
    assert (tmp_path / "run" / "1-warm-up" / "finished.json").exists()
    rows = (tmp_path / "run" / "1-warm-up" / "metrics.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2, "never longer than the training"
    learn(get_method("pixelwise-confusion").with_options(warm_up=0), replace(job, folder=tmp_path / "none"), CPU)
    assert not (tmp_path / "none" / "1-warm-up").exists()


def test_volumes_with_a_reader_who_draws_too_much() -> None:
    data = spheres(20, (10, 10, 10), most=1)
    readers = MaskReaders({"right": Faithful(), "again": Faithful(), "wide": EdgeAdded(1)})
    said = readers(torch.from_numpy(data.labels).long(), None, torch.Generator().manual_seed(0))
    job = Job(data.inputs, said, "unet:4", replace(CONFIG, epochs=8, batch_size=4))
    alone = replace(job, annotations=Annotations.from_masks(said.matrix()[:, 2:], classes=2))
    ours = score(job, data.labels, "pixelwise-confusion")
    assert ours > score(alone, data.labels, "cross-entropy") + 0.1
    assert ours > 0.7


@pytest.mark.parametrize(
    "options", [{"trace": -1}, {"warm_up": 0.5}, {"encoder": "none"}, {"blocks": -1}, {"start": 1.0}]
)
def test_options_that_make_no_sense(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        get_method("pixelwise-confusion").with_options(**options)


def test_low_rank_has_fewer_numbers_and_as_many_classes() -> None:
    method = get_method("pixelwise-confusion-low-rank").with_options(rank=1, warm_up=0)
    job, _, _ = study(16)
    learned = learn(method, replace(job, config=replace(CONFIG, epochs=1)), CPU)
    noise = learned.learner.get_submodule("noise")
    assert noise.bias.shape == (4, 2 * (1 + 2 * 1))
    with pytest.raises(ValueError, match="rank must be a whole number"):
        method.with_options(rank=0)


def small(shape: tuple[int, ...]) -> UNet:
    """A U-Net of two levels, for pictures or volumes."""
    return UNet(shape[0], width=8 if len(shape) == 3 else 4, depth=2, dims=len(shape) - 1)


def drawn(data: Dataset, images: int, skipped: NDArray[np.intp]) -> NDArray[np.int64]:
    """Masks of three readers; the second adds an edge, and the last two draw nothing at all in what they skip."""
    truth = torch.from_numpy(data.labels[:images]).long()
    masks = MaskReaders(THREE)(truth, None, torch.Generator().manual_seed(1)).matrix()
    masks[skipped, 1:] = 0
    return masks


def measured(method: Method, data: Dataset, said: Annotations, truth: object, epochs: int) -> tuple[float, float]:
    """Dice on pictures that were not learned from, and how far the confusion found is from the true one."""
    n = len(said.examples)
    learned = learn(method, Job(data.inputs[:n], said, small, replace(LONG, epochs=epochs), seed=1), CPU)
    answer = clean_probs(learned.learner, torch.from_numpy(data.inputs[n:])).argmax(-1)
    found = learned.learner.annotator_confusion() if learned.confusion is None else learned.confusion
    assert found is not None
    return float(dice(answer, data.labels[n:]).mean()), confusion_rmse(found.detach(), truth)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def dense() -> Score:
    """24 pictures that three readers drew, two of whom skipped the same 60 %: one reader is always there."""
    data = discs(40, (16, 16), most=1, seed=1)
    masks = drawn(data, 24, np.random.default_rng(1).permutation(24)[:15])
    truth = reader_confusion(masks, data.labels[:24], classes=2)
    said = Annotations.from_masks(masks, classes=2)
    return cache(lambda method: measured(method, data, said, truth, 30))


@pytest.fixture(scope="module")
def alone() -> Score:
    """72 pictures that one of six readers drew: two exactly, one with an edge of two pixels, three not at all."""
    data = discs(88, (16, 16), most=1, seed=0)
    blank: dict[str, Reader] = {f"blank {i}": Blank() for i in range(3)}
    group: dict[str, Reader] = {"exact": Faithful(), "other": Faithful(), "wide": EdgeAdded(2), **blank}
    readers = MaskReaders(group, labels_per_example=1)
    said = readers(torch.from_numpy(data.labels[:72]).long(), None, torch.Generator().manual_seed(0))
    return cache(lambda method: measured(method, data, said, readers.confusion, 15))


@pytest.mark.long
def test_it_beats_what_is_fused_image_by_image(dense: Score) -> None:
    ours, error = dense(OURS)
    assert ours > 0.9
    for name, margin in (("majority-vote", 0.5), ("staple", 0.5), ("mean-label", 0.08)):
        assert ours > dense(get_method(name))[0] + margin, name
    assert error < 0.06


@pytest.mark.long
def test_one_reader_an_image_is_enough(alone: Score) -> None:
    ours, error = alone(OURS)
    assert ours > 0.85
    assert error < 0.06
    # With one mask an image there is nothing to fuse: votes, means and STAPLE all give it back.
    assert ours > alone(get_method("majority-vote"))[0] + 0.3


def test_low_rank_learns_too(dense: Score) -> None:
    ours, error = dense(LOW)
    assert ours > dense(get_method("staple"))[0] + 0.5
    assert error < 0.1


def test_matrices_that_are_everywhere_the_same_learn_less(dense: Score) -> None:
    overall, error = dense(get_method("annotator-confusion"))
    assert overall > dense(get_method("staple"))[0] + 0.4
    assert overall < dense(OURS)[0]
    assert error < 0.1


@pytest.mark.long
def test_volumes_through_the_estimator() -> None:
    data = spheres(16, (10, 10, 10), most=1, noise=0.1)
    masks = drawn(data, 16, np.arange(0))
    segmenter = TrueLabelSegmenter(
        "pixelwise-confusion",
        small,
        epochs=15,
        batch_size=2,
        learning_rate=0.01,
        schedule="cosine",
        validation=0.0,
        select="last",
        device="cpu",
        random_state=0,
    ).fit(data.inputs, masks, list(THREE))
    score = segmenter.score(data.inputs, data.labels)
    assert score > 0.8
    assert score > dice(masks[:, 1], data.labels).mean() + 0.2
    over = np.asarray(segmenter.error_maps(data.inputs).over)
    assert over.shape == (16, 3, 10, 10, 10)
    assert over[:, 1].mean() > 4 * max(over[:, 0].mean(), over[:, 2].mean())
    beyond = (masks[:, 1] == 1) & (data.labels == 0)
    assert over[:, 1][beyond].mean() > 10 * over[:, 1][~beyond].mean(), "where the reader does go beyond the edge"
    assert segmenter.confusion_[1, 0, 1] > 4 * segmenter.confusion_[[0, 2], 0, 1].max()


class Watched(Run):
    """Remembers what every stage was given and what it made of it."""

    def __init__(self, job: Job) -> None:
        super().__init__(job, CPU.fabric("32-true"))
        self.stages: dict[str, tuple[dict[str, Tensor], Fitted, TrainingConfig]] = {}

    def fit(self, stage: str, peers: Any, **options: Any) -> Fitted:
        before = {name: value.clone() for name, value in peers[0].state_dict().items()}
        fitted = super().fit(stage, peers, **options)
        self.stages[stage] = before, fitted, options.get("config") or self.job.config
        return fitted


def watched(method: Method) -> tuple[Watched, Learned]:
    data = discs(24, (16, 16), most=1, seed=1)
    said = Annotations.from_masks(drawn(data, 24, np.arange(12)))
    run = Watched(Job(data.inputs, said, small, replace(LONG, epochs=10, noise_learning_rate=0.1)))
    return run, method.learn(run)


def diagonals(learner: Learner, inputs: Tensor) -> Tensor:
    with torch.no_grad():
        matrices = learner.eval().matrices_at(inputs, torch.arange(3).expand(len(inputs), -1))
    assert matrices is not None
    return matrices.diagonal(dim1=-2, dim2=-1)


def test_the_warm_up_drives_matrices_to_the_identity() -> None:
    run, learned = watched(OURS.with_options(start=0.7, trace=0.1))
    assert list(run.stages) == ["1-warm-up", "main"]
    start, warm, config = run.stages["1-warm-up"]
    # 15 steps of three batches an epoch.
    assert (config.epochs, config.schedule, config.select) == (5, "constant", "last")
    fresh = OURS.learner(run.plan)
    fresh.load_state_dict(start)
    assert diagonals(fresh, run.inputs).mean() == pytest.approx(0.7, abs=0.02)
    assert diagonals(warm.peers[0], run.inputs).mean() > 0.97
    # The training goes on from there, and lets them go.
    before, *_ = run.stages["main"]
    for name, value in warm.peers[0].state_dict().items():
        assert torch.equal(before[name], value), name
    assert diagonals(learned.learner, run.inputs).mean() < 0.9


def test_a_larger_weight_makes_traces_smaller() -> None:
    weak, strong = (
        diagonals(learned.learner, run.inputs).mean()
        for run, learned in map(watched, (OURS.with_options(trace=0.0), OURS.with_options(trace=0.5)))
    )
    assert strong < weak - 0.1


def test_the_confusion_is_the_mean_of_matrices_and_kept(tmp_path: Path) -> None:
    data = discs(8, (16, 16), most=1)
    said = Annotations.from_masks(drawn(data, 8, np.arange(4)))
    learned = learn(OURS, Job(data.inputs, said, small, replace(LONG, epochs=2), folder=tmp_path), CPU)
    kept = read_tensors(tmp_path / "confusion.safetensors")[0]["confusion"]
    assert learned.confusion is not None
    assert torch.equal(kept, learned.confusion)
    inputs = torch.from_numpy(data.inputs)
    probs = clean_probs(learned.learner, inputs).double()
    with torch.no_grad():
        matrices = learned.learner.matrices_at(inputs, torch.arange(3).expand(8, -1))
    assert matrices is not None
    joint = (probs[..., None, :, None] * matrices).sum((0, 1, 2))
    torch.testing.assert_close(kept, joint / joint.sum(-1, keepdim=True), rtol=1e-5, atol=1e-6)


def noise_of(method: Method, plan: Blueprint = PLAN) -> InstanceConfusion:
    learner = method.learner(plan)
    assert isinstance(learner, Classifier)
    assert isinstance(learner.noise, InstanceConfusion)
    return learner.noise


def test_the_options_are_those_of_the_noise_model() -> None:
    plain = noise_of(OURS.with_options(trace=0.3, blocks=0, start=0.8))
    assert (plain.trace, plain.trunk, plain.encoder) == (0.3, None, None)
    assert isinstance(plain.pixels, FullPixelCells)
    assert plain.weight.shape == (5, 9, 4)
    features = torch.zeros(1, 4)
    own = plain.matrices_at(features, features, torch.zeros(1, 1, dtype=torch.long)).diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(own, torch.full_like(own, 0.8))
    low = noise_of(LOW.with_options(rank=2))
    assert isinstance(low.pixels, LowRankPixelCells)
    assert low.weight.shape == (5, 3 * (1 + 2 * 2), 4)
    assert isinstance(noise_of(LOW.with_options(rank=3)).pixels, FullPixelCells)


@pytest.mark.parametrize("shape", [(1, 16, 16), (2, 8, 9, 16)], ids=str)
def test_a_trunk_and_an_encoder_fit_the_images(shape: tuple[int, ...]) -> None:
    learner = OURS.with_options(blocks=2, encoder="separate").learner(replace(PLAN, shape=shape))
    assert isinstance(learner, Classifier)
    noise = learner.noise
    assert isinstance(noise, InstanceConfusion)
    assert isinstance(noise.trunk, Trunk)
    assert (len(noise.trunk.blocks), noise.trunk.dims) == (2, len(shape) - 1)
    assert isinstance(noise.encoder, UNet)
    ours, theirs = (list(network.parameters()) for network in (noise.encoder, learner.network))
    assert not {id(p) for p in ours} & {id(p) for p in theirs}
    assert not torch.equal(ours[0], theirs[0]), "they start differently"


def test_describing_a_method_draws_no_random_number() -> None:
    before = torch.get_rng_state()
    PixelwiseConfusion()
    assert torch.equal(torch.get_rng_state(), before)
