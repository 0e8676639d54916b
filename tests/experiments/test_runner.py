from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from truelabel.experiments import reached
from truelabel.experiments.catalogue import PAPERS
from truelabel.experiments.plan import Shard, due
from truelabel.experiments.records import Records, claimed, fcntl
from truelabel.experiments.runner import Progress, UnderWay, _not_there, reproduce, site_for
from truelabel.experiments.scale import Variation, varied_table
from truelabel.experiments.setting import Setting
from truelabel.experiments.stand_ins import STAND_INS, write_stand_in
from truelabel.experiments.summary import summarise
from truelabel.experiments.table import Cell, Table
from truelabel.experiments.work import Site


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path / "results" / "tiny.jsonl")


def test_searches_come_first_then_all_seeds_and_a_second_call_does_nothing(
    table: Table, records: Records, site: Site
) -> None:
    seen: list[Progress] = []
    report = reproduce([table], records, site, listen=seen.append)
    # Two places of three seeds; two searches of three values with the first seed, and two seeds more of the best.
    assert report.done == 2 * 3 + 2 * (3 + 2) == len(records.read())
    assert (report.failed, report.left, report.missing) == (0, 0, {})
    assert [progress.done for progress in seen] == list(range(1, 17))
    assert seen[-1].total == 16
    assert all(progress.seconds_left is not None for progress in seen)
    entries = summarise(table, records.finished())
    assert all(entry.seeds == 3 for entry in entries.values())
    again = reproduce([table], records, site)
    assert again.done == 0
    assert len(records.read()) == 16


def test_a_search_takes_the_value_that_noisy_validation_labels_prefer(
    table: Table, records: Records, site: Site
) -> None:
    reproduce([table], records, site)
    finished = list(records.finished().values())
    searched = [r for r in finished if r["setting"]["method"] != "cross-entropy"]
    for rate in (0.0, 0.2):
        first = [r for r in searched if r["seed"] == 0 and r["setting"]["noise_options"]["rate"] == rate]
        later = {
            r["setting"]["options"]["q"]
            for r in searched
            if r["seed"] > 0 and r["setting"]["noise_options"]["rate"] == rate
        }
        best = max(r["valid"]["accuracy"] for r in first)
        assert later == {next(r["setting"]["options"]["q"] for r in first if r["valid"]["accuracy"] == best)}


def test_a_run_that_fails_is_written_down_and_stops_nothing(table: Table, records: Records, site: Site) -> None:
    good = table.cells[0]
    assert isinstance(good.setting, Setting)
    bad = Cell("broken", good.column, replace(good.setting, network="no-such-network"))
    broken = replace(table, cells=(bad, good), published={}, seeds=1)
    report = reproduce([broken], records, site)
    assert (report.done, report.failed, report.left) == (1, 1, 1)
    (failed,) = records.failed().values()
    assert "unknown network 'no-such-network'" in failed["error"]
    assert "in carry_out" in failed["traceback"]
    # It is tried again by the next call, once.
    again = reproduce([broken], records, site)
    assert (again.done, again.failed) == (0, 1)


def test_the_clock_stops_inside_a_run_which_then_goes_on_and_ends_alike(
    setting: Callable[..., Setting], tmp_path: Path, records: Records, site: Site
) -> None:
    long = Table(name="t", title="", cells=(Cell("CE", "0.2", setting(epochs=60)),))
    told: list[Progress] = []
    whole = Records(tmp_path / "whole.jsonl")
    reproduce([long], whole, replace(site, work=tmp_path / "other"))
    calls = 0
    while not records.finished():
        report = reproduce([long], records, site, minutes=0.05 / 60, listen=told.append)
        calls += 1
        assert calls < 400
        assert report.done + report.stopped <= 1  # none, if the clock is over before the run is begun
    assert calls > 1
    (ours,), (theirs,) = records.finished().values(), whole.finished().values()
    assert (ours["scores"], ours["valid"]) == (theirs["scores"], theirs["valid"])
    assert ours["epochs"] == 60
    assert {progress.seconds_left for progress in told if progress.ended.end == "stopped"} == {None}
    # All of its parts, each of which had at least the time that it was given.
    assert ours["seconds"] >= 0.05 * sum(progress.ended.end == "stopped" for progress in told)
    assert not (site.work / ours["id"]).exists(), "checkpoints of a finished run are removed"


