"""The plan as a value: which entries hold at a moment, which overlap, and what a file of it may not have."""

from __future__ import annotations

from typing import Any

import pytest

from policy.quota_plan.planned_quotas import (
    LimitKey,
    PlanError,
    PlannedQuota,
    find_overlaps,
    in_force,
    moments,
    plan_from_data,
    plan_to_data,
)

ALICE = LimitKey("workq", "ncpus", ("u", "alice"))
BOB = LimitKey("workq", "ncpus", ("u", "bob"))


def entry(number: int, from_s: float, until_s: float, quota: int | None = 8, limit: LimitKey = ALICE) -> PlannedQuota:
    return PlannedQuota(number, limit, quota, from_s, until_s, "root")


def test_the_begin_belongs_to_a_span_and_the_end_does_not() -> None:
    plan = (entry(1, 10, 20), entry(2, 20, 30))
    numbers = [
        in_force(plan, now_s)[ALICE].number if ALICE in in_force(plan, now_s) else 0 for now_s in (9, 10, 20, 30)
    ]
    assert numbers == [0, 1, 2, 0]
    assert list(find_overlaps(plan)) == []
    assert moments(plan, 10, 30) == [20, 30]


def test_spans_overlap_only_for_one_limit_and_also_with_a_longer_one_before_the_last() -> None:
    others = [
        ALICE._replace(queue=""), ALICE._replace(resource="ngpus"), ALICE._replace(entity=("g", "alice")), BOB,
    ]  # fmt: skip
    apart = [entry(number, 0, 100, limit=limit) for number, limit in enumerate(others, 10)]
    long, short, late = entry(1, 0, 100), entry(2, 10, 20), entry(3, 50, 60)
    found = [(first.number, second.number) for first, second in find_overlaps([late, *apart, short, long])]
    assert found == [(1, 2), (1, 3)]


def test_a_plan_reads_back_as_it_was_written() -> None:
    everyone = LimitKey("", "user_priority", ("u", "PBS_GENERIC"))
    plan = (entry(1, 10, 20), entry(2, 0.5, 20, None, everyone))
    assert plan_from_data(plan_to_data(plan)) == plan


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"quota": -1}, "quota is -1; allowed is a whole number from 0 to 1,000,000,000, or null"),
        ({"quota": True}, "quota is True"),
        ({"number": 0}, "number is 0"),
        ({"entity": f"u:{'a' * 65}"}, "a name of 65 characters; allowed are 64"),
        ({"from_s": "now"}, "from_s is 'now'; allowed are seconds since 1970"),
        ({"until_s": float("inf")}, "until_s is inf"),
        ({"until_s": 10}, "until_s is 10; allowed is a moment after from_s, 10"),
        ({"queue": 3}, "queue is 3; allowed is a text"),
        ({"entity": "alice"}, "'alice' is no entity"),
    ],
)
def test_what_an_entry_may_not_have_is_named(changed: dict[str, Any], says: str) -> None:
    data = {"version": 1, "quotas": [{**entry(1, 10, 20).to_data(), **changed}]}
    with pytest.raises(PlanError, match="entry 1") as caught:
        plan_from_data(data)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "data", [None, [], {"version": 2, "quotas": []}, {"version": 1}, {"version": 1, "quotas": [7]}]
)
def test_what_is_no_plan_is_refused(data: object) -> None:
    with pytest.raises(PlanError):
        plan_from_data(data)


def test_numbers_given_twice_and_overlaps_are_refused() -> None:
    with pytest.raises(PlanError, match="same number"):
        plan_from_data(plan_to_data([entry(1, 0, 1), entry(1, 2, 3)]))
    with pytest.raises(PlanError, match="entries 1 and 2 are both for u:alice"):
        plan_from_data(plan_to_data([entry(1, 0, 10), entry(2, 5, 15)]))
