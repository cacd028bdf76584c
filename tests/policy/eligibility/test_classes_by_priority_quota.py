"""P2's arithmetic: whose priority a job takes, what remains of the quota, and the order that follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policy import Job, Ledger, Queue, Run, Snapshot
from policy.eligibility.classes_by_priority_quota import Classes, QuotaLeft
from policy.eligibility.soft_quotas import Quotas
from policy.model.ledger_between_passes import CLASS, QUOTA, Earmark
from policy.model.limit_attributes import EntityKey
from policy.model.priority_class import BASE, EXPRESS, HIGHEST_PRIORITY
from policy.order.site_order_settings import SiteOrder
from tests.policy.clusters import QUEUE, cluster, job, place_of, quotas, run, vnode


def prioritised(limits: str, priorities: str, name: str = QUEUE) -> Queue:
    return Queue(name, quotas=quotas(limits), priorities=quotas(priorities))


def classes_of(snapshot: Snapshot, ledger: Ledger | None = None, counted: tuple[str, ...] = ()) -> Classes:
    """The classes of a pass that has put its jobs in order."""
    index = snapshot.cluster()
    classes = Classes(index, ledger or Ledger(), Quotas(index, counted), snapshot.time_s)
    classes.order(index.order)
    return classes


def ranks(snapshot: Snapshot, ledger: Ledger | None = None) -> dict[str, int]:
    classes = classes_of(snapshot, ledger)
    return {job_id: classes.of(each) for job_id, each in sorted(snapshot.jobs.items())}


def with_jobs(
    *jobs: Job, runs: tuple[Run, ...] = (), limits: str = "[u:bob=4]", priorities: str = "[u:bob=9]"
) -> Snapshot:
    return cluster([vnode("v1", 64)], jobs, runs, queues=[prioritised(limits, priorities)])


def test_all_jobs_and_runs_of_an_express_queue_are_above_every_priority() -> None:
    """Whatever their number, and runs that began before it was one too; a priority however high is below."""
    order = SiteOrder(express_from=150)
    express = replace(prioritised("[u:bob=0]", "", "express"), priority=160, order=order)
    waiting = [job("1", "bob", "60"), job("2", "bob", "60"), job("5", "carol", "1")]
    waiting = [each._replace(queue="express") if each.user == "bob" else each for each in waiting]
    old = run("4", "bob", "v1=1")
    old = old._replace(job=old.job._replace(queue="express"))
    queues = [prioritised("[u:carol=9]", f"[u:carol={10**15}]"), express]
    snapshot = cluster([vnode("v1", 64)], waiting, [old], queues=queues)
    classes = classes_of(snapshot, Ledger(classes={"4": BASE}))
    assert [classes.of(each) for each in waiting] == [EXPRESS + 160, EXPRESS + 160, HIGHEST_PRIORITY]
    assert (classes.of_run(old), classes.of_victim(old)) == (BASE, EXPRESS + 160)
    assert classes.comparable("express", QUEUE) and not classes.comparable(QUEUE, "another")
    assert [entry[5].id for entry in classes.order(snapshot.cluster().order)] == ["1", "2", "5"]


def test_jobs_consume_what_remains_in_queue_order() -> None:
    """The second is too large for what the first leaves; the third is not."""
    waiting = (job("1", "bob", "2"), job("2", "bob", "3"), job("3", "bob", "2"))
    assert ranks(with_jobs(*waiting)) == {"1": 9, "2": BASE, "3": 9}


def test_runs_consume_it_before_them() -> None:
    assert ranks(with_jobs(job("3", "bob", "2"), runs=(run("1", "bob", "v1=3"),))) == {"3": BASE}


def test_a_user_beyond_the_quota_has_nothing_left() -> None:
    snapshot = with_jobs(job("3", "bob", "1"), runs=(run("1", "bob", "v1=7"),))
    assert classes_of(snapshot).remaining(snapshot.jobs["3"]) == QuotaLeft("ncpus", 0, 4, "workq")


def test_a_job_that_needs_nothing_of_the_counted_resource_takes_the_priority() -> None:
    queues = [Queue("workq", priorities=quotas("[u:bob=9]"), other_quotas={"ngpus": quotas("[u:bob=0]")})]
    snapshot = cluster([vnode("v1")], [job("3", "bob", "8")], queues=queues)
    assert classes_of(snapshot).of(snapshot.jobs["3"]) == 9


@pytest.mark.parametrize(
    ("limits", "priorities", "subject"),
    [
        ("[u:bob=4],[g:chem=6]", "[u:bob=9],[g:chem=7]", (9, {("u", "bob"): 4})),
        ("[u:bob=4],[g:chem=6]", "[g:chem=7],[u:PBS_GENERIC=3]", (7, {("g", "chem"): 6})),
        ("[u:PBS_GENERIC=4]", "[u:PBS_GENERIC=3],[g:PBS_GENERIC=2]", (3, {("u", "bob"): 4})),
        ("[u:bob=4],[g:PBS_GENERIC=5]", "[g:PBS_GENERIC=2]", (2, {("g", "chem"): 5})),
        ("[g:chem=6]", "[u:bob=9]", (9, {})),
        ("[u:bob=4]", "[u:eve=9],[g:bio=7]", None),
    ],
)
def test_whose_priority_it_is(limits: str, priorities: str, subject: tuple[int, dict[EntityKey, int]] | None) -> None:
    snapshot = with_jobs(job("3", "bob", "1", group="chem"), limits=limits, priorities=priorities)
    found = classes_of(snapshot).subject(snapshot.jobs["3"])
    assert (found and (found.priority, {entry.entity: entry.limit for entry in found.quotas})) == subject


def test_priority_zero_is_above_base() -> None:
    assert ranks(with_jobs(job("3", "bob", "1"), priorities="[u:bob=0]"))["3"] > BASE


def test_each_queue_has_its_own() -> None:
    waiting = [job("3", "bob", "4"), job("4", "bob", "4", queue_name="q")]
    queues = [prioritised("[u:bob=4]", "[u:bob=9]"), prioritised("[u:bob=4]", "[u:bob=2]", "q")]
    assert ranks(cluster([vnode("v1")], waiting, queues=queues)) == {"3": 9, "4": 2}


@pytest.mark.parametrize("held", [{"blocked": "held by its user"}, {"not_before_s": 500.0}])
def test_what_may_not_start_consumes_nothing(held: dict[str, Any]) -> None:
    waiting = (job("1", "bob", "4")._replace(**held), job("2", "bob", "4"))
    assert ranks(with_jobs(*waiting)) == {"1": BASE, "2": 9}


def test_a_job_that_preempted_by_its_class_keeps_it_whatever_its_owner_started_since() -> None:
    """One that preempted by its quota has only what is left. The job behind either gets nothing."""
    snapshot = with_jobs(job("2", "bob", "4"), job("3", "bob", "1"), runs=(run("1", "bob", "v2=1"),))
    for rule, rank in ((CLASS, 9), (QUOTA, BASE)):
        kept = Ledger(earmarks={"2": Earmark(place_of("v1=4"), ("8",), 5, rule)})
        assert ranks(snapshot, kept)["2"] == rank
    assert ranks(snapshot, Ledger(earmarks={"2": Earmark(place_of("v1=4"), ("8",), 5, CLASS)})) == {"2": 9, "3": BASE}


def test_whose_cores_are_kept_already_consumes_first() -> None:
    waiting = (job("1", "bob", "4"), job("2", "bob", "4"))
    kept = Ledger(earmarks={"2": Earmark(place_of("v1=4"), ("8",), 5, "class")})
    assert ranks(with_jobs(*waiting), kept) == {"1": BASE, "2": 9}


def test_by_class_then_in_queue_order() -> None:
    waiting = [job("1", "dave"), job("2", "eve"), job("3", "bob"), job("4", "eve", priority=5)]
    queues = [prioritised("[u:bob=4],[u:eve=4]", "[u:bob=9],[u:eve=3]")]
    index = cluster([vnode("v1")], waiting, queues=queues).cluster()
    ordered = Classes(index, Ledger(), Quotas(index), 0).order(index.order)
    assert [entry[3] for entry in ordered] == ["3", "4", "2", "1"]


def test_the_next_subjob_takes_of_the_quota_what_it_needs() -> None:
    array = job("2[]", "bob", "2", subjobs=(1, 2, 3))
    snapshot = with_jobs(array)
    classes = classes_of(snapshot)
    left = array._replace(subjobs=(2, 3))
    assert (classes.of(array), classes.again(left), classes.again(left)) == (9, 9, BASE)


def test_a_start_freezes_the_class() -> None:
    snapshot = with_jobs(job("3", "bob", "1"))
    classes = classes_of(snapshot)
    classes.start(snapshot.jobs["3"], "3")
    assert classes.of_runs == {"3": 9}


def test_runs_are_remembered_and_forgotten_when_they_end() -> None:
    snapshot = with_jobs(runs=(run("1", "bob", "v1=2"),))
    assert classes_of(snapshot, Ledger(classes={"1": 4, "8": 9})).of_runs == {"1": 4}


def test_runs_that_somebody_else_started_are_classed_as_they_would_have_been() -> None:
    """In order of their starts: 2 + 1 of 4 take the priority; 3 more do not, nor does 1 after them."""
    runs = (
        run("1", "bob", "v1=2", 1),
        run("2", "bob", "v1=1", 2),
        run("3", "bob", "v1=3", 3),
        run("4", "bob", "v1=1", 4),
        run("5", "dave", "v1=1", 0),
    )
    assert classes_of(with_jobs(runs=runs)).of_runs == {"1": 9, "2": 9, "3": BASE, "4": BASE, "5": BASE}
