"""Heads: when each gets a reservation, and to which jobs it yields; the golden stories tell the rules one by one."""

from __future__ import annotations

from policy import Changes, Ledger, Settings
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Window
from policy.model.request_when_promised import RequestWhenPromised
from policy.settings.site_settings import BackfillSettings
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, started, vnode


def test_a_rest_of_an_array_is_promised_anew() -> None:
    """The array heads the line; when its first subjob starts at 100 the rest gets a time of its own."""
    array = job("2[]", "bob", "4", subjobs=(1, 2, 3))
    snapshot = cluster([vnode("v1")], [array], [run("1", "alice", "v1=4", 0, 100)])
    first = plan_for(snapshot)
    assert first.ledger.promises == {"2[]": 100}
    second = plan_for(snapshot.apply(Changes(100, gone=["1"])), None, first.ledger)
    assert started(second) == ["2[1]"]
    assert second.ledger.promises == {"2[]": 200}


def test_the_promise_is_the_first_reserved_time_and_the_reservation_may_be_earlier() -> None:
    snapshot = cluster([vnode("v1")], [job("3", select="4")], [run("1", "alice", "v1=4", 0, 100)])
    plan = plan_for(snapshot, None, Ledger({"3": 500.0}))
    assert (plan.estimates[0].at_s, plan.estimates[0].promised_s) == (100, 500)
    assert plan.ledger.promises == {"3": 500.0}


def test_nothing_is_promised_that_nobody_can_tell() -> None:
    snapshot = cluster([vnode("v1")], [job("3", select="4")], [run("1", "alice", "v1=4", 0, UNLIMITED_S)])
    plan = plan_for(snapshot)
    assert (plan.estimates, plan.ledger.promises) == ((), {})


def test_a_job_that_needs_what_windows_without_a_known_end_keep_is_told_these() -> None:
    """v1 is busy until 100, and v2 and v3 are kept; with v4 for v3 two chunks are promised the 100."""
    begun, later = Window(0, UNLIMITED_S, "job 7"), Window(300, UNLIMITED_S, "job 8")
    there = [vnode("v1"), vnode("v2", closed=(begun,)), vnode("v3", closed=(later,))]
    runs = [run("1", "alice", "v1=4", 0, 100)]
    for vnodes, expected_text in (
        (there[:2], "job 7, and when that is over is not known"),
        (there[::2], "job 8, and when that is over is not known"),
        (there, "job 7 and job 8, and when these are over is not known"),
    ):
        waiting = job("3", "bob", f"{len(vnodes)}:ncpus=4", place="scatter", estimate_s=500)
        plan = plan_for(cluster(vnodes, [waiting], runs))
        ((_, reason),) = plan.reasons().values()
        assert (reason.code, plan.estimates) == ("into-window", ())
        sentence = reason.sentence(waiting, 10)
        assert sentence == f"fits at no time that is known: its estimate of 8 min would run into {expected_text}"
    two = job("3", "bob", "2:ncpus=4", place="scatter", estimate_s=500)
    assert plan_for(cluster([*there[:2], vnode("v4")], [two], runs)).ledger.promises == {"3": 100}


def test_a_window_without_a_known_end_on_another_vnode_of_the_host_is_named_too() -> None:
    """The job would get the host whole; no chunk of it fits v2, which is kept."""
    host = [vnode("v1", 4, host="h"), vnode("v2", 2, host="h", closed=(Window(300, UNLIMITED_S, "job 7"),))]
    waiting = job("3", "bob", "1:ncpus=4", place="exclhost", estimate_s=500)
    plan = plan_for(cluster(host, [waiting], [run("1", "alice", "v1=4", 0, 100)]))
    ((_, reason),) = plan.reasons().values()
    assert (reason.code, reason.numbers) == ("into-window", (("window", "job 7"),))


