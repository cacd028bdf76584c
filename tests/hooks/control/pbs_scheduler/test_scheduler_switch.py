"""Schedulers are switched off only where all their queues are driven; only what pbsteer switched off is undone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hooks.control.pbs_scheduler.scheduler_switch import (
    Switched,
    hand_back,
    trigger_cycle,
)
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.own_switch_values import START_HOOK
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.state_files import SCHEDULERS, State
from policy.settings.settings_of_server_and_passes import ServerSettings
from tests.hooks.control.driven_queue_statuses import NOTHING, apply, assignment_of, calls, sched, see
from tests.hooks.sample_server_statuses import NOW_S, queue, server_status
from tests.hooks.stand_in import pbs_ifl

pytestmark = pytest.mark.usefixtures("fresh_server")


@pytest.mark.parametrize(
    ("seen", "before", "driven", "off", "on"),
    [
        (see("True"), (), [], ["default"], []),
        (see("False"), ("default",), ["workq"], [], []),
        (see("False"), (), ["workq"], [], []),
        (see("False", state="scheduling"), ("default",), [], [], []),
        (see("False", state="down"), ("default",), ["workq"], [], []),
        (see("False", "observe"), ("default",), [], [], ["default"]),
        (see("False", "observe"), (), [], [], []),
        (see("True", "advise"), (), [], [], []),
        (see("True", other=queue("observe")), (), [], [], []),
        (see("False", other=queue("observe")), ("default",), [], [], ["default"]),
        (see("False"), ("default", "deleted"), ["workq"], [], ["deleted"]),
    ],
)
def test_a_scheduler_is_off_where_all_its_queues_are_driven_and_on_again_where_not(
    seen: ServerStatus, before: tuple[str, ...], driven: list[str], off: list[str], on: list[str]
) -> None:
    assignment = assignment_of(seen, Switched(frozenset(before)))
    assert (sorted(assignment.driven), list(assignment.off), list(assignment.on)) == (driven, off, on)


def test_a_refused_queue_hands_its_scheduler_back() -> None:
    assignment = assignment_of(see("False"), Switched(frozenset({"default"})), ("workq",))
    assert (assignment.driven, assignment.on) == (frozenset(), ("default",))


def test_without_a_record_a_scheduler_that_is_off_is_taken_for_ours() -> None:
    assert assignment_of(see("False"), Switched(lost=True)).switched.names == {"default"}
    assert assignment_of(see("False", "observe"), Switched(lost=True)).on == ()


def test_queues_whose_jobs_nobody_starts_are_named() -> None:
    (off,) = assignment_of(see("False", "observe")).notes
    assert "queue workq is in observe, but scheduler default has scheduling = False" in off
    (down,) = assignment_of(see("True", "advise", state="down")).notes
    assert "queue workq is in advise, but scheduler default does not run" in down


def test_a_switch_is_on_disk_before_it_is_made(state: State) -> None:
    """Refused or killed in the middle: the next pass knows of it all the same."""
    pbs_ifl.REFUSALS["default"] = "no"
    failures = apply(assignment_of(see("True")), NOTHING, state)
    assert "cannot set scheduling = False of scheduler default: no" in failures[0]
    assert Switched.read(state) == Switched(frozenset({"default"}), unset=True)


def test_what_cannot_be_switched_on_again_is_not_forgotten(state: State) -> None:
    ours = Switched(frozenset({"default"}))
    pbs_ifl.REFUSALS["default"] = "not now"
    assert len(apply(assignment_of(see("False", "observe"), ours), ours, state)) == 1
    assert Switched.read(state) == ours
    pbs_ifl.REFUSALS.clear()
    assert apply(assignment_of(see("False", "observe"), ours), ours, state) == []
    assert Switched.read(state) == NOTHING
    assert calls() == [["scheduling", "default", "True"]] * 2


def test_a_first_pass_leaves_a_record(state: State) -> None:
    assert Switched.read(state).lost
    apply(assignment_of(see("True", "observe")), Switched(lost=True), state)
    assert Switched.read(state) == NOTHING


def test_a_stop_of_the_server_outlasts_the_way_out_of_drive() -> None:
    ours = Switched(frozenset({"default"}), unset=True)
    stopped = see_server("False", "observe")
    found = assignment_of(stopped, ours)
    assert (found.on, found.switched.names, found.switched.unset) == ((), frozenset({"default"}), True)
    assert "paused by set server scheduling = False" in found.paused
    working = replace(stopped, server={**stopped.server, "scheduling": "True"})
    assert assignment_of(working, found.switched).on == ("default",)


def test_a_nudge_wakes_the_schedulers_that_are_on_and_switches_none_on(state: State) -> None:
    seen = server_status(
        queues={"workq": queue(), "other": queue(partition="P1")},
        scheds={"default": sched("True"), "second": sched("False", "P1")},
    )
    pbs_ifl.WORLD["server"] = {"name": "server"}
    with Connection(pbs_ifl) as connection:
        assert trigger_cycle(connection, seen, {"workq", "other"}) == []
    assert calls() == [["scheduling", "default", "True"]]


def test_a_stop_since_the_pass_read_the_server_is_not_undone(state: State) -> None:
    """Either switch would undo it: one unsets the server's own value, the other sets it True."""
    ours = Switched(frozenset({"default"}), unset=True)
    assert apply(assignment_of(see("True")), NOTHING, state, "False") == []
    assert apply(assignment_of(see_server("", "observe"), ours), ours, state, "False") == []
    with Connection(pbs_ifl) as connection:
        assert trigger_cycle(connection, see("True", "advise"), {"workq"}) == []
    assert calls() == []


