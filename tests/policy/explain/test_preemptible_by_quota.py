"""Which runs may be preempted by quota: those that a pass would take for a job within quota, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from policy import Ledger, Run, Vnode
from policy.eligibility.soft_quotas import Quotas
from policy.explain.preemptible_by_quota import PreemptibleByQuota
from policy.settings.site_settings import QuotaSettings
from tests.policy.clusters import cluster, queue, run, vnode

USERS = "[u:PBS_GENERIC=4]"
NOW_S = 10.0


def preemptible(
    *runs: Run,
    limits: str = USERS,
    vnodes: tuple[Vnode, ...] = (vnode("v1", 8), vnode("v2", 8)),
    ledger: Ledger | None = None,
    managed: bool = True,
    **settings: Any,
) -> list[str]:
    index = cluster(list(vnodes), [], list(runs), queues=[queue(limits, managed=managed)]).cluster()
    tested = PreemptibleByQuota(index, Quotas(index), ledger or Ledger(), QuotaSettings(**settings), NOW_S)
    return [each.id for each in runs if tested.standing(each) is not None]


def twice(**more: Any) -> tuple[Run, Run]:
    """Two runs of alice's with 8 cores each, the first with ``more``."""
    return run("1", "alice", "v1=8", **more), run("2", "alice", "v2=8", group=more.get("group", ""))


def test_each_run_that_leaves_its_user_at_the_quota() -> None:
    assert preemptible(*twice()) == ["1", "2"]
    assert preemptible(run("1", "alice", "v1=8")) == []


def test_no_run_whose_end_takes_a_group_that_is_at_its_quota_below_it() -> None:
    assert preemptible(*twice(group="chem"), limits=f"{USERS},[g:chem=14]") == []
    assert preemptible(*twice(group="chem"), limits=f"{USERS},[g:chem=8]") == ["1", "2"]


@pytest.mark.parametrize("more", [{"rerunable": False}, {"exiting": True}, {"start_s": NOW_S - 1}])
def test_no_run_that_may_not_be_preempted_itself(more: dict[str, Any]) -> None:
    assert preemptible(*twice(**more), exempt_s=5) == ["2"]


def test_no_run_of_which_no_vnode_takes_jobs() -> None:
    down = (vnode("v1", 8, usable=False), vnode("v2", 8))
    assert preemptible(*twice(), vnodes=down) == ["2"]
    both = run("3", "alice", "v1=4 v2=4"), run("4", "alice", "v1=4")
    assert preemptible(*both, vnodes=down) == ["3"]


def test_none_that_was_preempted_as_often_as_may_be() -> None:
    assert preemptible(*twice(), ledger=Ledger(preemptions={"1": 2}), max_preemptions=2) == ["2"]


def test_none_where_quotas_do_not_preempt_or_the_queue_is_not_managed() -> None:
    assert preemptible(*twice(), preempt=False) == []
    assert preemptible(*twice(), managed=False) == []
