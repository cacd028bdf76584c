"""The last day's activity over the passes of one process: what is written, and when."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hooks.act.apply_plan import Outcome
from hooks.record.add_pass_to_day_of_activity import LastDay
from hooks.record.day_of_activity import Day
from hooks.store.state_files import DAY, State
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, server_status


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path)


def note(day: LastDay, state: State, after_s: float, *, early: bool = True) -> None:
    """A pass that starts one job."""
    found = replace(server_status(jobs={"1.srv": job()}), time_s=NOW_S + after_s)
    snapshot = translate(found, Settings()).snapshot
    plan = decide(snapshot, Ledger(), Settings())
    assert [start.id for start in plan.starts] == ["1.srv"]
    day.note(state, snapshot, plan, Outcome(started=["1.srv"]), "ncpus", early=early)


def written(state: State) -> Day:
    return Day.from_data(state.read_published(DAY))


def started(day: Day) -> int:
    return sum(slot.started for slot in day.slots)


def test_early_passes_write_every_two_seconds_at_most_and_lose_nothing(state: State) -> None:
    day = LastDay()
    found = []
    for after_s in (0.0, 0.1, 1.9, 2.1, 2.2):
        note(day, state, after_s)
        found.append(started(written(state)))
    assert found == [1, 1, 1, 4, 4]
    day.write()
    assert started(written(state)) == 5


def test_a_due_pass_writes_at_once(state: State) -> None:
    day = LastDay()
    note(day, state, 0.0)
    note(day, state, 0.1, early=False)
    assert started(written(state)) == 2


def test_the_next_process_goes_on_from_the_file(state: State) -> None:
    note(LastDay(), state, 0.0)
    note(LastDay(), state, 10.0)
    assert started(written(state)) == 2


def test_a_clock_that_is_set_back_does_not_stop_the_writing(state: State) -> None:
    day = LastDay()
    note(day, state, 0.0)
    note(day, state, -3600.0)
    assert written(state).last_s == NOW_S - 3600.0


def test_what_cannot_be_written_is_written_with_the_next_pass(tmp_path: Path) -> None:
    day, state = LastDay(), State(tmp_path / "made-later")
    note(day, state, 0.0)
    state.path.mkdir()
    note(day, state, 0.1)
    assert started(written(state)) == 2


def test_nothing_is_written_without_a_pass(state: State) -> None:
    LastDay().write()
    assert not (state.path / DAY).exists()
