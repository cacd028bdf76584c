"""One pass where several rules meet; single rules are told in the golden stories."""

from __future__ import annotations

import pytest

from policy import Changes, Ledger, Settings
from policy.model.job_preferences import Layout
from policy.model.ledger_between_passes import Cut
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, started, vnode


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


def test_a_promise_is_forgotten_with_its_job_or_when_it_is_held() -> None:
    snapshot = cluster([vnode("v1")], [job("3", select="4")], [run("1", "alice", "v1=4")])
    ledger = Ledger({"3": 50.0, "9": 60.0})
    assert plan_for(snapshot, None, ledger).ledger.promises == {"3": 50.0}
    held = snapshot.apply(Changes(10, [job("3", select="4", blocked="held")]))
    assert plan_for(held, None, ledger).ledger.promises == {}


def test_the_limit_of_a_pass_is_carried_on_by_the_next() -> None:
    settings = Settings(schedule=ScheduleSettings(max_starts=2))
    snapshot = cluster([vnode("v1", 9)], [job(str(number)) for number in range(1, 6)])
    seen: list[str] = []
    ledger = Ledger()
    for _ in range(3):
        plan = plan_for(snapshot, settings, ledger)
        seen += started(plan)
        snapshot, ledger = plan.started, plan.ledger
    assert seen == ["1", "2", "3", "4", "5"]


def test_each_reason_is_shared_by_the_jobs_it_holds_for() -> None:
    waiting = [job(str(number), select="2") for number in range(2, 9)]
    plan = plan_for(cluster([vnode("v1", 2)], waiting, [run("1", "a", "v1=1")]))
    assert sorted(len(wait.jobs) for wait in plan.waits) == [1, 6]


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
