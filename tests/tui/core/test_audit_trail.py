from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from policy import Ledger, Settings
from tests.tui.scripted import NOON_S, ScriptedSource
from tests.tui.written import write_changes
from tui.core.audit import UNCONFIRMED
from tui.core.audit_trail import read_trail
from tui.core.changed_lines import changed_lines
from tui.core.lines import plain
from tui.core.world import World, see


def test_each_change_is_one_record_the_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_changes(path, "done", "failed", "refused", "sending")
    trail = read_trail(path)
    assert [record.stage for record in trail] == [UNCONFIRMED, "refused", "failed", "done"]
    assert trail[1].reply == "Unauthorized"
    assert {(record.user, record.server, record.before, record.after) for record in trail} == {
        ("root", "hpc1", "32", "64")
    }


def test_the_same_command_again_is_another_record(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_changes(path, "done", "done")
    write_changes(path, "sending")
    assert [record.stage for record in read_trail(path)] == [UNCONFIRMED, "done", "done"]


def test_lines_that_are_none_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    assert read_trail(path) == []
    path.write_bytes(b'{"time": "yesterday"}\n[1]\n\xff\n{"stage": "done"}\nhalf a li\n')
    assert read_trail(path) == []


def after_a_change() -> World:
    source = ScriptedSource()
    before = see(source.picture, Settings(), Ledger(), 0.0)
    source.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=4],[u:bob=8],[u:PBS_GENERIC=2],[u:carol=64]"})
    return see(replace(source.picture, time_s=NOON_S + 5), Settings(), Ledger(), 0.0, before=before)


def test_what_changed_names_who_did_it_where_the_audit_file_tells(tmp_path: Path) -> None:
    world = after_a_change()
    assert any("u:carol in workq: ncpus none → 64" in plain(line) for line in changed_lines(world, [], 5))
    path = tmp_path / "audit.jsonl"
    write_changes(path, "done")
    records = [record._replace(time_s=NOON_S) for record in read_trail(path)]
    told = [plain(line) for line in changed_lines(world, records, 5)]
    assert told[1].endswith("u:carol in workq: ncpus none → 64 by root from 10.0.0.7 port 50022")
    other = [record._replace(command=record.command.replace("carol", "bob")) for record in records]
    assert "by root" not in "".join(plain(line) for line in changed_lines(world, other, 5))


def test_more_changes_than_there_is_room_for_are_counted() -> None:
    source = ScriptedSource()
    world = see(source.picture, Settings(), Ledger(), 0.0)
    for number in range(6):
        source.set_queue("workq", **{"max_run_res_soft.ncpus": f"[u:alice={10 + number}]"})
        picture = replace(source.picture, time_s=NOON_S + number)
        world = see(picture, Settings(), Ledger(), 0.0, before=world)
    told = [plain(line) for line in changed_lines(world, [], 4)]
    assert len(told) == 4
    assert told[-1] == "and 6 changes before"
