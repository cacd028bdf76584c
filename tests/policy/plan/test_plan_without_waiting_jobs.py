"""The plan of a pass in which nothing waits is the one that a whole pass makes."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from policy.model.ledger_between_passes import Backfilled, Cut, History, Moved
from policy.model.request_when_promised import RequestWhenPromised
from policy.plan.pass_context import Context
from policy.plan.plan_builder import PlanBuilder
from policy.plan.plan_without_waiting_jobs import plan_without_waiting_jobs
from tests.policy.clusters import cluster, job, queue, run, vnode

GONE = job("9", "bob", "4")
RUNNING = run("1", "alice", "v1=2")
LEARNED = {"bob": History((60.0,), 60.0, 600.0)}
LEDGERS = {
    "nothing": Ledger(),
    "only what is still true": Ledger(backfilled={"1": Backfilled(900.0, False)}, history=LEARNED),
    "a backfilled run has ended": Ledger(
        backfilled={"7": Backfilled(500.0, True), "1": Backfilled(900.0, False)}, history=LEARNED, seen_s=5.0
    ),
    "the promised job is gone": Ledger({"9": 800.0}, asked={"9": RequestWhenPromised.of(GONE)}),
    "a pass ran out of time": Ledger(first_behind=3, tried_in_vain=2),
    "a victim runs, another is gone": Ledger(
        preemptions={"1": 2, "8": 1}, cuts={"1": Cut(5.0, "rescue", ()), "8": Cut(6.0, "rescue", ())}
    ),
    "classes and core lists of ended runs": Ledger(classes={"1": 3, "8": 2}, cores={"8": {"v1": (0, 1)}}),
    "a moved promise": Ledger(moved={"9": Moved(100.0, 1, "5")}),
    "an old stripe": Ledger(stripes={"v1": 1.0}),
}


@pytest.mark.parametrize("queues", [[queue()], [queue("[u:PBS_GENERIC=1]")]], ids=["plain", "quotas"])
@pytest.mark.parametrize("ledger", LEDGERS.values(), ids=LEDGERS)
def test_it_is_the_plan_of_a_whole_pass(ledger: Ledger, queues: list[object]) -> None:
    snapshot = cluster([vnode("v1", 4)], [], [RUNNING], queues=queues)  # type: ignore[arg-type]  # of queues
    settings = Settings()
    whole = PlanBuilder(Context(snapshot, ledger, settings)).plan()
    short = plan_without_waiting_jobs(snapshot, ledger, settings)
    assert short._replace(waits=whole.waits) == whole
    assert list(short.waits) == list(whole.waits) == []
    assert short.ledger.to_data() == whole.ledger.to_data()


def test_a_ledger_with_nothing_to_forget_stays_the_same_object() -> None:
    ledger = LEDGERS["only what is still true"]
    assert plan_without_waiting_jobs(cluster([vnode("v1", 4)], [], [RUNNING]), ledger, Settings()).ledger is ledger


def test_what_was_learned_stays() -> None:
    ledger = LEDGERS["a backfilled run has ended"]
    left = plan_without_waiting_jobs(cluster([vnode("v1", 4)], [], [RUNNING]), ledger, Settings()).ledger
    assert left == Ledger(backfilled={"1": Backfilled(900.0, False)}, history=LEARNED, seen_s=5.0)
