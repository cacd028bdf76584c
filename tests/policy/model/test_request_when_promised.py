"""A promise, and what is kept for a job, belong to the request that they were given to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policy import Changes, Job, Ledger
from policy.model.job_request import Grouping, parse_request
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.request_when_promised import RequestWhenPromised
from tests.policy.clusters import cluster, codes, job, plan_for, run, started, vnode

SELECT = "2:ncpus=4:mem=5gb+1:ncpus=2:host=v1"


def asking(select: str = SELECT, place: str = "", estimate_s: float = 100, **more: Any) -> Job:
    return job("3", "bob", "1", estimate_s)._replace(request=parse_request(select, place), **more)


@pytest.mark.parametrize(
    ("now", "covered"),
    [
        (asking(), True),
        (asking(estimate_s=99), True),
        (asking("2:ncpus=4:mem=4gb+1:ncpus=1:host=v1"), True),
        (asking("1:ncpus=4:mem=5gb"), True),
        (asking("1:ncpus=2:host=v1+2:ncpus=4:mem=5gb"), True),
        (asking(estimate_s=101), False),
        (asking(estimate_s=UNLIMITED_S), False),
        (asking("3:ncpus=4:mem=5gb+1:ncpus=2:host=v1"), False),
        (asking("2:ncpus=4:mem=6gb+1:ncpus=2:host=v1"), False),
        (asking("2:ncpus=4:mem=5gb:ngpus=1+1:ncpus=2:host=v1"), False),
        (asking("2:ncpus=4:mem=5gb+1:ncpus=2:host=v2"), False),
        (asking("2:ncpus=4:mem=5gb+1:ncpus=2"), False),
        (asking(SELECT, "scatter"), False),
        (asking(SELECT, "free:excl"), False),
        (asking(SELECT, "group=rack"), False),
        (asking(queue="express"), False),
        (asking(job_wide=(("licences", 1),)), False),
    ],
)
def test_what_a_promise_covers(now: Job, covered: bool) -> None:
    assert RequestWhenPromised.of(asking()).covers(now) == covered
    assert RequestWhenPromised.from_data(RequestWhenPromised.of(asking()).to_data()).covers(now) == covered


def test_placement_sets_and_the_owner_are_read_back() -> None:
    request = parse_request(SELECT).in_sets(Grouping(("rack", "row"), has_rest=False)).of_owner(("bob", "chem"))
    asked = RequestWhenPromised.of(asking()._replace(request=request))
    assert RequestWhenPromised.from_data(json.loads(json.dumps(asked.to_data()))) == asked
    old = {**RequestWhenPromised.of(asking()).to_data(), "place": ["free", "", "rack"]}
    assert RequestWhenPromised.from_data(old).request == parse_request(SELECT, "group=rack")


def test_limits_that_a_vnode_got_since_take_no_promise_back() -> None:
    limited = asking()._replace(request=parse_request(SELECT).of_owner(("bob", "chem")))
    assert RequestWhenPromised.of(asking()).covers(limited)


def test_more_licences_are_more() -> None:
    asked = RequestWhenPromised.of(asking(job_wide=(("licences", 2),)))
    assert asked.covers(asking(job_wide=(("licences", 1),)))
    assert not asked.covers(asking(job_wide=(("licences", 3),)))


def test_a_job_that_asks_for_more_is_first_in_line_no_longer() -> None:
    """One core is promised to 3; it then asks for all. 4, of a higher priority, is not kept waiting behind it."""
    runs = [run("1", "carol", "v1=8", estimate_s=1000), run("2", "carol", "v2=8", estimate_s=9000)]
    vnodes = [vnode("v1", 8), vnode("v2", 8)]
    first = plan_for(cluster(vnodes, [job("3", "bob", "1")], runs))
    assert first.ledger.promises == {"3": 1000}
    altered = [job("3", "bob", "16", 50_000), job("4", "dave", "8", 20_000, 5)._replace(priority=5)]
    second = plan_for(first.started.apply(Changes(1000, altered, gone=["1"])), ledger=first.ledger)
    assert (started(second), codes(second)["3"]) == (["4"], "reserved")
    assert second.ledger.promises == {"3": 20_000 + 1000}
    assert second.ledger.asked == {"3": RequestWhenPromised.of(altered[0])}


def test_a_job_that_asks_for_less_keeps_its_promise() -> None:
    runs = [run("1", "carol", "v1=8", estimate_s=1000)]
    first = plan_for(cluster([vnode("v1", 8)], [job("3", "bob", "8")], runs))
    less = job("3", "bob", "4", 50)
    second = plan_for(first.started.apply(Changes(20, [less])), ledger=first.ledger)
    assert (second.ledger.promises, second.ledger.asked) == (first.ledger.promises, first.ledger.asked)


def test_a_promise_of_a_ledger_that_knew_no_requests_is_for_what_is_asked_now() -> None:
    runs = [run("1", "carol", "v1=8", estimate_s=1000)]
    plan = plan_for(cluster([vnode("v1", 8)], [job("3", "bob", "8")], runs), ledger=Ledger({"3": 900.0}))
    assert (plan.ledger.promises, plan.ledger.asked) == (
        {"3": 900},
        {"3": RequestWhenPromised.of(job("3", "bob", "8"))},
    )


def test_what_is_forgotten_of_the_job_is_forgotten_of_its_request() -> None:
    runs = [run("1", "carol", "v1=8", estimate_s=1000)]
    first = plan_for(cluster([vnode("v1", 8)], [job("3", "bob", "8")], runs))
    second = plan_for(first.started.apply(Changes(1000, gone=["1"])), ledger=first.ledger)
    assert (started(second), second.ledger.asked) == (["3"], {})
