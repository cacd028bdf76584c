"""Which waiting jobs come first by their claims: class, promise, quota, and only then their place in the queue."""

from __future__ import annotations

from policy import Ledger, Settings
from policy.forecast.first_jobs_in_line import jobs_by_claim
from policy.settings.site_settings import QuotaSettings
from tests.policy.clusters import cluster, job, queue, quotas, run, vnode


def test_without_quotas_and_priorities_the_queue_order_decides() -> None:
    snapshot = cluster([vnode("v1")], [job("1"), job("2"), job("3", submit_s=-5)])
    assert jobs_by_claim(snapshot, Ledger(), Settings()) == ["3", "1", "2"]


def test_a_promise_comes_first_and_a_higher_class_before_it() -> None:
    queues = [queue("[u:carol=4]", priorities=quotas("[u:carol=3]"))]
    jobs = [job("1"), job("2"), job("3", "carol", "4"), job("4", "carol", "4")]
    snapshot = cluster([vnode("v1")], jobs, queues=queues)
    assert jobs_by_claim(snapshot, Ledger(promises={"2": 500.0}), Settings()) == ["3", "2", "1", "4"]


def test_jobs_that_their_quotas_cover_come_before_those_of_users_over_quota() -> None:
    jobs = [
        job("1", "bob", "2"),
        job("2", "bob", "2"),
        job("3", "dave"),
        job("4", "carol", "2"),
        job("5", "carol", "1"),
    ]
    runs = [run("9", "bob", "v1=2")]
    snapshot = cluster([vnode("v1", 8)], jobs, runs, queues=[queue("[u:bob=4],[u:carol=2]")])
    assert jobs_by_claim(snapshot, Ledger(), Settings(quota=QuotaSettings(preempt=True))) == ["1", "4", "2", "3", "5"]
    assert jobs_by_claim(snapshot, Ledger(), Settings(quota=QuotaSettings(preempt=False))) == ["1", "2", "3", "4", "5"]
