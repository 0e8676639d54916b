from __future__ import annotations

from collections.abc import Sequence

import torch

from truelabel.annotations import Annotations
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import MLP
from truelabel.noise import NoNoise
from truelabel.training import Engine, Split, TrainingConfig, TrainingSet, fit
from truelabel.transforms import Transform
from truelabel.types import Batch


class Draw:
    """A transform of one's own: adds a random number to all inputs, and remembers it."""

    def __init__(self) -> None:
        self.numbers: list[float] = []
        self.sizes: list[int] = []

    def __call__(self, batch: Batch) -> Batch:
        number = torch.rand(())
        self.numbers.append(number.item())
        self.sizes.append(len(batch.inputs))
        return batch._replace(inputs=batch.inputs + number)


class Look:
    """Remembers the inputs that it was given."""

    def __init__(self) -> None:
        self.inputs: list[torch.Tensor] = []

    def __call__(self, batch: Batch) -> Batch:
        self.inputs.append(batch.inputs)
        return batch


class Answer:
    """Replaces every label by class 2."""

    def __call__(self, batch: Batch) -> Batch:
        return batch._replace(labels=torch.full_like(batch.labels, 2))


def train(transforms: Sequence[Transform], *, seed: int = 0, stage: str = "main", epochs: int = 2) -> Classifier:
    """Ten equal examples of classes 0 and 1 in batches of four; two are held out."""
    torch.manual_seed(0)
    data = TrainingSet(torch.zeros(10, 2), Annotations.from_labels([0, 1] * 5, classes=3))
    learner = Classifier(MLP(2, width=4), NoNoise(4, 3), CrossEntropy())
    fabric = Engine(device="cpu").fabric("32-true")
    fabric.launch()
    config = TrainingConfig(epochs=epochs, batch_size=4, learning_rate=0.1, select="last")
    split = Split(torch.arange(8), torch.arange(8, 10))
    fit([learner], data, split, config, fabric=fabric, seed=seed, stage=stage, transforms=transforms)
    return learner


def test_any_callable_is_a_transform() -> None:
    assert isinstance(Draw(), Transform)
    assert not isinstance("mixup", Transform)


def test_training_batches_are_transformed_and_no_others() -> None:
    draw = Draw()
    train([draw])
    assert draw.sizes == [4, 4, 4, 4]


def test_transforms_apply_in_order() -> None:
    draw, before, after = Draw(), Look(), Look()
    train([before, draw, after], epochs=1)
    for number, plain, moved in zip(draw.numbers, before.inputs, after.inputs, strict=True):
        assert torch.equal(plain, torch.zeros(4, 2))
        torch.testing.assert_close(moved, torch.full((4, 2), number))


def test_what_a_transform_returns_is_what_is_learned() -> None:
    learner = train([Answer()], epochs=20)
    assert learner.predict(torch.zeros(1, 2)).clean.exp()[0, 2] > 0.9


def test_random_numbers_follow_from_seed_and_stage() -> None:
    runs = [Draw() for _ in range(4)]
    for draw, (seed, stage) in zip(runs, [(0, "main"), (0, "main"), (1, "main"), (0, "other")], strict=True):
        train([draw], seed=seed, stage=stage)
    first, again, other_seed, other_stage = (draw.numbers for draw in runs)
    assert first == again
    assert len({*first, *other_seed, *other_stage}) == 12
