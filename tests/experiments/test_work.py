from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from truelabel.experiments.carry_out import carry_out
from truelabel.experiments.plan import Planned
from truelabel.experiments.records import Records, claimed
from truelabel.experiments.setting import Setting
from truelabel.experiments.work import Site, work


def test_a_run_leaves_a_record_with_what_it_depends_on(
    setting: Callable[..., Setting], site: Site, tmp_path: Path
) -> None:
    planned = Planned(setting(), 3, "a run")
    here = replace(site, results=tmp_path / "r.jsonl", variation=(("scale", "small"),))
    ended = work(planned, here)
    assert ended.end == "done"
    (record,) = Records(tmp_path / "r.jsonl").read()
    assert record == ended.record
    assert (record["id"], record["seed"], record["variation"]) == (planned.id, 3, {"scale": "small"})
    assert record["setting"] == setting().to_json()
    assert {"accuracy"} == record["scores"].keys()
    assert {"accuracy", "loss"} == record["valid"].keys()
    assert record["device"].startswith("cpu, ")
    assert record["epochs"] == 2


def test_what_another_process_has_or_has_done_is_left_to_it(
    setting: Callable[..., Setting], site: Site, tmp_path: Path
) -> None:
    planned, here = Planned(setting(), 0, "a run"), replace(site, results=tmp_path / "r.jsonl")
    with claimed(site.work / "claims" / planned.id):
        assert work(planned, here).end == "elsewhere"
    assert work(planned, here).end == "done"
    assert work(planned, here).end == "elsewhere"
    assert len(Records(tmp_path / "r.jsonl").read()) == 1


def test_what_another_process_has_done_meanwhile_is_written_once(
    setting: Callable[..., Setting], site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, here = Planned(setting(), 0, "a run"), replace(site, results=tmp_path / "r.jsonl")

    def late(*given: Any, **more: Any) -> Any:
        Records(tmp_path / "r.jsonl").append([{"id": planned.id, "scores": {}}])
        return carry_out(*given, **more)

    monkeypatch.setitem(work.__globals__, "carry_out", late)
    assert work(planned, here).end == "elsewhere"
    assert Records(tmp_path / "r.jsonl").read() == [{"id": planned.id, "scores": {}}]


def test_a_run_that_was_stopped_has_no_record_but_a_checkpoint(
    setting: Callable[..., Setting], site: Site, tmp_path: Path
) -> None:
    planned, here = Planned(setting(epochs=50), 0, "a run"), replace(site, results=tmp_path / "r.jsonl")
    assert work(planned, here, seconds=0.0).end == "stopped"
    assert not (tmp_path / "r.jsonl").exists()
    assert (site.work / planned.id / "main" / "last.safetensors").exists()


def test_without_a_file_whoever_asked_gets_the_record(setting: Callable[..., Setting], site: Site) -> None:
    ended = work(Planned(setting(network_typo=1.0), 0, "a run"), site)
    assert ended.end == "failed"
    assert ended.record is not None
    assert "cross-entropy has no option 'network_typo'" in ended.record["error"]
