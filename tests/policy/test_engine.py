"""One pass where several rules meet; single rules are told in the golden stories."""

from __future__ import annotations

import pytest

from policy import Changes, Ledger, Settings
from policy.cluster import UNLIMITED_S
from policy.ledger import Cut
from policy.settings import BackfillSettings, CheckpointSettings, PassSettings, StripeSettings
from policy.wishes import Layout
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, started, starts, vnode


def test_an_empty_cluster_has_an_empty_plan() -> None:
    plan = plan_for(cluster([]))
    assert (plan.starts, plan.preempts, plan.estimates, tuple(plan.waits)) == ((), (), (), ())


def test_no_vnodes_at_all() -> None:
    assert codes(plan_for(cluster([], [job("3")]))) == {"3": "never-fits"}


@pytest.mark.parametrize("select", ["1000000000:ncpus=0", "1000000000:ncpus=0:mem=1kb", "1000000000:ncpus=0+1:ncpus=1"])
def test_a_job_of_more_pieces_than_anybody_could_name_never_fits(select: str) -> None:
    """PBS names the vnode of each piece of a start."""
    vnodes = [vnode(name, has={"mem": 2**30}, host=name[0]) for name in ("a0", "a1", "b0", "b1")]
    assert codes(plan_for(cluster(vnodes, [job("3", select=select)]))) == {"3": "never-fits"}


def test_a_rest_of_an_array_is_promised_anew() -> None:
    """The array heads the line; when its first subjob starts at 100 the rest gets a time of its own."""
    array = job("2[]", "bob", "4", subjobs=(1, 2, 3))
    snapshot = cluster([vnode("v1")], [array], [run("1", "alice", "v1=4", 0, 100)])
    first = plan_for(snapshot)
    assert first.ledger.promises == {"2[]": 100}
    second = plan_for(snapshot.apply(Changes(100, gone=["1"])), None, first.ledger)
    assert started(second) == ["2[1]"]
    assert second.ledger.promises == {"2[]": 200}


def test_a_promise_is_forgotten_with_its_job_or_when_it_is_held() -> None:
    snapshot = cluster([vnode("v1")], [job("3", select="4")], [run("1", "alice", "v1=4")])
    ledger = Ledger({"3": 50.0, "9": 60.0})
    assert plan_for(snapshot, None, ledger).ledger.promises == {"3": 50.0}
    held = snapshot.apply(Changes(10, [job("3", select="4", blocked="held")]))
    assert plan_for(held, None, ledger).ledger.promises == {}


def test_the_promise_is_the_first_reserved_time_and_the_reservation_may_be_earlier() -> None:
    snapshot = cluster([vnode("v1")], [job("3", select="4")], [run("1", "alice", "v1=4", 0, 100)])
    plan = plan_for(snapshot, None, Ledger({"3": 500.0}))
    assert (plan.estimates[0].at_s, plan.estimates[0].promised_s) == (100, 500)
    assert plan.ledger.promises == {"3": 500.0}


def test_nothing_is_promised_that_nobody_can_tell() -> None:
    snapshot = cluster([vnode("v1")], [job("3", select="4")], [run("1", "alice", "v1=4", 0, UNLIMITED_S)])
    plan = plan_for(snapshot)
    assert (plan.estimates, plan.ledger.promises) == ((), {})


def test_the_limit_of_a_pass_is_carried_on_by_the_next() -> None:
    settings = Settings(schedule=PassSettings(max_starts=2))
    snapshot = cluster([vnode("v1", 9)], [job(str(number)) for number in range(1, 6)])
    seen: list[str] = []
    ledger = Ledger()
    for _ in range(3):
        plan = plan_for(snapshot, settings, ledger)
        seen += started(plan)
        snapshot, ledger = plan.started, plan.ledger
    assert seen == ["1", "2", "3", "4", "5"]


