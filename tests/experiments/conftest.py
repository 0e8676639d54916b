"""A tiny paper: tables that run in a blink."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Cell, Table, printed
from truelabel.experiments.work import Site
from truelabel.training import TrainingConfig

MakeTable = Callable[..., Table]


def moons(method: str = "cross-entropy", rate: float = 0.2, epochs: int = 2, **options: float) -> Setting:
    return Setting(
        data="moons",
        noise="symmetric",
        noise_options={"rate": rate},
        method=method,
        options=options,
        network="mlp:8",
        training=TrainingConfig(epochs=epochs, batch_size=16, validation=0.25, select="last"),
        train=40,
        test=40,
    )


@pytest.fixture
def setting() -> Callable[..., Setting]:
    return moons


@pytest.fixture
def table() -> Table:
    """Two methods under two rates of noise, of which one method is searched."""
    cells = [Cell("CE", f"{rate:g}", moons(rate=rate)) for rate in (0.0, 0.2)]
    cells += [
        Cell("GCE", f"{rate:g}", moons("generalized-cross-entropy", rate), {"q": (0.1, 0.5, 0.9)})
        for rate in (0.0, 0.2)
    ]
    numbers = printed("CE | 90.0±1.0 | 80.0\nGCE | n/a | 85.0±2.0", ("0", "0.2"))
    return Table(name="table-1", title="a tiny table", cells=tuple(cells), seeds=3, published=numbers, test="welch")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(None, tmp_path / "work", device="cpu", save_every=0.0)
