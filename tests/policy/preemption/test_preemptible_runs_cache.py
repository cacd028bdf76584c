"""What the jobs that preempt no job share, counted in searches begun and in runs that the rules are asked about."""

from __future__ import annotations

from typing import Any

import pytest

import policy.preemption.preempt_for_job
from policy import Plan, Run, Snapshot
from policy.preemption.victim_search import Search
from policy.preemption.victim_selection import VictimSelection
from tests.policy.clusters import cluster, codes, job, plan_for, queue, quota_settings, run, victims, vnode

SETTINGS = quota_settings(victim_order="newest")


def in_vain(selects: list[str]) -> Snapshot:
    """alice has three cores on each of 20 vnodes since long ago and two since lately, and is over her quota by four.

    The newest two runs are all that she gives, and leave two cores idle on two vnodes. One core is idle on each of
    three more vnodes. root, without a quota, is the head; the users, all within quota, ask for pieces of five cores and
    find no run to preempt.
    """
    lately = [run(f"{number}", "alice", f"v{number:02}=2", number - 50.0, 900) for number in range(20)]
    before = [run(f"{20 + number}", "alice", f"v{number:02}=3", -100, 900) for number in range(20)]
    waiting = [job(f"{100 + number}", f"user{number}", select) for number, select in enumerate(selects)]
    quotas = queue("[u:alice=96]," + ",".join(f"[u:user{number}=5]" for number in range(len(selects))))
    vnodes = [vnode(f"v{number:02}", 5, has={"mem": 1000}) for number in range(20)]
    vnodes += [vnode(name, 1, has={"mem": 1000}) for name in ("w1", "w2", "w3")]
    return cluster(vnodes, [job("99", "root", "80"), *waiting], [*lately, *before], queues=[quotas])


def work(selects: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, Plan]:
    """How many searches a pass over such a cluster begins, how often it asks the rules about a run, and its plan."""
    searches: list[Search] = []
    asked: list[str] = []
    offer = VictimSelection._offer

    class Counted(Search):
        def __init__(self, *parts: Any) -> None:
            searches.append(self)
            super().__init__(*parts)

    def ask(self: VictimSelection, run: Run, *more: Any) -> Any:
        asked.append(run.id)
        return offer(self, run, *more)

    with monkeypatch.context() as patched:
        patched.setattr(policy.preemption.preempt_for_job, "Search", Counted)
        patched.setattr(VictimSelection, "_offer", ask)
        plan = plan_for(in_vain(selects), SETTINGS)
    return len(searches), len(asked), plan


def test_jobs_that_ask_for_the_same_share_one_search_whoever_owns_them(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (work(["1:ncpus=5"] * count, monkeypatch) for count in (2, 30))
    assert few[0] == many[0] == 1
    assert few[1] == many[1] > 0
    assert (victims(many[2]), set(codes(many[2]).values())) == ({}, {"reserved", "too-few-idle"})


def test_jobs_that_ask_for_different_things_share_the_runs_that_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shape is looked for by itself; the runs are asked about no more often for thirty shapes than for three."""
    few, many = (work([f"1:ncpus=5:mem={kib}kb" for kib in range(1, count + 1)], monkeypatch) for count in (3, 30))
    assert (few[0], many[0]) == (3, 30)
    assert few[1] == many[1] > 0
    assert victims(many[2]) == {}


def test_what_was_found_no_longer_holds_once_somebody_is_preempted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second job takes a run of two cores: what the others ask for is looked for again, once for both of them."""
    searches, _, plan = work(["1:ncpus=5", "1:ncpus=2", "1:ncpus=5", "1:ncpus=5"], monkeypatch)
    assert victims(plan) == {"19": "101"}
    assert searches == 3