def test_backfilled_runs_are_remembered_until_they_end() -> None:
    snapshot = cluster(
        [vnode("v1")], [job("3", select="4"), job("4", select="1", estimate_s=50)], [run("1", "a", "v1=3")]
    )
    plan = plan_for(snapshot)
    assert plan.ledger.backfilled.keys() == {"4"}
    assert plan_for(plan.started, None, plan.ledger).ledger.backfilled.keys() == {"4"}
    ended = plan.started.apply(Changes(60, gone=["4"]))
    assert plan_for(ended, None, plan.ledger).ledger.backfilled == {}


def test_each_reason_is_shared_by_the_jobs_it_holds_for() -> None:
    waiting = [job(str(number), select="2") for number in range(2, 9)]
    plan = plan_for(cluster([vnode("v1", 2)], waiting, [run("1", "a", "v1=1")]))
    assert sorted(len(wait.jobs) for wait in plan.waits) == [1, 6]


def test_a_job_that_leaves_the_head_its_vnode_moves_to_another() -> None:
    """By size 4 would go to v2, which the head needs whole at 100; it goes to v1 instead."""
    snapshot = cluster(
        [vnode("v1", 9), vnode("v2", 4)],
        [job("3", "bob", "1:ncpus=4:vnode=v2"), job("4", "carol", "2", 1000)],
        [run("1", "alice", "v2=1", 0, 100)],
    )
    assert starts(plan_for(snapshot)) == {"4": "(v1:ncpus=1)+(v1:ncpus=1)"}


def test_a_head_of_one_queue_holds_back_only_those_that_share_its_vnodes() -> None:
    snapshot = cluster(
        [vnode("v1", 4), vnode("v2", 4, partition="P")],
        [job("3", "bob", "4"), job("4", "bob", "3", 1000), job("5", "bob", "3", 1000, queue_name="p")],
        [run("1", "alice", "v1=1", 0, 100)],
        queues=[queue(), queue("", "p", partition="P")],
    )
    assert started(plan_for(snapshot)) == ["5"]


def test_why_a_job_was_preempted_is_remembered_as_long_as_it_lives() -> None:
    owned = queue("[u:alice=0],[u:bob=4]")
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4", 50)], [run("1", "alice", "v1=4")], queues=[owned])
    first = plan_for(snapshot)
    (preempt,) = first.preempts
    assert first.ledger.cuts == {"1": Cut(10, preempt.reason.code, preempt.reason.numbers)}
    requeued = snapshot.apply(Changes(15, [snapshot.runs["1"].job]))
    second = plan_for(requeued, None, first.ledger)
    assert started(second) == ["3"]
    assert second.ledger.cuts == first.ledger.cuts
    again = plan_for(second.started.apply(Changes(65, gone=["3"])), None, second.ledger)
    assert started(again) == ["1"]
    assert again.ledger.cuts == first.ledger.cuts
    assert plan_for(again.started.apply(Changes(200, gone=["1"])), None, again.ledger).ledger.cuts == {}


def test_a_staggered_job_wakes_the_next_pass() -> None:
    waiting = [job(each, select="8", layout=Layout("stripe", 4)) for each in ("3", "4")]
    snapshot = cluster([vnode(f"v{number}") for number in range(1, 5)], waiting)
    plan = plan_for(snapshot, Settings(stripe=StripeSettings(stagger_s=60)))
    assert codes(plan) == {"4": "staggered"}
    assert plan.next_s == 70


def test_a_job_that_becomes_cheap_to_repeat_wakes_the_next_pass() -> None:
    """4 does not save: it is let in by its shrunk estimate when no more than 30 s are left until the head starts."""
    settings = Settings(
        BackfillSettings("checkpoint", shrink_factor=0.01, shrink_threshold_s=0),
        checkpoint=CheckpointSettings(repeat_at_most_s=30),
    )
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4"), job("4", estimate_s=1000)], [run("1", "alice", "v1=1")])
    plan = plan_for(snapshot, settings)
    assert (codes(plan), plan.next_s) == ({"3": "reserved", "4": "backfill-window"}, 70)
    assert started(plan_for(snapshot.apply(Changes(69)), settings, plan.ledger)) == []
    assert started(plan_for(snapshot.apply(Changes(70)), settings, plan.ledger)) == ["4"]