def test_a_job_that_may_not_be_top_job_is_tried_and_holds_back_none_behind_it() -> None:
    """3 waits for all of v1 and v2: nothing is reserved for it, 4 becomes the head, and 5 runs beside that."""
    first = job("3", "bob", "2:ncpus=4", place="scatter", topjob_ineligible=True)
    behind = [job("4", "bob", "2:ncpus=4", estimate_s=1000), job("5", "bob", "3", estimate_s=70)]
    runs = [run("1", "alice", "v1=4", 0, 100)]
    snapshot = cluster([vnode("v1"), vnode("v2")], [first, *behind], runs)
    plan = plan_for(snapshot, None, Ledger({"3": 50.0}, asked={"3": RequestWhenPromised.of(first)}))
    assert started(plan) == ["5"]
    assert codes(plan) == {"3": "topjob-ineligible", "4": "reserved"}
    assert plan.ledger.promises == {"4": 100}
    (reason,) = (wait.reason for wait in plan.waits if wait.jobs[0].id == "3")
    assert reason.sentence(first, 10) == (
        "needs 8 cores, 1 is idle; no cores are reserved for it, as it is set topjob_ineligible: it starts if it fits"
        " when a pass tries it"
    )
    later = plan_for(cluster([vnode("v1"), vnode("v2")], [first, *behind]))
    assert list(started(later)) == ["3"]


def test_a_job_that_may_not_be_top_job_preempts_if_it_may() -> None:
    waiting = job("3", "bob", "4", topjob_ineligible=True)
    snapshot = cluster([vnode("v1")], [waiting], [run("1", "alice", "v1=4")], queues=[queue("[u:alice=0],[u:bob=4]")])
    plan = plan_for(snapshot)
    assert [preempt.id for preempt in plan.preempts] == ["1"]


def test_a_job_that_may_not_be_top_job_is_told_of_the_window_in_its_way() -> None:
    waiting = job("3", "bob", "4", topjob_ineligible=True)
    plan = plan_for(cluster([vnode("v1", closed=(Window(50, 90, "reservation R1"),))], [waiting]))
    ((_, reason),) = plan.reasons().values()
    assert (reason.code, reason.number("in_the_way"), plan.estimates) == ("topjob-ineligible", "reservation R1", ())


def test_a_head_of_one_queue_holds_back_only_those_that_share_its_vnodes() -> None:
    snapshot = cluster(
        [vnode("v1", 4), vnode("v2", 4, partition="P")],
        [job("3", "bob", "4"), job("4", "bob", "3", 1000), job("5", "bob", "3", 1000, queue_name="p")],
        [run("1", "alice", "v1=1", 0, 100)],
        queues=[queue(), queue("", "p", partition="P")],
    )
    assert started(plan_for(snapshot)) == ["5"]


def test_the_order_keeps_no_job_within_quota_behind_a_head_that_is_not() -> None:
    waiting = [job("3", "carol", "8"), job("4", "bob", "1", 50)]
    snapshot = cluster([vnode("v1", 8)], waiting, [run("1", "alice", "v1=4")], queues=[queue("[u:alice=4],[u:bob=4]")])
    assert list(started(plan_for(snapshot, Settings(BackfillSettings(kind="none"))))) == ["4"]


def test_a_job_that_may_not_be_preempted_is_promised_no_vnode_beyond_its_quota() -> None:
    """v2, idle at 100, would be more than bob's quota: his job, alone on its vnode, waits for v1."""
    waiting = job("3", "bob", "1:ncpus=2", place="excl", rerunable=False)
    runs = [run("1", "alice", "v1=2", 0, 500), run("2", "alice", "v2=4", 0, 100)]
    owned = [queue("[u:alice=6],[u:bob=2]")]
    plan = plan_for(cluster([vnode("v1", 2), vnode("v2", 4)], [waiting], runs, queues=owned))
    assert plan.ledger.promises == {"3": 500}


def test_a_promise_lapses_where_the_job_could_start_beyond_its_quota_only() -> None:
    """bob's job may not be preempted, and was promised 100. Only v2 is idle then, and that is more than his quota."""
    waiting = job("3", "bob", "1:ncpus=2", place="excl", rerunable=False)
    runs = [run("1", "alice", "v1=2", 0, 500)]
    owned = [queue("[u:alice=6],[u:bob=2]")]
    snapshot = cluster([vnode("v1", 2), vnode("v2", 4)], [waiting], runs, queues=owned, now_s=100)
    plan = plan_for(snapshot, None, Ledger({"3": 100.0}))
    assert (codes(plan), plan.ledger.promises) == ({"3": "unpreemptible"}, {})