def test_what_is_under_way_is_told_and_how_long_it_will_be(
    setting: Callable[..., Setting], records: Records, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reached, "TELL_EVERY", 0.0)
    cells = tuple(Cell("CE", f"{rate}", setting(rate=rate, epochs=3)) for rate in (0.1, 0.2))
    told: list[UnderWay] = []
    reproduce([Table(name="t", title="", cells=cells)], records, site, watch=told.append)
    assert [(each.done, each.total) for each in told] == [(0, 2)] * 3 + [(1, 2)] * 3
    ((run, where),) = told[3].reached
    assert (run.label, str(where)) == ("t, CE, 0.2, seed 0", "epoch 1 of 3")
    assert all(each.seconds_left is not None for each in told)
    assert told[0].seconds_left > told[-1].seconds_left  # type: ignore[operator]  # neither is None


def test_what_cannot_be_written_is_found_out_before_anything_is_run(table: Table, tmp_path: Path, site: Site) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"^records cannot be written to .*r.jsonl and locked \(.*\): choose"):
        reproduce([table], Records(tmp_path / "file" / "r.jsonl"), site, listen=lambda progress: pytest.fail("it ran"))


@pytest.mark.parametrize(("what", "message"), [("claims", "^checkpoints cannot be"), ("results", "^records cannot be")])
def test_a_file_system_without_locks_is_found_out_before_anything_is_run(
    what: str, message: str, table: Table, records: Records, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock

    def refuse(file: Any, operation: int) -> None:
        if what in Path(file.name).parts:
            raise OSError(errno.ENOLCK, "No locks available")
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(ValueError, match=message + r".* \(No locks available\): choose another folder with"):
        reproduce([table], records, site, listen=lambda progress: pytest.fail("it ran"))


def test_how_long_it_takes_is_told_before_the_first_run_by_earlier_records(
    table: Table, records: Records, site: Site
) -> None:
    told: list[tuple[int, float | None]] = []
    for seeds in (1, 2, 2):
        reproduce([table], records, site, seeds=seeds, begin=lambda runs, seconds: told.append((runs, seconds)))
    (first, nothing), (second, seconds) = told
    assert (first, second) == (8, 4)
    assert nothing is None
    assert seconds is not None
    assert 0 < seconds < sum(record["seconds"] for record in records.read())
    reproduce([table], records, replace(site, device="auto"), seeds=3, begin=lambda *given: told.append(given))
    assert (told[-1][1] is None) == torch.cuda.is_available()


USED = {
    run.setting.data: run.setting
    for paper in PAPERS.values()
    for run in due([(table, 1) for table in paper.tables], {})
    if isinstance(run.setting, Setting) and run.setting.data in STAND_INS
}


@pytest.mark.parametrize("data", USED)
def test_data_that_is_there_is_seen_to_be_there(data: str, site: Site, tmp_path: Path) -> None:
    options = {**USED[data].data_options, **STAND_INS[data].options}
    here = replace(site, root=tmp_path)
    assert "expected" in str(_not_there(USED[data], here, stand_in=False))
    write_stand_in(data, tmp_path)
    assert _not_there(replace(USED[data], data_options=options), here, stand_in=False) is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_told_once(table: Table, records: Records, site: Site) -> None:
    with pytest.raises(ValueError, match="device 'cuda' is not to be had here"):
        reproduce([table], records, replace(site, device="cuda"))
    assert not records.read()


def test_data_that_cannot_be_read_stops_nothing_else(
    table: Table, records: Records, site: Site, tmp_path: Path
) -> None:
    there = table.cells[0]
    assert isinstance(there.setting, Setting)
    folder = tmp_path / "data" / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for part in ("train", "t10k"):
        for what in ("images-idx3", "labels-idx1"):
            (folder / f"{part}-{what}-ubyte").write_bytes(b"cut")
    damaged = Cell("damaged", there.column, replace(there.setting, data="mnist"))
    half = replace(table, cells=(damaged, there), published={}, seeds=1)
    report = reproduce([half], records, replace(site, root=tmp_path / "data"))
    assert (report.done, report.failed, report.left, report.there) == (1, 0, 0, 1)
    assert report.missing["mnist"][0].startswith("mnist cannot be read: ")


def test_what_another_call_is_doing_is_told_from_what_is_left(table: Table, records: Records, site: Site) -> None:
    plain = replace(table, cells=table.cells[:1], published={}, seeds=3)
    first, second, third = (run.id for run in due([(plain, 3)], {}))
    done: list[int] = []

    def meanwhile(progress: Progress) -> None:
        """Another call does the second run when the first has ended; it has the third all the time."""
        if not done:
            done.append(reproduce([replace(plain, seeds=2)], records, site).done)

    with claimed(site.work / "claims" / third):
        report = reproduce([plain], records, site, listen=meanwhile)
    assert (done, set(records.finished())) == ([1], {first, second})
    assert (report.done, report.elsewhere, report.left) == (1, 1, 0)


def test_shards_of_a_search_say_that_they_wait_for_each_other(table: Table, records: Records, site: Site) -> None:
    searched = replace(table, cells=table.cells[2:3], published={})
    reports = [reproduce([searched], records, site, shard=Shard(number, 2)) for number in (1, 2)]
    # Whoever is first cannot know what the search chooses; that is the case if each has a part of it.
    ids = [run.id for run in due([(searched, 3)], {})]
    assert {Shard(1, 2).has(run) for run in ids} == {True, False}
    assert [report.undecided for report in reports] == [1, 0]
    assert (reports[0].left, reports[0].done) == (0, sum(Shard(1, 2).has(run) for run in ids))


def test_no_time_no_run(table: Table, records: Records, site: Site) -> None:
    report = reproduce([table], records, site, minutes=0.0)
    assert (report.done, report.left) == (0, len(due([(table, 3)], {})))
    assert not records.path.exists()


def test_shards_share_the_work_and_leave_nothing(table: Table, records: Records, site: Site) -> None:
    plain = replace(table, cells=table.cells[:2], published={}, seeds=5)
    done = [reproduce([plain], records, site, shard=Shard(number, 3)).done for number in (1, 2, 3)]
    assert sum(done) == 10 == len(records.read())
    assert max(done) < 10


def test_missing_data_is_told_once_and_the_rest_runs(table: Table, records: Records, site: Site) -> None:
    there = table.cells[0]
    assert isinstance(there.setting, Setting)
    away = Cell("away", there.column, replace(there.setting, data="svhn"))
    half = replace(table, cells=(away, there), published={}, seeds=2)
    report = reproduce([half], records, replace(site, root=site.work / "nowhere"))
    assert (report.done, report.failed, report.left) == (2, 0, 0)
    why, runs = report.missing["svhn"]
    assert runs == 2
    assert "train_32x32.mat" in why


def test_a_smoke_test_reads_made_up_files(records: Records, tmp_path: Path) -> None:
    from truelabel.experiments.catalogue import find_tables

    variation = Variation(scale="smoke")
    small = varied_table(find_tables("englesson2023/figure-7")[1][0], variation)
    report = reproduce([small], records, site_for(variation, tmp_path / "work", "cpu"), variation=variation)
    assert (report.done, report.failed) == (1, 0)
    assert records.read()[0]["variation"] == {"scale": "smoke"}
    assert (tmp_path / "work" / "stand-ins" / "MNIST").is_dir()
