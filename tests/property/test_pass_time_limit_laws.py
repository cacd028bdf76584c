"""A pass whose time is up in the middle, wherever that is: its plan keeps every law that a whole plan keeps."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from policy import Job, Plan, decide
from policy.plan.pass_time_limit import Deadline
from tests.policy.time_limit_by_call_count import Countdown
from tests.property.oracles import plan_invariants
from tests.property.strategies.situation_strategies import Situation, contended, situations


def plan_by(situation: Situation, deadline: Deadline) -> Plan:
    parts, ledger, settings = situation
    return decide(parts.snapshot(), ledger, settings, deadline=deadline)


def looks() -> st.SearchStrategy[int]:
    """After how many questions the time is up."""
    return st.one_of(st.integers(0, 40), st.integers(0, 400))


@given(situations())
def test_a_deadline_that_never_comes_changes_nothing(situation: Situation) -> None:
    parts, ledger, settings = situation
    # What an earlier pass left out is tried first only where there is a deadline at all.
    ledger = ledger._replace(first_behind=0, tried_in_vain=0)
    whole = decide(parts.snapshot(), ledger, settings)
    assert plan_invariants.told(plan_by((parts, ledger, settings), Countdown())) == plan_invariants.told(whole)


@given(situations(), looks(), st.one_of(st.none(), st.integers(0, 20)))
def test_every_waiting_job_has_exactly_one_outcome_when_the_time_is_up(
    situation: Situation, left: int, share: int | None
) -> None:
    parts, plan = situation[0], plan_by(situation, Countdown(left, share))
    reasons = Counter(job.id for wait in plan.waits for job in wait.jobs)
    began = Counter(start.id for start in plan.starts)
    for job in parts.jobs:
        own = sum(1 for index in job.subjobs if began[job.subjob_id(index)]) if job.subjobs else began[job.id]
        whole = own == (1 if job.subjobs is None else len(job.subjobs))
        assert reasons[job.id] == (0 if whole else 1), job.id


@given(st.one_of(situations(), contended()), looks(), st.one_of(st.none(), st.integers(0, 20)))
def test_no_vnode_is_given_more_than_it_has_when_the_time_is_up(
    situation: Situation, left: int, share: int | None
) -> None:
    parts, plan = situation[0], plan_by(situation, Countdown(left, share))
    assert plan_invariants.oversubscribed(parts.vnodes, plan_invariants.residents(parts, plan)) == []
    assert plan_invariants.oversubscribed(parts.vnodes, plan_invariants.residents_after(parts, plan)) == []


@given(st.one_of(situations(), contended()), looks(), st.one_of(st.none(), st.integers(0, 20)))
def test_a_search_that_is_broken_off_leaves_nothing_behind(situation: Situation, left: int, share: int | None) -> None:
    parts, ledger, settings = situation
    snapshot = parts.snapshot()
    before = plan_invariants.told(decide(snapshot, ledger, settings))
    decide(snapshot, ledger, settings, deadline=Countdown(left, share))
    assert plan_invariants.told(decide(snapshot, ledger, settings)) == before


@given(situations(), looks(), st.one_of(st.none(), st.integers(0, 20)))
def test_the_same_deadline_gives_the_same_plan(situation: Situation, left: int, share: int | None) -> None:
    first, second = (plan_by(situation, Countdown(left, share)) for _ in range(2))
    assert plan_invariants.told(first) == plan_invariants.told(second)


@given(situations(), st.integers(1, 400))
def test_jobs_that_were_left_out_are_tried_in_some_later_pass(situation: Situation, left: int) -> None:
    parts, ledger, settings = situation
    snapshot = parts.snapshot()
    tried: set[str] = set()
    never_tried: set[str] = set()
    # One look more in each pass than the heads and holds of this cluster need.
    needed = Countdown()
    plan = decide(snapshot, ledger, settings, deadline=needed)
    enough = max(left, needed.asked // 2 + 1)
    for _ in range(3 * len(parts.jobs) + 3):
        deadline = Tried(enough)
        plan = decide(snapshot, ledger, settings, deadline=deadline)
        ledger = ledger._replace(first_behind=plan.ledger.first_behind, tried_in_vain=plan.ledger.tried_in_vain)
        tried |= deadline.jobs
        never_tried |= {job.id for wait in plan.waits if wait.reason.code == "not-looked-at" for job in wait.jobs}
    assert never_tried <= tried


class Tried(Countdown):
    """Notes the jobs whose attempts have begun."""

    def __init__(self, left: int) -> None:
        super().__init__(left)
        self.jobs: set[str] = set()

    def begin(self, job: Job) -> None:
        super().begin(job)
        self.jobs.add(job.id)