@pytest.mark.parametrize(
    ("record", "queues", "mode", "switched_on"),
    [
        (["default"], {"workq": queue("observe")}, "observe", True),
        ([], {"workq": queue("drive")}, "observe", False),
        (None, {"workq": queue("drive")}, "observe", True),
        (None, {"workq": queue()}, "drive", True),
        (None, {"workq": queue("observe")}, "drive", False),
    ],
)
def test_handing_back_switches_on_what_was_switched_off(
    state: State, record: Any, queues: Any, mode: str, switched_on: bool
) -> None:
    pbs_ifl.WORLD.update(server_status(queues=queues, scheds={"default": sched("False")}).to_data())
    if record is not None:
        Switched(frozenset(record)).write(state)
    settings = ServerSettings(mode=mode, guard_starts="always")
    assert hand_back(pbs_ifl, state, settings) == (["default"] if switched_on else [])
    assert calls() == ([["scheduling", "default", "True"]] if switched_on else [])


@pytest.mark.parametrize(
    "record",
    [
        "[" * 200_000,
        '{"switched": ["default"], "turns": {"default": {"time_s": 1' + "0" * 400 + ', "served": []}}}',
        '{"switched": ["default"], "turns": {"default": {"time_s": Infinity, "served": []}}}',
    ],
    ids=["nested", "a huge number", "infinite"],
)
def test_queues_in_drive_go_back_whatever_the_record_has(state: State, record: str) -> None:
    pbs_ifl.WORLD.update(server_status(queues={"workq": queue()}, scheds={"default": sched("False")}).to_data())
    (state.path / SCHEDULERS).write_text(record)
    assert hand_back(pbs_ifl, state, ServerSettings(mode="drive", guard_starts="always")) == ["default"]
    assert calls() == [["scheduling", "default", "True"]]


@pytest.mark.parametrize(("guard_starts", "switched"), [("needed", [["hook", START_HOOK, "true"]]), ("always", [])])
@pytest.mark.parametrize("refused", [False, True])
def test_the_hook_of_starts_is_on_before_a_scheduler_is_that_others_may_use(
    state: State, guard_starts: str, switched: list[list[str]], refused: bool
) -> None:
    """Passes that fail may have switched it off. Should the server refuse, the queues are handed back all the same."""
    pbs_ifl.WORLD.update(server_status(queues={"workq": queue()}, scheds={"default": sched("False")}).to_data())
    pbs_ifl.WORLD["hooks"] = {START_HOOK: {"enabled": "false"}}
    Switched(frozenset({"default"})).write(state)
    if refused:
        pbs_ifl.REFUSALS[START_HOOK] = "Unauthorized Request"
    assert hand_back(pbs_ifl, state, ServerSettings(guard_starts=guard_starts)) == ["default"]
    changes = [call for call in pbs_ifl.CALLS if call[0] in ("hook", "scheduling")]
    assert changes == [*switched, ["scheduling", "default", "True"]]


def see_server(scheduling: str, mode: str = "drive", reason: str = "", **queues: dict[str, str]) -> ServerStatus:
    """A server that says so itself, with its default scheduler off."""
    server = {"name": "server", "scheduling": scheduling, "resources_available.pbsteer_paused": reason}
    return replace(see("False", mode, "idle", **queues), server={name: text for name, text in server.items() if text})


OURS = Switched(frozenset({"default"}))


