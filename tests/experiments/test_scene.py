from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from truelabel.corruption import InstanceDependent
from truelabel.experiments.carry_out import carry_out
from truelabel.experiments.scene import Scene
from truelabel.experiments.setting import Setting
from truelabel.experiments.stand_ins import write_stand_in
from truelabel.training import Engine

CPU = torch.device("cpu")
MakeSetting = Callable[..., Setting]


def scene_of(setting: Setting, seed: int = 0, root: Path | None = None) -> Scene:
    return Scene.of(setting, seed, root, CPU)


def by_instance(setting: MakeSetting, rate: float = 0.3) -> Setting:
    return replace(setting(), noise="by-instance", noise_options={"rate": rate}, train=400)


@pytest.mark.parametrize(
    ("noise", "options"),
    [("symmetric", {"rate": 0.4}), ("by-instance", {"rate": 0.4}), ("flippers", {"skill": 0.7})],
)
def test_the_noise_follows_from_the_seed(setting: MakeSetting, noise: str, options: dict[str, Any]) -> None:
    chosen = replace(setting(), noise=noise, noise_options=options, train=200)
    one, again, other = scene_of(chosen), scene_of(chosen), scene_of(chosen, seed=1)
    np.testing.assert_array_equal(one.said.label, again.said.label)
    assert one.confusion is not None
    assert again.confusion is not None
    torch.testing.assert_close(one.confusion, again.confusion, rtol=0, atol=0)
    assert (one.said.label != other.said.label).any()
    # A seed is one of noise, not of the data.
    np.testing.assert_array_equal(one.train.inputs, other.train.inputs)


def test_the_noise_does_not_depend_on_who_learns_from_it(setting: MakeSetting) -> None:
    other = replace(setting(), method="mixup", options={"alpha": 2.0}, network="mlp:3", measures=("training-accuracy",))
    np.testing.assert_array_equal(scene_of(setting()).said.label, scene_of(other).said.label)


def test_without_noise_all_say_the_truth(setting: MakeSetting) -> None:
    scene = scene_of(replace(setting(), noise="none", noise_options={}))
    np.testing.assert_array_equal(scene.said.label, scene.train.labels[scene.said.example])


def test_so_many_labels_are_wrong_as_the_rate_says(setting: MakeSetting) -> None:
    scene = scene_of(replace(by_instance(setting), train=4000))
    wrong = (scene.said.label != scene.train.labels).mean()
    # Four deviations of a binomial share.
    assert abs(wrong - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 4000)


def test_as_many_examples_as_asked_for(setting: MakeSetting) -> None:
    scene = scene_of(replace(setting(), train=30, test=20))
    assert (len(scene.train), len(scene.test), len(scene.test_inputs), len(scene.test_labels)) == (30, 20, 20, 20)
    np.testing.assert_array_equal(scene.test_labels.numpy(), scene.test.labels)


def test_what_people_said_is_taken_as_given(setting: MakeSetting, tmp_path: Path) -> None:
    write_stand_in("cifar10n", tmp_path)
    human = replace(setting(), data="cifar10n", noise="given", noise_options={}, data_options={"which": "worst"})
    scene, other = scene_of(human, root=tmp_path), scene_of(human, seed=1, root=tmp_path)
    assert scene.confusion is None
    np.testing.assert_array_equal(scene.said.label, other.said.label)
    with pytest.raises(ValueError, match="the noise is real"):
        _ = scene.said_of_test
    with pytest.raises(ValueError, match="not known for real annotators"):
        scene.resolved({"confusion": "truth"})


def test_nobody_spoke_of_the_moons(setting: MakeSetting) -> None:
    with pytest.raises(ValueError, match="nobody's labels are known for moons"):
        scene_of(replace(setting(), noise="given", noise_options={}))


def test_the_truth_is_filled_in_for_the_word(setting: MakeSetting) -> None:
    scene = scene_of(setting(rate=0.2))
    resolved = scene.resolved({"confusion": "truth", "scale": 2.0, "base": "cross-entropy"})
    torch.testing.assert_close(resolved.pop("confusion"), torch.tensor([[[0.9, 0.1], [0.1, 0.9]]]).double())
    assert resolved == {"scale": 2.0, "base": "cross-entropy"}


def test_classes_that_a_few_examples_lack_still_count(setting: MakeSetting, tmp_path: Path) -> None:
    write_stand_in("mnist", tmp_path)
    scene = scene_of(replace(setting(), data="mnist", noise="none", noise_options={}, train=3), root=tmp_path)
    assert len(scene.said.classes) == 10


def test_the_same_annotators_label_the_test_examples_by_a_generator_of_their_own(setting: MakeSetting) -> None:
    chosen = replace(setting(rate=1.0), test=2000)
    scene = scene_of(chosen)
    before = scene.said.label.copy()
    said = scene.said_of_test
    assert len(said.examples) == 2000
    # A label redrawn from both classes is wrong half of the time.
    assert abs((said.label != scene.test.labels).mean() - 0.5) < 0.05
    np.testing.assert_array_equal(scene.said.label, before)
    np.testing.assert_array_equal(said.label, scene_of(chosen).said_of_test.label)


def test_labels_of_test_examples_leave_what_is_known_of_training_ones(setting: MakeSetting) -> None:
    scene = scene_of(by_instance(setting))
    noise = scene.corruption
    assert isinstance(noise, InstanceDependent)
    confusion, transition = noise.confusion.clone(), noise.transition.clone()
    assert len(scene.said_of_test.examples) == len(scene.test)
    torch.testing.assert_close(scene.confusion, confusion, rtol=0, atol=0)
    torch.testing.assert_close(noise.transition, transition, rtol=0, atol=0)


def test_masks_of_test_examples_leave_the_confusion_of_training_ones(setting: MakeSetting, tmp_path: Path) -> None:
    """A group of readers counts its confusion anew in every call."""
    write_stand_in("mnist-segmentation", tmp_path)
    drawn = replace(setting(), data="mnist-segmentation", noise="digit-readers", noise_options={}, train=6, test=4)
    scene = scene_of(drawn, root=tmp_path)
    assert scene.confusion is not None
    before = scene.confusion.clone()
    said = scene.said_of_test
    assert (len(said.examples), said.space) == (4, scene.test.labels.shape[1:])
    torch.testing.assert_close(scene.confusion, before, rtol=0, atol=0)


def test_the_data_is_read_once_while_runs_want_the_same(setting: MakeSetting, tmp_path: Path) -> None:
    write_stand_in("mnist", tmp_path)
    digits = replace(setting(), data="mnist", train=30)
    first = scene_of(digits, root=tmp_path)
    before = first.train.inputs.copy()
    assert scene_of(replace(digits, method="mixup"), seed=1, root=tmp_path).train is first.train
    carry_out(digits, 0, engine=Engine(device="cpu"), root=tmp_path)
    np.testing.assert_array_equal(scene_of(digits, root=tmp_path).train.inputs, before)
    fewer = scene_of(replace(digits, train=20), root=tmp_path)
    assert len(fewer.train) == 20
    assert scene_of(digits, root=tmp_path).train is not first.train, "only the last one is kept"
    other = tmp_path / "other"
    write_stand_in("mnist", other)
    assert scene_of(digits, root=other).train is not scene_of(digits, root=tmp_path).train
