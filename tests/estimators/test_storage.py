"""A fitted classifier or segmenter on disk and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from torch import nn

from truelabel import Annotations, TrueLabelClassifier, TrueLabelSegmenter
from truelabel.estimators.storage import class_array, stored_kind
from truelabel.methods import get_method
from truelabel.training import RunFolderError

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
Pictures = tuple[NDArray[np.uint8], NDArray[np.int64]]
Scans = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]
Settings = dict[str, Any]
COLD = get_method("pixelwise-confusion").with_options(warm_up=0, trace=0.1)


def round_trip(classifier: TrueLabelClassifier, folder: Path, **options: Any) -> TrueLabelClassifier:
    classifier.save(folder)
    return TrueLabelClassifier.load(folder, **options)


def assert_alike(first: TrueLabelClassifier, second: TrueLabelClassifier, X: Any) -> None:
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    assert np.array_equal(first.predict(X), second.predict(X))
    for name in ("classes_", "annotators_"):
        assert getattr(first, name).dtype == getattr(second, name).dtype
    for name in ("classes_", "annotators_", "confusion_", "annotator_skill_"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    for name in ("history_", "n_iter_", "input_shape_"):
        assert getattr(first, name) == getattr(second, name)


@pytest.mark.parametrize(
    "names",
    [["low", "mid", "top"], ["ä", "", "\n,\"'"], [False, True, True], [-1, 0, 10**12], [2, 1, 0]],
    ids=["text", "odd text", "bool", "whole", "reversed"],
)
def test_classes_of_every_type_come_back(names: list[Any], blobs: Blobs, quick: Settings, tmp_path: Path) -> None:
    points, truth = blobs
    classifier = TrueLabelClassifier(**quick).fit(points, np.array(names)[truth])
    again = round_trip(classifier, tmp_path / "new" / "folder")
    assert_alike(classifier, again, points)
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == ["model.json", "model.safetensors"]


def test_a_table_comes_back_with_the_names_of_columns_and_annotators(
    blobs: Blobs, crowd: NDArray[np.int64], quick: Settings, tmp_path: Path
) -> None:
    frame = pd.DataFrame(blobs[0], columns=["east", "north"])
    said = pd.DataFrame(crowd, columns=["ann", "bob", "cid"])
    classifier = TrueLabelClassifier(**quick, standardize=False).fit(frame, said)
    again = round_trip(classifier, tmp_path)
    assert_alike(classifier, again, frame)
    assert again.feature_names_in_.tolist() == ["east", "north"]
    assert again.n_features_in_ == 2
    assert again.annotators_.tolist() == ["ann", "bob", "cid"]
    for folds in (0, 2):
        quality = classifier.label_quality(frame, said, folds=folds)
        assert np.array_equal(again.label_quality(frame, said, folds=folds), quality)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame[["north", "east"]])


def test_images_come_back(pictures: Pictures, quick: Settings, tmp_path: Path) -> None:
    classifier = TrueLabelClassifier(**(quick | {"network": "lenet-5"})).fit(*pictures)
    again = round_trip(classifier, tmp_path)
    assert_alike(classifier, again, pictures[0])
    with pytest.raises(ValueError, match="X has images of shape"):
        again.predict(pictures[0][:, :, 1:])


def test_parameters_and_options_come_back(blobs: Blobs, quick: Settings, tmp_path: Path) -> None:
    method = get_method("majority-vote").with_options(ties="lowest")
    parameters = quick | {"schedule": "step", "step_epochs": (1,), "patience": 3, "folder": tmp_path / "run"}
    classifier = TrueLabelClassifier(method, **parameters).fit(*blobs)
    again = round_trip(classifier, tmp_path / "run")
    # The folder is a place on another computer, perhaps: it is not kept.
    assert again.get_params() == classifier.get_params() | {"folder": None}
    assert np.array_equal(again.fit(*blobs).predict_proba(blobs[0]), classifier.predict_proba(blobs[0]))


def test_saving_again_replaces(blobs: Blobs, quick: Settings, tmp_path: Path) -> None:
    points, truth = blobs
    round_trip(TrueLabelClassifier(**quick).fit(points, truth), tmp_path)
    other = TrueLabelClassifier(**(quick | {"network": "mlp:4"})).fit(points, truth > 0)
    assert_alike(other, round_trip(other, tmp_path), points)


def test_a_network_of_ones_own_is_passed_again(blobs: Blobs, quick: Settings, tmp_path: Path) -> None:
    network = nn.Sequential(nn.Linear(2, 8), nn.ReLU())
    classifier = TrueLabelClassifier(**(quick | {"network": network})).fit(*blobs)
    classifier.save(tmp_path)
    with pytest.raises(RunFolderError, match="trained with a network of the user's own: pass it as network="):
        TrueLabelClassifier.load(tmp_path)
    fresh = nn.Sequential(nn.Linear(2, 8), nn.ReLU())
    assert_alike(classifier, TrueLabelClassifier.load(tmp_path, network=fresh), blobs[0])
    assert_alike(
        classifier,
        TrueLabelClassifier.load(tmp_path, network=lambda shape: nn.Sequential(nn.Linear(shape[0], 8), nn.ReLU())),
        blobs[0],
    )
    with pytest.raises(RunFolderError, match="holds weights of another network") as caught:
        TrueLabelClassifier.load(tmp_path, network=nn.Sequential(nn.Linear(2, 9), nn.ReLU()))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"format": 0}', '{"format": 5}', "\0"])
def test_a_folder_that_is_none_is_told_in_one_line(text: str, blobs: Blobs, quick: Settings, tmp_path: Path) -> None:
    TrueLabelClassifier(**quick).fit(*blobs).save(tmp_path)
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(RunFolderError, match=str(tmp_path)) as caught:
        TrueLabelClassifier.load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_weights_that_cannot_be_read_are_told_in_one_line(
    content: bytes | None, blobs: Blobs, quick: Settings, tmp_path: Path
) -> None:
    TrueLabelClassifier(**quick).fit(*blobs).save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(RunFolderError, match=r"cannot read .*model\.safetensors") as caught:
        TrueLabelClassifier.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_no_folder_and_nothing_fitted(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"holds no trained model: there is no model\.json in it"):
        TrueLabelClassifier.load(tmp_path / "none")
    with pytest.raises(ValueError, match="not fitted yet"):
        TrueLabelClassifier().save(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_what_is_written_is_plain(blobs: Blobs, quick: Settings, tmp_path: Path) -> None:
    classifier = TrueLabelClassifier(**quick).fit(blobs[0], Annotations.from_labels(blobs[1]))
    classifier.save(tmp_path)
    note = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert note["format"] == 5
    assert note["classes"] == [0, 1, 2]
    assert note["parameters"]["method"] == "cross-entropy"


def test_class_arrays_have_the_type_of_their_names() -> None:
    assert class_array(("b", "long")).dtype == np.dtype("<U4")
    assert class_array((1, 2)).dtype == np.int64
    assert class_array((False, True)).dtype == np.bool_


def the_same(first: TrueLabelSegmenter, second: TrueLabelSegmenter, images: NDArray[Any]) -> None:
    assert np.array_equal(first.predict(images), second.predict(images))
    for name in ("predict_proba", "annotator_proba", "confusion_maps"):
        assert np.array_equal(getattr(first, name)(images), getattr(second, name)(images))
    for name in ("error_maps", "uncertainty"):
        for own, other in zip(getattr(first, name)(images), getattr(second, name)(images), strict=True):
            assert np.array_equal(own, other)
    for name in ("classes_", "annotators_", "confusion_", "annotator_skill_"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
        assert getattr(first, name).dtype == getattr(second, name).dtype
    for name in ("history_", "n_iter_", "input_shape_", "method_"):
        assert getattr(first, name) == getattr(second, name)


@pytest.mark.parametrize(
    ("method", "patch"),
    [(COLD, (4, 5)), ("staple", None), ("separate-networks", None)],
    ids=["pixelwise on patches", "staple", "separate"],
)
def test_a_segmenter_comes_back(
    method: Any, patch: tuple[int, int] | None, scans: Scans, drawing: Settings, tmp_path: Path
) -> None:
    images, _, masks = scans
    segmenter = TrueLabelSegmenter(method, **drawing, patch=patch, overlap=0.25, standardize=False)
    segmenter.fit(images, masks, ["ann", "bob", "cid"]).save(tmp_path)
    again = TrueLabelSegmenter.load(tmp_path)
    the_same(segmenter, again, images[:3])
    expected = segmenter.get_params() | {"method": segmenter.method_}
    assert again.get_params() == expected
    if method == "staple":
        # The parameters are enough to learn the same again.
        assert np.array_equal(again.fit(images, masks).predict_proba(images), segmenter.predict_proba(images))


def test_a_segmenter_of_volumes_and_text_comes_back(drawing: Settings, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    volumes = rng.integers(0, 256, (4, 2, 4, 6, 5), np.uint8)
    said = Annotations.from_masks(rng.integers(0, 2, (4, 2, 4, 6, 5)), classes=["back", "front"])
    segmenter = TrueLabelSegmenter(COLD, **drawing).fit(volumes, said)
    segmenter.save(tmp_path)
    again = TrueLabelSegmenter.load(tmp_path)
    the_same(segmenter, again, volumes)
    with pytest.raises(ValueError, match=r"images have the shape \(1, 4, 6, 5\), but fit saw \(2, 4, 6, 5\)"):
        again.predict(volumes[:, :1])


def test_a_segmenter_with_a_network_of_ones_own(scans: Scans, drawing: Settings, tmp_path: Path) -> None:
    images, _, masks = scans
    settings = drawing | {"network": nn.Conv2d(1, 6, 3, padding=1), "patch": (4, 4)}
    segmenter = TrueLabelSegmenter("majority-vote", **settings).fit(images, masks)
    segmenter.save(tmp_path)
    with pytest.raises(RunFolderError, match="trained with a network of the user's own: pass it as network="):
        TrueLabelSegmenter.load(tmp_path)
    the_same(segmenter, TrueLabelSegmenter.load(tmp_path, network=nn.Conv2d(1, 6, 3, padding=1)), images)
    with pytest.raises(RunFolderError, match="holds weights of another network than Conv2d"):
        TrueLabelSegmenter.load(tmp_path, network=nn.Conv2d(1, 7, 3, padding=1))


def test_a_folder_tells_of_which_kind_it_is(
    blobs: Blobs, quick: Settings, scans: Scans, drawing: Settings, tmp_path: Path
) -> None:
    TrueLabelClassifier(**quick).fit(*blobs).save(tmp_path / "one")
    TrueLabelSegmenter("majority-vote", **drawing).fit(scans[0], scans[2]).save(tmp_path / "many")
    assert stored_kind(tmp_path / "one") == "TrueLabelClassifier"
    assert stored_kind(tmp_path / "many") == "TrueLabelSegmenter"
    with pytest.raises(
        RunFolderError, match="many holds a TrueLabelSegmenter, not a TrueLabelClassifier: load it with"
    ):
        TrueLabelClassifier.load(tmp_path / "many")
    with pytest.raises(RunFolderError, match="one holds a TrueLabelClassifier, not a TrueLabelSegmenter: load it with"):
        TrueLabelSegmenter.load(tmp_path / "one")
    with pytest.raises(RunFolderError, match="holds no trained model"):
        stored_kind(tmp_path)
    note = json.loads((tmp_path / "many" / "model.json").read_text(encoding="utf-8"))
    (tmp_path / "many" / "model.json").write_text(json.dumps({k: v for k, v in note.items() if k != "kind"}))
    with pytest.raises(RunFolderError, match="many holds a None, not a TrueLabelSegmenter"):
        TrueLabelSegmenter.load(tmp_path / "many")