@pytest.mark.parametrize(
    ("seen", "before", "paused"),
    [
        (see_server(""), OURS, False),
        (see_server("True"), OURS, False),
        (see_server("False"), OURS._replace(unset=True), True),
        (see_server("False"), OURS, False),
        (see_server("False"), NOTHING, False),
        (see_server("False", "advise"), NOTHING, True),
        (see_server("False", "observe"), NOTHING, False),
        (see_server("", "drive", "a leak in row 4"), OURS, True),
        (see_server("True", "advise", "a leak in row 4"), NOTHING, True),
    ],
)
def test_an_administrators_false_on_the_server_pauses_and_so_does_a_reason(
    seen: ServerStatus, before: Switched, paused: bool
) -> None:
    """Where pbsteer has switched the default scheduler off, the server says nothing or, restarted, True."""
    assignment = assignment_of(seen, before)
    assert bool(assignment.paused) is paused
    assert (not assignment.driven) or not paused
    assert assignment.kept_back == (
        frozenset({"workq"}) if paused and "drive" in str(seen.queues["workq"]) else frozenset()
    )
    assert not paused or any(assignment.paused in note for note in assignment.notes)


def test_the_false_of_an_earlier_version_is_unset_so_that_an_administrators_one_is_a_stop(state: State) -> None:
    """0.1.0 switched the default scheduler off by setting it, which sets the server's as well."""
    upgraded = assignment_of(see_server("False"), OURS)
    assert (upgraded.off, upgraded.driven) == (("default",), frozenset({"workq"}))
    assert apply(upgraded, OURS, state) == []
    assert (calls(), Switched.read(state)) == ([["scheduling", "default", "False"]], OURS._replace(unset=True))
    assert assignment_of(see_server("False"), Switched.read(state)).stopped
    later = assignment_of(see_server("True"), Switched.read(state))
    assert (later.off, later.driven) == ((), frozenset({"workq"}))
    assert assignment_of(see_server("False"), NOTHING).off == ()


def test_two_pauses_at_once_are_told_apart_and_both_have_to_end() -> None:
    both = assignment_of(see_server("False", reason="a leak in row 4"), OURS._replace(unset=True))
    assert both.stopped
    assert both.paused.endswith("until pbsteer resume and set server scheduling = True")
    by_name = assignment_of(see_server("True", reason="a leak in row 4"), OURS._replace(unset=True))
    assert not by_name.stopped
    assert by_name.paused.endswith("until pbsteer resume")


def test_in_a_stop_nothing_is_switched_on_and_it_is_remembered_what_was_off() -> None:
    before = OURS._replace(unset=True)
    assignment = assignment_of(see_server("False", "observe", other=queue("drive")), before)
    assert (assignment.on, assignment.switched) == ((), before)


def test_that_the_server_says_nothing_is_remembered_until_its_queues_leave_drive(state: State) -> None:
    after = assignment_of(see_server(""), OURS)
    assert apply(after, OURS, state) == []
    assert Switched.read(state) == OURS._replace(unset=True)
    assert not assignment_of(see_server("", "advise"), OURS._replace(unset=True)).switched.unset


@pytest.mark.parametrize("refused", [(), ("workq",)])
def test_a_stop_right_after_the_scheduler_was_switched_off_holds_until_it_is_taken_back(
    refused: tuple[str, ...],
) -> None:
    """Also where the queue may no longer be driven: its scheduler stays off."""
    before = assignment_of(see("True")).switched
    for _ in range(3):
        stopped = assignment_of(see_server("False"), before, refused)
        assert (bool(stopped.paused), stopped.driven, stopped.on) == (True, frozenset(), ())
        before = stopped.switched
    after = assignment_of(see("True"), before, refused)
    assert (after.paused, bool(after.on)) == ("", bool(refused))


def test_a_stop_in_the_schedulers_turn_holds_until_it_is_taken_back() -> None:
    waits = {"R8.s": {"queue": "R8", "reserve_state": "1", "reserve_start": f"{NOW_S + 5000:.0f}"}}
    cycle = assignment_of(replace(see_server("True"), reservations=waits), OURS._replace(unset=True))
    assert cycle.on == ("default",)
    before = cycle.switched
    for _ in range(3):
        stopped = assignment_of(replace(see_server("False"), reservations=waits), before)
        assert (bool(stopped.paused), stopped.driven, stopped.on) == (True, frozenset(), ())
        before = stopped.switched
    after = assignment_of(see("True"), before)
    assert (after.paused, after.off) == ("", ("default",))


def test_in_a_pause_by_name_queues_that_leave_drive_get_their_scheduler_back() -> None:
    assert assignment_of(see_server("", "observe", "a leak"), OURS).on == ("default",)
