"""Cores kept for a beneficiary until it runs, whatever rule took them."""

from __future__ import annotations

import pytest

from policy import Changes, Job, Ledger, Plan, Queue, Reading, Run, Settings, Snapshot
from policy.model.job_preferences import RankPreference, Requirements
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, HardLimits
from policy.model.ledger_between_passes import CLASS, PROMISE, QUOTA, RESCUE, Backfilled, Earmark
from policy.model.priority_class import BASE
from policy.order.site_order_settings import SiteOrder
from policy.settings.site_settings import BackfillSettings, PrioritySettings, QuotaSettings
from tests.policy.clusters import (
    QUEUE,
    cluster,
    codes,
    job,
    place_of,
    plan_for,
    quotas,
    run,
    started,
    victims,
    vnode,
)

RULES = (QUOTA, CLASS, PROMISE, RESCUE)
SETTINGS = Settings(BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=60))
rules = pytest.mark.parametrize("rule", RULES)


QUEUED = Queue(QUEUE, quotas=quotas("[u:alice=0],[u:bob=4]"), priorities=quotas("[u:bob=5]"))


def of(*jobs: Job, lingers: bool = True) -> Snapshot:
    """alice's 1, over quota and in the base class, holds v1 as long as it lingers; bob may preempt by either rule."""
    runs = [run("1", "alice", "v1=4", 0, 500)] if lingers else []
    return cluster([vnode("v1")], jobs, runs, queues=[QUEUED], now_s=100)


def held(rule: str, since_s: float = 90, where: str = "v1=4") -> Ledger:
    return Ledger(earmarks={"3": Earmark(place_of(where), ("1",), since_s, rule)}, preemptions={"1": 1})


BOB = job("3", "bob", "4", 300)


@rules
def test_the_victim_is_asked_again_while_it_lingers(rule: str) -> None:
    plan = plan_for(of(BOB), SETTINGS, held(rule))
    assert [(each.id, each.beneficiary, each.again) for each in plan.preempts] == [("1", "3", True)]
    assert codes(plan) == {"3": "preempting"}
    assert plan.ledger.earmarks == held(rule).earmarks
    assert plan.ledger.preemptions == {"1": 1}


@pytest.mark.parametrize(
    ("rule", "code"),
    [(QUOTA, "preempted-quota"), (CLASS, "preempted-class"), (PROMISE, "cut-for-promise"), (RESCUE, "cut-for-rescue")],
)
def test_the_victim_is_told_by_which_rule(rule: str, code: str) -> None:
    """Rule B takes no run of bob's own class."""
    ledger = held(rule)._replace(classes={"1": 5 if rule == QUOTA else BASE})
    (preempt,) = plan_for(of(BOB), SETTINGS, ledger).preempts
    assert preempt.reason.code == code
    assert preempt.reason.number("beneficiary") == "3"


@rules
def test_the_beneficiary_starts_when_its_cores_are_free(rule: str) -> None:
    plan = plan_for(of(BOB, lingers=False), SETTINGS, held(rule))
    assert started(plan) == ["3"]
    assert plan.ledger.earmarks == {}


@rules
def test_only_a_rescued_job_counts_as_backfilled(rule: str) -> None:
    plan = plan_for(of(BOB, lingers=False), SETTINGS, held(rule))
    backfilled = {"3": Backfilled(400)} if rule == RESCUE else {}
    assert plan.ledger.backfilled == backfilled


@rules
def test_nobody_else_gets_them_meanwhile(rule: str) -> None:
    """v1 has let go of two of the four cores that are kept; carol's job would fit there."""
    snapshot = of(BOB, job("2", "carol", "2", 10)).apply(
        Changes(100, running=[run("1", "alice", "v1=2", 0, 500)], gone=["1"])
    )
    assert started(plan_for(snapshot, SETTINGS, held(rule))) == []


@rules
def test_a_hold_is_given_up_after_a_while(rule: str) -> None:
    settings = Settings(SETTINGS.backfill, QuotaSettings(give_up_s=60, max_preemptions=1))
    assert plan_for(of(BOB), settings, held(rule, since_s=41)).ledger.earmarks.keys() == {"3"}
    given_up = plan_for(of(BOB), settings, held(rule, since_s=40))
    assert (given_up.ledger.earmarks, victims(given_up)) == ({}, {})


