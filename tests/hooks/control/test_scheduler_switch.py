"""Who starts whose jobs: schedulers are switched only where all their queues agree, and only our switches undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.control.scheduler_switch import (
    Assignment,
    LastCycle,
    Switched,
    assign_schedulers,
    hand_back,
    switch,
    trigger_cycle,
)
from hooks.pbs.pbs_ifl_client import Connection
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.event_hook_summary import LONGEST_CYCLE_S
from hooks.store.state_files import State
from hooks.translate.queues import read_modes
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, queue, server_status, vnode
from tests.hooks.stand_in import pbs_ifl

NOTHING = Switched()


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    yield


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path)


def sched(scheduling: str, partition: str = "pbs-default", state: str = "idle") -> dict[str, str]:
    return {"scheduling": scheduling, "partition": partition, "state": state}


def see(scheduling: str, mode: str = "drive", state: str = "idle", **queues: dict[str, str]) -> ServerStatus:
    return server_status(
        queues={"workq": queue(mode), **queues},
        scheds={"default": sched(scheduling, state=state)},
        server={"name": "server", "scheduling": scheduling},
    )


def assignment_of(seen: ServerStatus, before: Switched = NOTHING, refused: tuple[str, ...] = ()) -> Assignment:
    return assign_schedulers(seen, read_modes(seen, Settings()), refused, before)


def calls() -> list[list[str]]:
    return [call for call in pbs_ifl.CALLS if call[0] == "scheduling"]


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


def apply(assignment: Assignment, before: Switched, state: State) -> list[str]:
    with Connection(pbs_ifl) as connection:
        return switch(connection, assignment, before, state)


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
    stopped = server_status(queues={"workq": queue("observe")}, scheds={"default": sched("False")})
    assert stopped.server["scheduling"] == "False"
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
    with Connection(pbs_ifl) as connection:
        assert trigger_cycle(connection, seen, {"workq", "other"}) == []
    assert calls() == [["scheduling", "default", "True"]]


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
    assert hand_back(pbs_ifl, state, mode) == (["default"] if switched_on else [])
    assert calls() == ([["scheduling", "default", "True"]] if switched_on else [])


def see_reservation(reserve_state: str, *waiting: str, at_s: float = NOW_S) -> ServerStatus:
    """A driven queue whose scheduler we have switched off, beside a reservation with these jobs waiting in it."""
    seen = server_status(
        {job_id: job(queue="R7") for job_id in waiting},
        queues={"workq": queue("drive"), "R7": queue()},
        scheds={"default": sched("False")},
        reservations={"R7.s": {"queue": "R7", "reserve_state": reserve_state}},
    )
    return replace(seen, time_s=at_s)


def test_a_reservation_that_waits_gives_its_scheduler_a_turn_for_one_pass() -> None:
    ours = Switched(frozenset({"default"}))
    for seen, words in (
        (see_reservation("1"), "reservation R7.s waits to be confirmed"),
        (see_reservation("5", "4.s", "5.s"), "jobs of reservation R7.s wait to be started (2)"),
    ):
        cycle = assignment_of(seen, ours)
        assert (cycle.driven, cycle.on, cycle.in_cycle) == (frozenset(), ("default",), frozenset({"workq"}))
        assert words in " ".join(cycle.notes)
        after = assignment_of(replace(seen, scheds={"default": sched("True")}), cycle.switched)
        assert (after.off, after.in_cycle) == (("default",), frozenset({"workq"}))
        driving = assignment_of(seen, after.switched)
        assert (driving.driven, driving.in_cycle) == (frozenset({"workq"}), frozenset())


def test_a_scheduler_that_was_given_no_cycle_may_start_jobs_until_it_is_off() -> None:
    seen = see("True")
    assert (assignment_of(seen).off, assignment_of(seen).in_cycle) == (("default",), frozenset())
    long_ago = Switched(frozenset({"default"}), cycles={"default": LastCycle(NOW_S - 2 * LONGEST_CYCLE_S)})
    assert assignment_of(seen, long_ago).in_cycle == frozenset()


def see_suspended(substate: str, used: int, at_s: float = NOW_S) -> ServerStatus:
    """A driven queue with a suspended job of four cores, on a vnode of eight of which so many are in use."""
    suspended = job("S", cores=4, substate=substate, exec_vnode="(v1:ncpus=4)")
    seen = see("False")
    return replace(seen, time_s=at_s, jobs={"12.s": suspended}, vnodes={"v1": vnode(8, used=used)})


def test_a_job_that_was_resumed_gives_its_scheduler_a_turn_once_its_vnodes_have_room() -> None:
    ours = Switched(frozenset({"default"}))
    cycle = assignment_of(see_suspended("45", used=4), ours)
    assert (cycle.driven, cycle.on) == (frozenset(), ("default",))
    assert "job 12.s waits to be resumed" in " ".join(cycle.notes)
    assert assignment_of(see_suspended("45", used=5), ours).on == (), "there is no room for it"
    assert assignment_of(see_suspended("43", used=0), ours).on == (), "nobody has resumed it"


def test_jobs_beside_a_suspended_one_give_no_further_cycle_for_long() -> None:
    ours = Switched(frozenset({"default"}))
    served = assignment_of(see_suspended("45", used=4), ours).switched._replace(names=ours.names)
    given = []
    for later_s, used in ((20, 4), (40, 3), (61, 5), (100, 0), (130, 4)):
        assignment = assignment_of(see_suspended("45", used=used, at_s=NOW_S + later_s), served)
        given.append(bool(assignment.on))
        served = assignment.switched._replace(names=ours.names)
    assert given == [False, False, False, False, True]


def test_a_job_that_was_resumed_and_is_to_be_resumed_again_gives_another_turn() -> None:
    ours = Switched(frozenset({"default"}))
    before = assignment_of(see_suspended("45", used=4), ours).switched._replace(names=ours.names)
    running = assignment_of(see_suspended("42", used=8, at_s=NOW_S + 30), before)
    assert assignment_of(see_suspended("45", used=4, at_s=NOW_S + 120), running.switched).on == ("default",)


def see_partitions(queue_of_job: str, **reservation: str) -> ServerStatus:
    """Partitions P and Q are driven, their schedulers switched off, and the default one is not. There is a suspended
    job for which there is room, or a reservation to be confirmed."""
    return server_status(
        {} if reservation else {"12.s": job("S", queue=queue_of_job, substate="45", exec_vnode="(v1:ncpus=2)")},
        queues={"workq": queue("observe"), "pq": queue("drive", partition="P"), "qq": queue("drive", partition="Q")},
        scheds={"default": sched("True"), "p": sched("False", "P"), "q": sched("False", "Q")},
        server={"name": "server", "scheduling": "True"},
        reservations={"R7.s": {"queue": "R7", "reserve_state": "1", **reservation}} if reservation else {},
    )


@pytest.mark.parametrize(
    ("seen", "driven", "on"),
    [
        (see_partitions("workq"), ["pq", "qq"], ()),
        (see_partitions("pq"), ["qq"], ("p",)),
        (see_partitions("qq"), ["pq"], ("q",)),
        (see_partitions("deleted"), ["pq", "qq"], ()),
        (see_partitions("", reserve_start="0"), [], ("p", "q")),
        (see_partitions("", partition="P"), ["qq"], ("p",)),
        (see_partitions("", partition="pbs-default"), ["pq", "qq"], ()),
    ],
)
def test_only_the_scheduler_of_its_partition_has_a_turn_for_what_waits(
    seen: ServerStatus, driven: list[str], on: tuple[str, ...]
) -> None:
    assignment = assignment_of(seen, Switched(frozenset({"p", "q"})))
    assert (sorted(assignment.driven), assignment.on) == (driven, on)


def test_turns_of_one_scheduler_do_not_put_off_those_of_another() -> None:
    ours = Switched(frozenset({"p", "q"}))
    after = assignment_of(see_partitions("pq"), ours).switched._replace(names=ours.names)
    assert assignment_of(see_partitions("pq"), after).on == ()
    assert assignment_of(see_partitions("qq"), after).on == ("q",)


def test_turns_are_on_disk_and_forgotten_there_once_they_are_over(state: State) -> None:
    seen, ours = see_suspended("45", used=4), Switched(frozenset({"default"}))
    given = assignment_of(seen, ours)
    apply(given, ours, state)
    assert Switched.read(state) == Switched(cycles={"default": LastCycle(NOW_S, frozenset({"12.s"}))})
    off = given.switched._replace(names=ours.names)
    apply(assignment_of(see_suspended("42", used=8), off), off, state)
    assert Switched.read(state) == ours._replace(cycles={"default": LastCycle(NOW_S)})


def test_turns_are_far_between_and_for_something_new() -> None:
    ours = Switched(frozenset({"default"}))
    before = assignment_of(see_reservation("5", "4.s"), ours).switched._replace(names=ours.names)
    given = [
        bool(assignment_of(see_reservation("5", *jobs, at_s=NOW_S + later_s), before).on)
        for jobs, later_s in ((("4.s", "5.s"), 30), (("4.s", "5.s"), 90), (("4.s",), 90), (("4.s",), 900), ((), 900))
    ]
    assert given == [False, True, False, True, False]


def test_a_scheduler_that_somebody_else_switched_off_has_no_turn() -> None:
    assignment = assignment_of(see_reservation("1"))
    assert (sorted(assignment.driven), assignment.on) == (["workq"], ())
    assert "was switched off, but not by pbsteer: reservation R7.s waits" in " ".join(assignment.notes)


@pytest.mark.parametrize(
    ("reservation", "later_s", "given"),
    [
        ({"reserve_state": "1", "reserve_start": f"{NOW_S + 50:.0f}"}, 11, True),
        ({"reserve_state": "1", "reserve_start": f"{NOW_S + 50:.0f}"}, 9, False),
        ({"reserve_state": "1", "reserve_start": f"{NOW_S + 5000:.0f}"}, 59, False),
        ({"reserve_state": "1", "reserve_start": f"{NOW_S + 5000:.0f}"}, 61, True),
        ({"reserve_state": "11", "reserve_start": f"{NOW_S + 5000:.0f}"}, 61, True),
        ({"reserve_state": "11", "reserve_start": f"{NOW_S - 5000:.0f}"}, 11, True),
        ({"reserve_state": "2", "reserve_substate": "10", "reserve_retry": f"{NOW_S + 70:.0f}"}, 61, False),
        ({"reserve_state": "2", "reserve_substate": "10", "reserve_retry": f"{NOW_S + 70:.0f}"}, 71, True),
        ({"reserve_state": "5", "reserve_substate": "12", "reserve_retry": f"{NOW_S:.0f}"}, 61, True),
        ({"reserve_state": "2", "reserve_substate": "10"}, 61, False),
        ({"reserve_state": "2", "reserve_substate": "2"}, 61, False),
    ],
)
def test_a_reservation_that_waits_for_the_scheduler_gives_it_a_turn(
    reservation: dict[str, str], later_s: float, given: bool
) -> None:
    """To be confirmed, also after an alteration, or degraded or in conflict once PBS would try again; one that starts
    soon does not wait a minute after the last turn."""
    seen = server_status(
        queues={"workq": queue("drive")},
        scheds={"default": sched("False")},
        reservations={"R8.s": {"queue": "R8", **reservation}},
    )
    before = Switched(frozenset({"default"}), cycles={"default": LastCycle(NOW_S)})
    assert bool(assignment_of(replace(seen, time_s=NOW_S + later_s), before).on) is given


@pytest.mark.parametrize(
    ("started_s", "lasts_s", "later_s", "given"),
    [
        (-5, 3600, 11, True),
        (-5, 3600, 9, False),
        (-50, 3600, 11, False),
        (-50, 3600, 61, True),
        (-3000, 3310, 11, True),
        (-3000, 3310, 9, False),
        (-3000, 3312, 11, False),
        (-3000, 3312, 61, True),
    ],
)
def test_jobs_of_a_reservation_that_has_just_begun_or_ends_soon_do_not_wait_a_minute(
    started_s: int, lasts_s: int, later_s: float, given: bool
) -> None:
    """A short reservation whose confirmation had the last cycle would be over before its jobs start."""
    seen = see_reservation("5", "4.s", at_s=NOW_S + later_s)
    times = {"reserve_start": f"{NOW_S + started_s:.0f}", "reserve_end": f"{NOW_S + started_s + lasts_s:.0f}"}
    seen = replace(seen, reservations={"R7.s": {**seen.reservations["R7.s"], **times}})
    before = Switched(frozenset({"default"}), cycles={"default": LastCycle(NOW_S)})
    assert bool(assignment_of(seen, before).on) is given


def test_a_degraded_reservation_gives_another_turn_each_time_that_pbs_tries_again() -> None:
    """The scheduler found no other vnodes and has set a later time."""
    ours = Switched(frozenset({"default"}))

    def see(retry_s: float, at_s: float) -> ServerStatus:
        lost = {"reserve_state": "2", "reserve_substate": "10", "reserve_retry": f"{retry_s:.0f}"}
        seen = server_status(
            queues={"workq": queue("drive")},
            scheds={"default": sched("False")},
            reservations={"R8.s": {"queue": "R8", **lost}},
        )
        return replace(seen, time_s=at_s)

    first = assignment_of(see(NOW_S, NOW_S), ours)
    assert first.on
    before = first.switched._replace(names=ours.names)
    assert not assignment_of(see(NOW_S, NOW_S + 90), before).on
    assert assignment_of(see(NOW_S + 80, NOW_S + 90), before).on


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
