from __future__ import annotations

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from truelabel import Annotations
from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.networks import UNet
from truelabel.networks.network import Adapted
from truelabel.noise import NoNoise
from truelabel.training import TrainingSet, scoring
from truelabel.training.windows import windows
from truelabel.types import Batch, Categorical, Prediction, Step


class Oracle(Learner):
    """Predicts the first input and charges the second."""

    def forward(self, batch: Batch) -> Step:
        assert not self.training
        return Step(batch.inputs[:, 1], torch.zeros(()), batch.inputs[:, 0].long(), batch.inputs[:, 1])

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        return Prediction(inputs, Categorical(inputs), torch.zeros(()))


def test_scores_count_labels_and_average_examples(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "CHUNK", 2)
    annotations = Annotations.from_matrix([[0, 1, -1], [2, -1, -1], [1, 1, 1], [0, 0, 2]])
    data = TrainingSet(torch.tensor([[0.0, 1.0], [0.0, 2.0], [1.0, 3.0], [2.0, 6.0]]), annotations)
    scores = scoring.noisy_scores(fabric, Oracle(), data, torch.tensor([0, 2, 3]))
    assert scores == {"valid_loss": pytest.approx(10 / 3), "valid_accuracy": pytest.approx((1 + 3 + 1) / 8)}


def read(space: tuple[int, ...], *, soft: bool = False) -> TrainingSet:
    """Six images of three classes by up to two readers, who left out some pixels and some images."""
    rng = np.random.default_rng(0)
    masks = rng.integers(-1, 3, (6, 2, *space))
    masks[4, 0], masks[1:3, 1] = -1, -1
    annotations = Annotations.from_masks(masks, classes=3)
    targets = torch.rand(annotations.size, *space, 3).softmax(-1) if soft else None
    return TrainingSet(torch.randn(6, 2, *space), annotations, soft=targets)


def without_context(dims: int) -> Classifier:
    """A learner that sees one pixel at a time."""
    convolution = (nn.Conv2d if dims == 2 else nn.Conv3d)(2, 5, 1)
    return Classifier(Adapted(convolution, 5), NoNoise(5, 3), CrossEntropy())


@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize(
    ("space", "patch"), [((8, 6), (4, 3)), ((8, 6), (2, 6)), ((4, 6, 2), (2, 3, 2)), ((8, 6), (9, 9))], ids=str
)
def test_windows_that_tile_an_image_score_as_the_whole(
    space: tuple[int, ...], patch: tuple[int, ...], soft: bool, fabric: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK", 2)
    data, learner, index = read(space, soft=soft), without_context(len(space)), torch.tensor([0, 1, 3, 4])
    whole = scoring.noisy_scores(fabric, learner, data, index)
    parts = scoring.noisy_scores(fabric, learner, data, index, patch)
    assert parts == {name: pytest.approx(value, rel=1e-5) for name, value in whole.items()}


def test_windows_are_scored_like_images_of_their_own(fabric: Fabric) -> None:
    data, patch = read((7, 9)), (4, 5)
    network = UNet(2, width=4, depth=2)
    learner = Classifier(network, NoNoise(4, 3), CrossEntropy())
    losses, right, given = [], 0.0, 0
    masks = data.annotations.matrix()
    for rows, columns in windows((7, 9), patch):
        cut = Annotations.from_masks(masks[:, :, rows, columns], classes=3)
        part = TrainingSet(data.inputs[:, :, rows, columns], cut)
        alone = scoring.noisy_scores(fabric, learner, part, torch.arange(6))
        labels = int((cut.label >= 0).sum())
        losses.append(alone["valid_loss"])
        right, given = right + labels * alone["valid_accuracy"], given + labels
    assert len(losses) == 4
    scores = scoring.noisy_scores(fabric, learner, data, torch.arange(6), patch)
    assert scores == {
        "valid_loss": pytest.approx(np.mean(losses), rel=1e-5),
        "valid_accuracy": pytest.approx(right / given, rel=1e-5),
    }
