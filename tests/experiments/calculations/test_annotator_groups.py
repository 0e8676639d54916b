from pathlib import Path

import numpy as np
import pytest
import torch

from truelabel.experiments.calculations import calculate
from truelabel.experiments.calculations.annotator_groups import annotator_group
from truelabel.experiments.scene import Scene
from truelabel.experiments.setting import Setting
from truelabel.experiments.stand_ins import write_stand_in
from truelabel.training import TrainingConfig


@pytest.mark.parametrize("noise", ["flippers", "hammer-spammers"])
def test_it_is_the_group_that_a_training_has(noise: str, tmp_path: Path) -> None:
    write_stand_in("mnist", tmp_path)
    config = TrainingConfig(epochs=1)
    setting = Setting(
        data="mnist",
        method="cross-entropy",
        training=config,
        noise=noise,
        noise_options={"skill": 0.35, "labels": 1},
    )
    for seed in (0, 3):
        confusion = Scene.of(setting, seed, tmp_path, torch.device("cpu")).confusion
        group = calculate("annotator-group", seed, noise=noise, skill=0.35)
        assert confusion is not None
        assert np.allclose(group["confusion"], confusion, atol=1e-5)


def test_closed_forms_of_hammer_spammers() -> None:
    group = annotator_group(0, noise="hammer-spammers", skill=0.4, classes=5)
    skill = group["accuracy"]
    assert skill == pytest.approx(0.4, abs=0.02)
    assert group["largest_mistake"] == pytest.approx((1 - skill) / 4)
    assert group["margin"] == pytest.approx(skill - (1 - skill) / 4)
    assert group["skill_spread"] == pytest.approx(np.std(np.array(group["confusion"])[:, 0, 0], ddof=1), abs=1e-4)


def test_the_four_of_cifar10() -> None:
    group = annotator_group(0, noise="cifar10-annotators")
    assert group["accuracy"] == pytest.approx(0.45)
    assert group["largest_mistake"] == pytest.approx(0.6 * 0.1 + 0.3, abs=0.05)
    assert group["undominated"] == 0


@pytest.mark.parametrize("skill", [0.2, 0.3, 0.4, 0.5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_margin_and_classes_by_loops(skill: float, seed: int) -> None:
    group = annotator_group(seed, noise="flippers", skill=skill)
    mean = np.mean(group["confusion"], axis=0)
    margins = [mean[i, i] - max(mean[j, i] for j in range(10) if j != i) for i in range(10)]
    assert group["margin"] == pytest.approx(min(margins), abs=1e-4)
    assert group["undominated"] == sum(margin <= 0 for margin in margins)
    assert group["largest_mistake"] == pytest.approx(
        max(mean[i, j] for i in range(10) for j in range(10) if i != j), abs=1e-4
    )
