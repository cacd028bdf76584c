"""Windows: what is closed to which jobs, told exactly."""

from __future__ import annotations

import math
import time

from policy import Settings, Vnode
from policy.explain.queue_position import InLine
from policy.model.job_request import parse_request
from policy.model.jobs_runs_vnodes_queues import CROSSING, STARTS, Window
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.state.closure_windows import NOTHING_CLOSED, windows_of
from policy.state.cluster_snapshot import Changes
from tests.policy.clusters import QUEUE, cluster, job, plan_for, queue, run, vnode

R1 = Window(100, 200, "reservation R1", (("ncpus", 2),))
R2 = Window(150, 300, "reservation R2", (("mem", 5), ("ncpus", 1)))
R3 = Window(200, 300, "reservation R3", (("ncpus", 3),))


def closed(vnodes: list[Vnode], start_s: float, end_s: float, place: str = "") -> tuple[int, list[tuple[int, object]]]:
    windows = windows_of(cluster(vnodes).cluster(), 10, 0)
    assert windows is not None
    found = windows.closed_for(parse_request("1:ncpus=1", place), QUEUE, start_s, end_s)
    return found.vnodes, [(share.mask, share.amounts) for share in found.shares]


def test_a_run_meets_a_window_that_begins_before_it_ends_and_ends_after_it_begins() -> None:
    vnodes = [vnode("v1", closed=(R1,))]
    for start_s, end_s, meets in ((10, 100, False), (10, 101, True), (199, 500, True), (200, 500, False)):
        assert closed(vnodes, start_s, end_s) == (0, [(1, (("ncpus", 2),))] if meets else [])


def test_windows_keep_the_most_that_they_keep_at_one_moment() -> None:
    vnodes = [vnode("v1", 8, closed=(R1, R2)), vnode("v2", 8, closed=(R1, R3)), vnode("v3", 8)]
    assert closed(vnodes, 10, math.inf) == (0, [(1, (("mem", 5), ("ncpus", 3))), (2, (("ncpus", 3),))])
    assert closed(vnodes, 10, 150) == (0, [(3, (("ncpus", 2),))])


def test_of_windows_in_any_order_only_those_that_a_run_meets_count() -> None:
    late = Window(400, 500, "reservation R4", (("ncpus", 7),))
    for windows in ((late, R2, R1), (R1, late, R2)):
        assert closed([vnode("v1", 8, closed=windows)], 10, 400) == (0, [(1, (("mem", 5), ("ncpus", 3)))])
        assert closed([vnode("v1", 8, closed=windows)], 300, 401) == (0, [(1, (("ncpus", 7),))])


def test_windows_that_begin_after_a_run_cost_it_nothing() -> None:
    """Users' reservations that recur may leave tens of thousands, and a pass asks for hundreds of runs."""
    coming = tuple(Window(1000 + at, 1001 + at, "reservation R1", (("ncpus", 1),)) for at in range(30_000))
    windows = windows_of(cluster([vnode("v1", closed=coming)]).cluster(), 10, 0)
    assert windows is not None
    request = parse_request("1:ncpus=1", "")
    began_s = time.process_time()
    assert all(windows.closed_for(request, QUEUE, 10, 1000.5 + at).shares for at in range(300))
    assert time.process_time() - began_s < 1.5


def test_who_wants_a_vnode_alone_shares_it_with_no_window() -> None:
    vnodes = [vnode("v1", host="h", closed=(R1,)), vnode("v2", host="h"), vnode("v3", host="g")]
    assert closed(vnodes, 10, 500, "excl") == (1, [])
    assert closed(vnodes, 10, 500, "exclhost") == (3, [])
    alone = [vnode("v1", closed=(R1,), sharing="force_excl"), vnode("v2", closed=(R1,))]
    assert closed(alone, 10, 500) == (1, [(2, (("ncpus", 2),))])
    assert closed(alone, 10, 500, "shared") == (1, [(2, (("ncpus", 2),))])


def test_a_vnode_that_gives_itself_to_one_job_changes_nothing_on_others() -> None:
    for sharing in ("default_excl", "force_excl", "default_exclhost", "force_exclhost", "ignore_excl"):
        vnodes = [vnode("v1", 8, closed=(R1,)), vnode("v2", sharing=sharing)]
        assert closed(vnodes, 10, 500) == (0, [(1, (("ncpus", 2),))]), sharing


def test_a_vnode_that_gives_its_host_whole_is_closed_beside_a_window_of_the_host() -> None:
    for sharing, place, vnodes in (
        ("default_exclhost", "", 3),
        ("default_exclhost", "shared", 0),
        ("default_exclhost", "excl", 2),
        ("force_exclhost", "shared", 3),
        ("default_excl", "", 2),
    ):
        host = [vnode("v1", host="h", sharing=sharing), vnode("v2", host="h", sharing=sharing, closed=(R1,))]
        assert closed(host, 10, 500, place)[0] == vnodes, (sharing, place)


def test_the_window_of_another_vnode_of_the_host_is_named_where_the_job_would_get_the_host() -> None:
    host = [vnode("v1", 8, host="h", sharing="force_exclhost"), vnode("v2", 8, host="h", closed=(R1,))]
    plan = plan_for(cluster(host, [job("1", select="1:ncpus=7", estimate_s=500)]))
    assert [each.at_s for each in plan.estimates] == [200]
    ((_, reason),) = plan.reasons().values()
    assert reason.number("in_the_way") == "reservation R1"


