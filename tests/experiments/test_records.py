from __future__ import annotations

import errno
import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.experiments.records import Records, check_claims, claimed, fcntl


def write_many(path: Path, writer: int) -> None:
    records = Records(path)
    for number in range(50):
        records.append([{"id": f"{writer}-{number}", "scores": {"accuracy": number / 50}, "padding": "x" * 5000}])


def test_several_writers_at_once_lose_and_mix_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(path, writer)) for writer in range(4)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    lines = path.read_text().splitlines()
    assert len(lines) == 200
    assert {json.loads(line)["id"] for line in lines} == {f"{w}-{n}" for w in range(4) for n in range(50)}


def test_a_line_that_a_crash_cut_short_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    records = Records(path)
    records.append([{"id": "a", "scores": {}}])
    with path.open("a") as file:
        file.write('{"id": "b", "sco')
    records.append([{"id": "c", "scores": {}}])
    assert [record["id"] for record in records.read()] == ["a", "c"]
    assert path.read_text().endswith("}\n")


def test_the_last_success_counts_and_a_failure_never_hides_it(tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    assert records.read() == []
    records.append([{"id": "a", "error": "first"}, {"id": "b", "error": "only"}])
    records.append([{"id": "a", "scores": {"x": 1}}, {"id": "a", "error": "later"}])
    records.append([{"id": "a", "scores": {"x": 2}}])
    assert records.finished() == {"a": {"id": "a", "scores": {"x": 2}}}
    assert records.failed() == {"b": {"id": "b", "error": "only"}}


def test_a_new_record_is_written_once_whoever_brings_it(tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    assert records.append_new({"id": "a", "error": "first"})
    assert records.append_new({"id": "a", "scores": {"x": 1}})
    assert not records.append_new({"id": "a", "scores": {"x": 2}})
    assert not records.append_new({"id": "a", "error": "later"})
    assert records.finished() == {"a": {"id": "a", "scores": {"x": 1}}}
    assert len(records.read()) == 2


def test_a_file_system_without_locks_is_told_and_is_nobody_elses_claim(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*given: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(
        ValueError, match=r"^checkpoints cannot be kept and locked in .* \(No locks available\): choose"
    ):
        check_claims(tmp_path)
    with pytest.raises(OSError, match="No locks"), claimed(tmp_path / "run"):
        pass


@given(st.lists(st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False) | st.text(max_size=20), max_size=3)))
def test_what_is_written_is_read(values: list[dict[str, Any]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        records = Records(Path(folder) / "r.jsonl")
        written = [{**value, "id": str(number)} for number, value in enumerate(values)]
        for record in written:
            records.append([record])
        assert records.read() == written


def hold(path: Path, line: Any) -> None:
    with claimed(path) as ours:
        line.send(ours)
        line.recv()


def test_one_process_has_a_claim_and_gives_it_back_even_if_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "claims" / "run"
    context = multiprocessing.get_context("fork")
    line, theirs = context.Pipe()
    holder = context.Process(target=hold, args=(path, theirs))
    holder.start()
    assert line.recv() is True
    with claimed(path) as ours:
        assert not ours
    holder.kill()
    holder.join()
    with claimed(path) as ours:
        assert ours


@pytest.mark.parametrize("text", ["[]", '"x"', "{}", "nonsense", ""])
def test_lines_that_are_no_records_are_passed_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(text + "\n")
    assert Records(path).read() == []


def test_a_line_cut_within_a_letter_costs_only_itself(tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    records.append([{"id": "a", "command": "λ = 1"}, {"id": "b", "command": "λ = 2"}])
    whole = records.path.read_bytes()
    records.path.write_bytes(whole[: whole.rindex("λ".encode()) + 1])
    assert [record["id"] for record in records.read()] == ["a"]
    records.append([{"id": "c"}])
    assert [record["id"] for record in records.read()] == ["a", "c"]
