"""Cycles that a switched-off scheduler gets, for reservations and for jobs to be resumed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.control.pbs_scheduler.scheduler_switch import (
    LastCycle,
    Switched,
)
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.event_hook_summary import LONGEST_CYCLE_S
from hooks.store.state_files import State
from tests.hooks.control.driven_queue_statuses import apply, assignment_of, sched, see
from tests.hooks.sample_server_statuses import NOW_S, job, queue, server_status, vnode

pytestmark = pytest.mark.usefixtures("fresh_server")


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
        by_hand = assignment_of(replace(seen, scheds={"default": sched("True")}), driving.switched)
        assert (by_hand.off, by_hand.in_cycle) == (("default",), frozenset()), "somebody else has switched it on"


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


@pytest.mark.parametrize(("stays", "given"), [(False, [True, False]), (True, [True, False, False])])
def test_a_cycle_for_a_reservation_counts_as_serving_no_job(stays: bool, given: list[bool]) -> None:
    """PBS's scheduler ends a cycle in which it has confirmed a reservation."""
    ours, wanted = Switched(frozenset({"default"})), {"R7.s": {"queue": "R7", "reserve_state": "1"}}
    first = assignment_of(replace(see_suspended("45", used=4), reservations=wanted), ours)
    assert first.on == ("default",)
    before, turns = first.switched._replace(names=ours.names), []
    for number in range(1, len(given) + 1):
        seen = replace(see_suspended("45", used=4, at_s=NOW_S + 11 * number), reservations=wanted if stays else {})
        assignment = assignment_of(seen, before)
        turns.append(bool(assignment.on))
        before = assignment.switched._replace(names=ours.names)
    assert turns == given


def test_a_scheduler_that_does_not_run_gets_no_cycle_and_is_named() -> None:
    seen = see_suspended("45", used=4)
    down = replace(seen, scheds={"default": {**seen.scheds["default"], "state": "down"}})
    assignment = assignment_of(down, Switched(frozenset({"default"})))
    assert (assignment.on, sorted(assignment.driven), assignment.passing) == ((), ["workq"], ())
    assert assignment.notes == (
        "scheduler default does not run, and only it can do this: job 12.s waits to be resumed",
    )
    assert assignment.switched.cycles == {}


def test_a_cycle_that_does_not_end_is_a_matter_for_the_administrator() -> None:
    ours = Switched(frozenset({"default"}), cycles={"default": LastCycle(NOW_S, frozenset({"12.s"}))})
    for later_s, words in ((30, "is ending its last cycle"), (90, "is in the cycle that it was given 90 s ago")):
        seen = see_suspended("45", used=4, at_s=NOW_S + later_s)
        cycling = replace(seen, scheds={"default": {**seen.scheds["default"], "state": "scheduling"}})
        assignment = assignment_of(cycling, ours)
        assert words in assignment.notes[0]
        assert bool(assignment.passing) is (later_s == 30)
        assert assignment.driven == frozenset()


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
    assert Switched.read(state) == Switched(cycles={"default": LastCycle(NOW_S, frozenset({"12.s"}))}, unset=True)
    off = given.switched._replace(names=ours.names)
    apply(assignment_of(see_suspended("42", used=8), off), off, state)
    assert Switched.read(state) == ours._replace(cycles={"default": LastCycle(NOW_S, is_over=True)}, unset=True)


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