def test_a_queue_that_is_closed_is_closed_everywhere() -> None:
    shut = queue(closed=(Window(100, 200, "dedicated time"),))
    windows = windows_of(cluster([vnode("v1")], queues=[shut]).cluster(), 10, 0)
    assert windows is not None
    assert windows.closed_to(job("1", estimate_s=100), 10).vnodes == -1
    assert windows.closed_to(job("1", estimate_s=90), 10) is NOTHING_CLOSED
    assert windows.closed_to(job("1", queue_name="other"), 10) is NOTHING_CLOSED


def test_a_window_may_be_closed_to_starts_or_to_going_on_past_its_end() -> None:
    starts = Window(100, 200, "non-prime time", closed_to=STARTS)
    kept = Window(200, 300, "prime time", closed_to=CROSSING, past_end_s=30)
    windows = windows_of(cluster([vnode("v1")], queues=[queue(closed=(starts, kept))]).cluster(), 10, 0)
    assert windows is not None
    assert windows.changes_s == [200, 300]

    def is_closed(start_s: float, end_s: float) -> bool:
        return windows.closed_for(parse_request("1"), QUEUE, start_s, end_s) is not NOTHING_CLOSED

    assert [is_closed(start_s, 330) for start_s in (99, 100, 199, 200, 299, 300)] == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]
    assert [is_closed(start_s, 331) for start_s in (99, 200, 299, 300)] == [False, True, True, False]


def test_windows_that_are_over_are_none() -> None:
    assert windows_of(cluster([vnode("v1", closed=(R1,))]).cluster(), 200, 0) is None


def test_a_planned_start_keeps_clear_by_a_pass_interval() -> None:
    """Run 1 ends at 50, and the head needs 40 s: with an interval of 10 s that is clear of R1 at 100, with 11 not."""
    for interval_s, at_s in ((10, 50), (11, 200)):
        there = cluster([vnode("v1", closed=(R1._replace(amounts=None),))], [job("2", select="4", estimate_s=40)],
                        [run("1", "bob", "v1=1", 0, 50)])  # fmt: skip
        plan = plan_for(there, Settings(schedule=ScheduleSettings(interval_s=interval_s, budget_s=1)))
        assert [estimate.at_s for estimate in plan.estimates] == [at_s]


def test_of_windows_that_keep_all_room_the_first_is_named_and_counted() -> None:
    """3 needs both vnodes; each is kept by a reservation of its own, and nothing of 2 fits now."""
    windows = [Window(0, end_s, f"reservation R{end_s}") for end_s in (70, 90)]
    vnodes = [vnode(f"v{number}", 4, closed=(window,)) for number, window in enumerate(windows, start=1)]
    plan = plan_for(cluster(vnodes, [job("3", select="2:ncpus=4", place="scatter")]))
    (wait,) = plan.waits
    (tried,) = (each for each in wait.reason.tried if each.code == "into-window")
    expected_text = "no vnodes have room for it but those that reservation R70 and 1 more keep"
    assert tried.sentence(wait.jobs[0], 10) == expected_text
    both = [window._replace(end_s=90) for window in windows]
    vnodes = [vnode(f"v{number}", 4, closed=(window,)) for number, window in enumerate(both, start=1)]
    (wait,) = plan_for(cluster(vnodes, [job("3", select="2:ncpus=4", place="scatter")])).waits
    assert "when reservation R70 and reservation R90 are over" in wait.reason.sentence(wait.jobs[0], 10)


def test_a_pass_asks_for_the_next_when_a_window_ends() -> None:
    there = cluster([vnode("v1", closed=(Window(0, 77, "reservation R1"),))], [job("1")])
    assert plan_for(there).next_s == 77


def test_a_promise_outlives_the_time_in_which_its_queue_is_closed() -> None:
    shut = queue(closed=(Window(100, 200, "dedicated time"),))
    plan = plan_for(cluster([vnode("v1")], [job("1", estimate_s=150)], queues=[shut]))
    assert plan.ledger.promises == {"1": 200}
    later = plan_for(cluster([vnode("v1")], [job("1", estimate_s=150)], queues=[shut], now_s=120), ledger=plan.ledger)
    assert later.ledger.promises == {"1": 200}
    assert [(wait.reason.code, [each.code for each in wait.reason.tried]) for wait in later.waits] == [
        ("reserved", ["queue-closed"])
    ]
    unpromised = plan_for(cluster([vnode("v1")], [job("1", estimate_s=150)], queues=[shut], now_s=120))
    assert ([wait.reason.code for wait in unpromised.waits], unpromised.estimates) == (["queue-closed"], ())


def test_an_endless_window_is_waited_for_by_nobody_at_the_head() -> None:
    there = cluster(
        [vnode("v1", closed=(Window(50, math.inf, "reservation R1"),))], [job("1"), job("2", estimate_s=40)]
    )
    plan = plan_for(there)
    assert [start.id for start in plan.starts] == ["2"]
    assert [wait.reason.code for wait in plan.waits] == ["into-window"]


def test_a_job_is_told_which_window_keeps_vnodes_of_its_queue_now() -> None:
    """One window of the two on v1 has begun; the queue beside it has a vnode of its own."""
    there = cluster(
        [vnode("v1", 4, closed=(R1._replace(amounts=None), R3)), vnode("v2", 4)],
        [job("1", select="4"), job("2", select="4"), job("3", select="4")],
        [run("9", "bob", "v2=4", 0, 1000)],
        now_s=150,
    )
    told = InLine(plan_for(there), Settings()).numbers("2")
    assert told == {"ahead": 1, "kept_by": "reservation R1", "kept_more": 0, "kept_until_s": 200}
    over = InLine(plan_for(there.apply(Changes(300))), Settings()).numbers("2")
    assert "kept_by" not in over
