"""The folder: whole files whatever happens, one writer, a journal that ends with what was whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hooks.store import state_files as state_module
from hooks.store.state_files import LEDGER, SecondWriterError, State, StateError
from policy.model.allocation import parse_exec_vnode
from policy.model.ledger_between_passes import VERSION, Earmark, Ledger

LEDGER_WITH_PROMISE = Ledger(promises={"12.server": 1000.0}, preemptions={"7.server": 2})


def mode_of(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


def test_a_ledger_comes_back_as_it_was_saved(state: State) -> None:
    state.save_ledger(LEDGER_WITH_PROMISE)
    assert state.read_ledger() == (LEDGER_WITH_PROMISE, "")


def test_nobody_but_root_may_look(state: State) -> None:
    state.save_ledger(Ledger())
    state.publish("last-pass.json", {}, shared=True)
    state.write_journal({}, "2026-11-20", 14)
    assert mode_of(state.path) == "0o700"
    assert {mode_of(path) for path in state.path.iterdir()} == {"0o600"}


def test_a_group_may_read_the_journal_and_the_last_pass_but_not_the_ledger(tmp_path: Path) -> None:
    import grp

    group = grp.getgrgid(os.getgid()).gr_name
    state = State(tmp_path / "pbsteer", group)
    with state.locked():
        state.save_ledger(Ledger())
        state.publish("last-pass.json", {}, shared=True)
        state.publish("summary.json", {}, shared=False)
        state.write_journal({}, "2026-11-20", 14)
    assert mode_of(state.path) == "0o750"
    modes = {path.name: mode_of(path) for path in state.path.iterdir()}
    assert modes["last-pass.json"] == modes["journal-2026-11-20.1.jsonl"] == "0o640"
    assert modes[LEDGER] == modes["summary.json"] == "0o600"


@pytest.mark.parametrize("group", ["no-such-group", "not\0encodable"])
def test_a_group_that_the_host_does_not_know_gets_nothing(group: str, tmp_path: Path) -> None:
    state = State(tmp_path / "pbsteer", group)
    with state.locked():
        state.publish("last-pass.json", {}, shared=True)
    assert mode_of(state.path / "last-pass.json") == "0o600"
    assert repr(group) in state.find_group_problem()


@pytest.mark.parametrize(
    "text", ["", "{", '{"version": 1, "promises"', '{"version": 99}', "[]", "null", '{"version": 1}', "[" * 100_000]
)
def test_a_ledger_that_cannot_be_used_is_put_aside_and_an_empty_one_begun(state: State, text: str) -> None:
    (state.path / LEDGER).write_text(text)
    ledger, why = state.read_ledger()
    assert ledger == Ledger()
    assert (state.path / LEDGER).read_text() == text
    assert str(state.path / LEDGER) in state.put_aside_ledger(LEDGER, why)
    assert (state.path / "ledger.unreadable.json").read_text() == text
    assert state.read_ledger() == (Ledger(), "")


def test_a_ledger_of_the_first_version_loses_no_promise_no_hold_and_no_count(state: State) -> None:
    held = {"13.server": {"exec_vnode": "(v1:ncpus=2)", "victims": ["7.server"], "since_s": 900.0}}
    old = {
        "version": 1, "promises": {"12.server": 1000.5}, "holds": held,
        "preemptions": {"7.server": 2, "8[3].server": 1}, "backfilled": {"9.server": 500.0},
    }  # fmt: skip
    (state.path / LEDGER).write_text(json.dumps(old))
    ledger, complaint = state.read_ledger()
    assert complaint == ""
    assert ledger.promises == {"12.server": 1000.5}
    assert ledger.earmarks == {"13.server": Earmark(parse_exec_vnode("(v1:ncpus=2)"), ("7.server",), 900.0, "quota")}
    assert ledger.preemptions == {"7.server": 2, "8[3].server": 1}
    state.save_ledger(ledger)
    assert json.loads((state.path / LEDGER).read_text())["version"] == VERSION
    assert state.read_ledger() == (ledger, "")


def test_a_ledger_of_bytes_is_put_aside(state: State) -> None:
    (state.path / LEDGER).write_bytes(b"\xff\x00\xfe")
    assert state.read_ledger()[0] == Ledger()


@pytest.mark.parametrize("thing", ["folder", "link to nowhere"])
@pytest.mark.parametrize(
    "name", [LEDGER, "last-pass.json", "lock", f".{LEDGER}.new", ".last-pass.json.new", "journal-2026-11-20.1.jsonl"]
)
def test_what_stands_in_a_files_place_and_is_none_is_put_aside_again_and_again(
    state: State, name: str, thing: str
) -> None:
    for _ in range(3):
        path = state.path / name
        path.unlink(missing_ok=True)
        if thing == "folder":
            (path / "not-empty").mkdir(parents=True)
        else:
            path.symlink_to("/nowhere/at/all")
        with state.locked():
            assert state.read_ledger()[0] == Ledger()
            state.save_ledger(LEDGER_WITH_PROMISE)
            state.write_journal({"pass": 1}, "2026-11-20", 14)
            state.publish("last-pass.json", {"time_s": 1}, shared=True)
        assert state.read_ledger() == (LEDGER_WITH_PROMISE, "")
        assert state.read_journal(1) == [{"pass": 1}]
        assert state.read_published("last-pass.json") == {"time_s": 1}
        state.save_ledger(Ledger())


@pytest.mark.parametrize("call", ["fsync", "fchmod"])
def test_a_save_that_breaks_off_leaves_the_old_ledger(state: State, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    state.save_ledger(LEDGER_WITH_PROMISE)
    monkeypatch.setattr(f"hooks.store.state_files.os.{call}", fail)
    with pytest.raises(OSError, match="No space left"):
        state.save_ledger(Ledger())
    monkeypatch.undo()
    assert state.read_ledger() == (LEDGER_WITH_PROMISE, "")


def test_a_second_writer_is_kept_out_until_the_first_is_done(state: State) -> None:
    other = State(state.path)
    with state.locked(), pytest.raises(SecondWriterError, match="another pass"), other.locked():
        pass
    with other.locked():
        pass


def test_a_child_that_let_go_of_the_lock_does_not_keep_it_when_its_parent_is_killed(state: State) -> None:
    released, say_released = os.pipe()
    end, say_end = os.pipe()
    parent = os.fork()
    if not parent:
        with state.locked():
            if not os.fork():
                state.release_lock()
                os.write(say_released, b"x")
                os.close(say_end)
                os.read(end, 1)
            os._exit(0)
    os.waitpid(parent, 0)
    assert os.read(released, 1) == b"x"
    with State(state.path).locked():
        os.close(say_end)


def test_a_child_does_not_keep_the_lock_of_a_pass_that_is_over(state: State) -> None:
    end, say_end = os.pipe()
    with state.locked():
        child = os.fork()
        if not child:
            os.close(say_end)
            os.read(end, 1)
            os._exit(0)
    with State(state.path).locked():
        os.close(say_end)
    os.waitpid(child, 0)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="file/pbsteer"), State(tmp_path / "file" / "pbsteer").locked():
        pass


def test_the_journal_gives_the_last_passes_in_order_over_days(state: State) -> None:
    for number, day in enumerate(["2026-11-19", "2026-11-20", "2026-11-20"]):
        state.write_journal({"pass": number}, day, 14)
    assert state.read_journal(2) == [{"pass": 1}, {"pass": 2}]
    assert state.read_journal(99) == [{"pass": 0}, {"pass": 1}, {"pass": 2}]


def test_a_line_that_was_cut_off_spoils_no_other(state: State) -> None:
    state.write_journal({"pass": 0}, "2026-11-20", 14)
    with (state.path / "journal-2026-11-20.1.jsonl").open("a") as file:
        file.write('{"pass": 1, "sta')
    state.write_journal({"pass": 2}, "2026-11-20", 14)
    assert state.read_journal(9) == [{"pass": 0}, {"pass": 2}]


def test_a_full_file_is_followed_by_the_next_of_the_day(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "_JOURNAL_BYTES", 30)
    for number in range(12):
        state.write_journal({"pass": number, "text": "x" * 20}, "2026-11-20", 14)
    assert len(list(state.path.glob("journal-*"))) == 12
    assert [entry["pass"] for entry in state.read_journal(3)] == [9, 10, 11]


def test_only_the_last_days_are_kept(state: State) -> None:
    for day in range(10, 20):
        state.write_journal({"day": day}, f"2026-11-{day}", 3)
    assert sorted(path.name[8:18] for path in state.path.glob("journal-*")) == [
        "2026-11-17",
        "2026-11-18",
        "2026-11-19",
    ]


def test_after_a_clock_that_was_ahead_the_last_passes_are_the_last_ones_and_no_day_goes_early(state: State) -> None:
    for number, day in enumerate(["2026-11-18", "2026-11-19", "2041-01-01", "2041-01-02", "2026-11-19", "2026-11-20"]):
        state.write_journal({"pass": number}, day, 3)
    assert [entry["pass"] for entry in state.read_journal(10)] == [1, 2, 3, 4, 5]
    assert {path.name[:18] for path in state.journal_files()} == {"journal-2026-11-19", "journal-2026-11-20"}


def test_what_users_wrote_stays_on_its_line(state: State) -> None:
    name = 'x\n{"pass": 9}\x1b[2J\u2028\U0001f600'
    state.write_journal({"name": name}, "2026-11-20", 14)
    assert state.read_journal(9) == [{"name": name}]


def test_a_published_file_that_is_not_there_or_not_whole_is_empty(state: State) -> None:
    assert state.read_published("last-pass.json") == {}
    (state.path / "last-pass.json").write_text('{"time_s"')
    assert state.read_published("last-pass.json") == {}
    state.publish("last-pass.json", {"time_s": 1}, shared=True)
    assert state.read_published("last-pass.json") == json.loads('{"time_s": 1}')