@rules
def test_a_victim_that_runs_again_after_the_clock_was_set_back_is_no_lingering_victim(rule: str) -> None:
    """The hold is of an hour from now. Before the next pass 1 has let go of v1, and begun again on v2."""
    before = cluster([vnode("v1"), vnode("v2")], [BOB], [run("1", "alice", "v1=4", 0, 500)], queues=[QUEUED], now_s=100)
    ledger = plan_for(before, SETTINGS, held(rule, since_s=3700)).ledger
    assert {earmark.since_s for earmark in ledger.earmarks.values()} == {100}
    again = run("1", "alice", "v2=4", 101, 500)
    after = cluster([vnode("v1"), vnode("v2")], [BOB], [again], queues=[QUEUED], now_s=102)
    plan = plan_for(after, SETTINGS, ledger)
    assert (started(plan), victims(plan)) == (["3"], {})


@rules
def test_a_hold_of_the_future_is_given_up_after_a_while(rule: str) -> None:
    """The clock was set back by a day since the hold began: it begins now, and lasts no day."""
    settings = Settings(SETTINGS.backfill, QuotaSettings(give_up_s=60, max_preemptions=1))
    ledger = plan_for(of(BOB), settings, held(rule, since_s=86_500)).ledger
    later = plan_for(of(BOB).apply(Changes(160)), settings, ledger)
    assert (later.ledger.earmarks, victims(later)) == ({}, {})


@pytest.mark.parametrize("rule", [QUOTA, CLASS])
def test_a_site_that_turns_preemption_off_lets_the_victim_go(rule: str) -> None:
    off = Settings(SETTINGS.backfill, QuotaSettings(preempt=False), PrioritySettings(preempt=False))
    assert victims(plan_for(of(BOB), off, held(rule))) == {}


@rules
def test_a_beneficiary_that_is_held_meanwhile_loses_them(rule: str) -> None:
    plan = plan_for(of(BOB._replace(blocked="held by its user")), SETTINGS, held(rule))
    assert (plan.ledger.earmarks, victims(plan)) == ({}, {})


@rules
def test_what_the_victim_of_a_later_beneficiary_freed_is_not_for_an_earlier_one_whose_own_lingers(rule: str) -> None:
    """Both beneficiaries are to run on v1. The victim of 4 has let go of its half, that of 3 has not."""
    runs = [run("1", "alice", "v1=2", 0, 500), run("5", "alice", "v2=4", 0, 500)]
    snapshot = cluster(
        [vnode("v1"), vnode("v2")],
        [job("3", "bob", "2", 300), job("4", "bob", "2", 300)],
        runs,
        queues=[QUEUED],
        now_s=100,
    )
    earmarks = {"3": Earmark(place_of("v1=2"), ("1",), 90, rule), "4": Earmark(place_of("v1=2"), ("2",), 90, rule)}
    plan = plan_for(snapshot, SETTINGS, Ledger(earmarks=earmarks, preemptions={"1": 1, "2": 1}))
    assert started(plan) == ["4"]
    assert [(each.id, each.beneficiary, each.again) for each in plan.preempts] == [("1", "3", True)]


@rules
def test_a_vnode_that_went_down_is_replaced_once_the_victims_are_gone(rule: str) -> None:
    snapshot = of(BOB, lingers=False).apply(Changes(100, vnodes=[vnode("v1", usable=False, state="down"), vnode("v2")]))
    plan: Plan = plan_for(snapshot, SETTINGS, held(rule))
    assert [each.allocation.vnodes for each in plan.starts] == [("v2",)]


@rules
def test_a_beneficiary_that_starts_is_not_attempted_again_in_its_schedulers_order(rule: str) -> None:
    """alice's 2, on the other vnode, would be the next victim."""
    queue = Queue(QUEUE, quotas=quotas("[u:alice=0],[u:bob=8]"), priorities=quotas("[u:bob=5]"), order=SiteOrder())
    other = run("2", "alice", "v2=4", 0, 500)
    plan = plan_for(
        cluster([vnode("v1"), vnode("v2")], [BOB], [other], queues=[queue], now_s=100), SETTINGS, held(rule)
    )
    assert started(plan) == ["3"]
    assert victims(plan) == {}
    assert codes(plan) == {}


