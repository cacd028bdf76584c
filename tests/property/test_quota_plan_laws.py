"""Planned quotas: at each moment exactly those whose span holds it are set, and after the end all is as before."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from policy.quota_plan.limits_due import PlanRecord, find_due
from policy.quota_plan.planned_quotas import LimitKey, Plan, PlannedQuota, in_force

LIMITS = [
    LimitKey(queue, resource, entity)
    for queue in ("workq", "")
    for resource in ("ncpus", "ngpus")
    for entity in (("u", "alice"), ("g", "chem"), ("u", "PBS_GENERIC"))
]
END_S = 100
values = st.one_of(st.none(), st.integers(0, 5))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Up to four spans after each other for each of some limits, with gaps and without."""
    entries: list[PlannedQuota] = []
    for limit in draw(st.lists(st.sampled_from(LIMITS), unique=True, max_size=4)):
        cuts = sorted(draw(st.lists(st.integers(1, END_S), unique=True, min_size=2, max_size=6)))
        for from_s, until_s in zip(cuts, cuts[1:]):
            if draw(st.booleans()):
                entries.append(PlannedQuota(len(entries) + 1, limit, draw(values), from_s, until_s))
    return tuple(entries)


servers = st.fixed_dictionaries(dict.fromkeys(LIMITS, values))
passes = st.lists(st.integers(0, END_S + 20), unique=True, max_size=30).map(sorted)


@given(plans(), servers, passes)
def test_exactly_the_entries_whose_span_holds_a_moment_are_set(
    plan: Plan, before: dict[LimitKey, int | None], moments_s: list[int]
) -> None:
    has, record = dict(before), PlanRecord()
    for now_s in [*moments_s, END_S + 30]:
        due = find_due(plan, record, has, now_s, lambda _: "")
        has.update((step.limit, step.value) for step in due.steps)
        record = PlanRecord.from_data(due.record.confirmed([step.limit for step in due.steps], now_s).to_data())
        assert has == {**before, **{limit: entry.quota for limit, entry in in_force(plan, now_s).items()}}
        assert not find_due(plan, record, has, now_s, lambda _: "").steps, "once is enough"
    assert has == before
    assert not record.overrides


@given(plans(), servers, passes, st.randoms(use_true_random=False))
def test_kills_refusals_pauses_and_modes_change_nothing_of_the_end(
    plan: Plan, before: dict[LimitKey, int | None], moments_s: list[int], chance: random.Random
) -> None:
    has, record = dict(before), PlanRecord()
    for now_s in [*moments_s, END_S + 30]:
        last = now_s > END_S + 20
        paused = "paused" if chance.random() < 0.2 and not last else ""
        why_not = "observe" if chance.random() < 0.2 and not last else ""
        due = find_due(plan, record, has, now_s, dict.fromkeys(LIMITS, why_not).__getitem__, paused)
        assert not (paused and due.steps)
        record, done = due.record, []
        for step in due.steps:
            if last or chance.random() < 0.7:
                has[step.limit] = step.value
                done.append(step.limit)
        if last or chance.random() < 0.7:
            record = record.confirmed(done, now_s)
        record = PlanRecord.from_data(record.to_data())
        assert all(has[limit] in {before[limit], *(e.quota for e in plan if e.limit == limit)} for limit in LIMITS)
    assert has == before


@given(plans(), servers, passes, st.randoms(use_true_random=False))
def test_what_is_changed_by_hand_stays_until_the_next_entry_begins(
    plan: Plan, before: dict[LimitKey, int | None], moments_s: list[int], chance: random.Random
) -> None:
    has, record = dict(before), PlanRecord()
    by_hand: dict[LimitKey, tuple[int, int]] = {}
    for now_s in [*moments_s, END_S + 30]:
        due = find_due(plan, record, has, now_s, lambda _: "")
        has.update((step.limit, step.value) for step in due.steps)
        record = due.record.confirmed([step.limit for step in due.steps], now_s)
        for limit, (value, since_s) in list(by_hand.items()):
            begun = [e for e in plan if e.limit == limit and since_s < e.from_s <= now_s]
            if begun:
                del by_hand[limit]
            else:
                assert has[limit] == value
        if chance.random() < 0.5:
            limit = chance.choice(LIMITS)
            value = chance.randint(100, 200)
            has[limit] = value
            by_hand[limit] = (value, now_s)
