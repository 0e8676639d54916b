from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.data import MissingDataError
from truelabel.experiments.material import MATERIALS, Material, load_material
from truelabel.experiments.stand_ins import STAND_INS, write_stand_in


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A data root with the stand-in of each material that reads files."""
    places = {name: tmp_path_factory.mktemp(name) for name in STAND_INS}
    for name, place in places.items():
        write_stand_in(name, place)
    return places


def same(one: Material, other: Material) -> None:
    for a, b in ((one.train, other.train), (one.test, other.test)):
        np.testing.assert_array_equal(a.inputs, b.inputs)
        np.testing.assert_array_equal(a.labels, b.labels)
    assert (one.given is None) == (other.given is None)
    if one.given is not None and other.given is not None:
        np.testing.assert_array_equal(one.given.matrix(), other.given.matrix())


def test_every_material_that_reads_files_has_a_stand_in() -> None:
    assert set(MATERIALS) - set(STAND_INS) == {"moons", "circles"}
    assert set(STAND_INS) <= set(MATERIALS)


@pytest.mark.parametrize("name", MATERIALS)
def test_every_material_is_read_twice_alike(name: str, roots: dict[str, Path]) -> None:
    options = STAND_INS[name].options if name in STAND_INS else {}
    material = load_material(name, root=roots.get(name), **options)
    same(material, load_material(name, root=roots.get(name), **options))
    assert len(material.train) >= 3
    assert len(material.test) >= 2
    assert len(np.unique(material.train.labels)) >= 2


@pytest.mark.parametrize("name", MATERIALS)
def test_the_first_examples_are_those_of_the_whole(name: str, roots: dict[str, Path]) -> None:
    options = STAND_INS[name].options if name in STAND_INS else {}
    some = load_material(name, root=roots.get(name), train=3, test=2, **options)
    assert (len(some.train), len(some.test)) == (3, 2)
    if name in ("moons", "circles"):  # so many points are drawn anew
        return
    whole = load_material(name, root=roots[name], train=1_000_000, **options)
    np.testing.assert_array_equal(some.train.inputs, whole.train.inputs[:3])
    np.testing.assert_array_equal(some.train.labels, whole.train.labels[:3])
    np.testing.assert_array_equal(some.test.labels, whole.test.labels[:2])
    if whole.given is not None:
        assert some.given is not None
        np.testing.assert_array_equal(some.given.matrix(), whole.given.matrix()[:3])


@pytest.mark.parametrize("name", STAND_INS)
def test_missing_files_are_named_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="expected") as caught:
        load_material(name, root=tmp_path)
    assert "\n" not in str(caught.value)


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match=r"material 'imagenet' is unknown: choose from moons, circles, mnist"):
        load_material("imagenet")
    with pytest.raises(ValueError, match=r"option 'blur' of moons is unknown: it takes noise, seed"):
        load_material("moons", blur=1)
    with pytest.raises(ValueError, match=r"option 'blur' of mnist is unknown: it takes none"):
        load_material("mnist", blur=1)
    for wrong in (0, -1, 2.5):
        with pytest.raises(ValueError, match="test must be a whole number of at least 1"):
            load_material("moons", test=wrong)  # type: ignore[arg-type]