def test_a_promise_survives_the_limit_that_its_own_earmarked_start_fills() -> None:
    """bob may run one job. His is to start once 1 has gone, without a walltime: its own start is not in its way."""
    queue = Queue(QUEUE, quotas=quotas("[u:alice=0],[u:bob=4]"), hard=HardLimits(max_run=quotas("[u:PBS_GENERIC=1]")))
    bob = job("3", "bob", "4", UNLIMITED_S)
    snapshot = cluster([vnode("v1")], [bob], [run("1", "alice", "v1=4", 0, 500)], queues=[queue], now_s=100)
    plan = plan_for(snapshot, SETTINGS, Ledger({"3": 500.0}))
    assert (victims(plan), plan.ledger.promises) == ({"1": "3"}, {"3": 500.0})


@rules
def test_on_other_cores_than_its_own_it_delays_no_promised_head(rule: str) -> None:
    """alice's 1 could not be asked and still holds half of v2, so nothing is left that 3 waits for.

    dave's 2 is promised v1 and v3 for when carol's 5 ends; 3 would take v3 until long after that.
    """
    runs = [run("1", "alice", "v2=4", 0, 500), run("5", "carol", "v1=4", 90, 40)]
    waiting = [job("2", "dave", "2:ncpus=8", 60, submit_s=1), job("3", "bob", "8", 300, submit_s=2)]
    queued = Queue(
        QUEUE, quotas=quotas("[u:alice=0],[u:bob=8],[u:dave=16]"), priorities=quotas("[u:bob=8],[u:dave=16]")
    )
    snapshot = cluster([vnode(name, 8) for name in ("v1", "v2", "v3")], waiting, runs, queues=[queued], now_s=100)
    ledger = Ledger(earmarks={"3": Earmark(place_of("v2=8"), (), 90, rule)}, promises={"2": 135})
    no_victims = Settings(SETTINGS.backfill, quota=QuotaSettings(max_preemptions=0))
    plan = plan_for(snapshot, no_victims, ledger)
    assert started(plan) == []
    assert [(each.id, each.at_s) for each in plan.estimates] == [("2", 130)]


# What the beneficiary requires of its vnodes (P4)

GIB = 1 << 20
WISHES = BOB._replace(rank=RankPreference("memory", Requirements(memory_kib=48 * GIB)))


def read(**left_gib: int) -> dict[str, Reading]:
    return {name: Reading(99, memory_kib=left * GIB, memory_all_kib=64 * GIB) for name, left in left_gib.items()}


def wishful(readings: dict[str, Reading], *runs: Run) -> Snapshot:
    return cluster([vnode("v1"), vnode("v2")], [WISHES], runs, queues=[QUEUED], now_s=100, readings=readings)


@rules
def test_it_starts_on_its_cores_only_while_they_are_good_enough(rule: str) -> None:
    assert started(plan_for(wishful(read(v1=60, v2=1)), SETTINGS, held(rule))) == ["3"]
    waits = plan_for(wishful(read(v1=1, v2=1)), SETTINGS, held(rule))
    assert codes(waits) == {"3": "not-good-enough"}


@rules
def test_elsewhere_it_starts_on_vnodes_that_are_good_enough_as_well(rule: str) -> None:
    taken = run("8", "zoe", "v1=4", 95, 1000)
    (start,) = plan_for(wishful(read(v1=60, v2=60), taken), SETTINGS, held(rule)).starts
    assert (start.id, [*start.allocation.vnodes]) == ("3", ["v2"])
    assert not started(plan_for(wishful(read(v1=60, v2=1), taken), SETTINGS, held(rule)))


def test_the_reason_of_a_victim_that_lingers_stays_whatever_has_changed_since() -> None:
    """The quota of its owner is raised above what the owner uses, and what remains of bob's priority quota is used up
    by another job of his."""
    quota, classes = Queue(QUEUE, quotas=quotas("[u:alice=0],[u:bob=4]")), QUEUED
    for queue, code in ((quota, "preempted-quota"), (classes, "preempted-class")):
        snapshot = cluster(
            [vnode("v1"), vnode("v2", 1)],
            [job("3", "bob", "1:ncpus=4", 300), job("4", "bob", "1", 300)],
            [run("1", "alice", "v1=4", 0, 500)],
            queues=[queue],
            now_s=100,
        )
        first = plan_for(snapshot, SETTINGS)
        assert started(first) == ["4"]
        raised = Queue(QUEUE, quotas=quotas("[u:alice=9],[u:bob=4]"), priorities=queue.priorities)
        kept = Ledger.from_data(first.ledger.to_data())
        second = plan_for(first.started.apply(Changes(115, queues=[raised])), SETTINGS, kept)
        assert [each.reason for each in second.preempts] == [each.reason for each in first.preempts]
        assert [each.reason.code for each in second.preempts] == [code]
