"""Whether the laws of quotas and classes would notice.

The engine is broken in one place at a time, and each time the law must find a counterexample among the examples that it
is tried with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy.backfill.queues_sharing_vnodes import Region
from policy.cycle.job_attempt import JobAttempts
from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.unpreemptible_only_within_quota import Confined
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.model.priority_class import BASE
from policy.preemption.precedence_over_head import Claims
from policy.preemption.preempt_for_job import Preemption
from policy.preemption.preemptible_sums_by_owner_and_class import PreemptionRights
from policy.preemption.victim_candidates_and_gain_bounds import Candidates
from policy.preemption.victim_selection import VictimSelection
from policy.reasons.reason import Reason
from policy.state.closure_windows import Closed
from tests.property import (
    test_head_yields_to_entitled_jobs,
    test_priority_class_preemption_laws,
    test_unpreemptible_laws,
)

Law = Callable[..., None]

SEEDS = range(6)


class Mutation(NamedTuple):
    """What is broken, in words; where; and the function that takes the place of the one there, given that one."""

    title: str
    owner: type
    name: str
    broken: Callable[[Any], Any]


def _spares(is_spared: Callable[[Run], bool]) -> Callable[[Any], Any]:
    """Rules A and B leave these runs alone."""
    return lambda real: lambda self, run, job, rights: None if is_spared(run) else real(self, run, job, rights)


def _spares_other_queues(real: Any) -> Any:
    def offer(self: VictimSelection, run: Run, job: Job, rights: PreemptionRights) -> object:
        return real(self, run, job, rights) if run.job.queue == job.queue else None

    return offer


def _without_entries(scope: str | None = None, resource: str | None = None) -> Callable[[Any], Any]:
    """Rule A takes no run of an owner over an entry of that scope or on that resource."""

    def broken(real: Any) -> Any:
        def rule_for(self: VictimSelection, run: Run, rights: PreemptionRights) -> Any:
            victim = real(self, run, rights)
            standing = None if victim is None else victim.standing
            return (
                None if standing is not None and (standing.scope == scope or standing.resource == resource) else victim
            )

        return rule_for

    return broken


def _vetoes_victims(real: Any) -> Any:
    def preempt(self: JobAttempts, job: Job, allowed: int, region: Region) -> Any:
        gives_way = region.reservation is not None and self.heads.gives_way(job, region)
        return (Reason("preempt-delays-head", (("before_s", 0.0),)),) if gives_way else real(self, job, allowed, region)

    return preempt


def _only_heads_preempt(_: Any) -> Any:
    return lambda self, job, _region, main: self._builder.leave(job, main)


def _takes_lower_only(real: Any) -> Any:
    return lambda self, rank, queue: real(self, rank, queue) and rank < self.rank


def _takes_equal_classes(real: Any) -> Any:
    return lambda self, rank, queue: real(self, rank - 1, queue)


def _capped_sooner(real: Any) -> Any:
    def all_candidates(self: Candidates) -> list[Run]:
        counts = self._ledger.preemptions
        return [run for run in real(self) if counts.get(run.id, 0) < self._quota.cap - 1]

    return all_candidates


def _within_without_quota(real: Any) -> Any:
    return lambda self, job: not self._quotas.bounds(job) or real(self, job)


def _no_victims_beside_windows(real: Any) -> Any:
    def find(self: Preemption, *args: Any) -> Any:
        closed: Closed = args[4]
        return Reason("no-victims", (("preemptible", 0), ("idle", 0))) if closed.key else real(self, *args)

    return find


def _no_rights_for_arrays(real: Any) -> Any:
    no_quota = Reason("no-quota", (("user", ""), ("queue", "")))
    return lambda self, job: real(self, job) if job.subjobs is None else (None, (no_quota,))


def _told_of(why: str) -> Callable[[Any], Any]:
    """Jobs are confined for this cause only."""

    def broken(real: Any) -> Any:
        return lambda self, job: told if why in (told := real(self, job)) else ""

    return broken


_NO_NUMBERS = (("entity", "u:x"), ("used", 0), ("need", 0), ("limit", 0), ("queue", ""), ("resource", "ncpus"))


def _confined_within_quota(real: Any) -> Any:
    def why(self: Confined, job: Job, where: Allocation | None = None) -> Reason | None:
        told = self._why_not_preempted(job)
        return (
            Reason("unpreemptible", (("why", told),)) if told and self._quotas.bounds(job) else real(self, job, where)
        )

    return why


def _classes_forgotten(real: Any) -> Any:
    return lambda self, ledger: real(self, ledger._replace(classes={}))


ENTITLED = (
    Mutation("no head gives way", Claims, "outranks", lambda _: lambda *_: False),
    Mutation("heads give way to higher classes only", Claims, "outranks", lambda _: Claims.outranks_by_class),
    Mutation("a head that gives way vetoes victims all the same", JobAttempts, "_preempt", _vetoes_victims),
    Mutation("only the head preempts", JobAttempts, "_preempt_or_leave", _only_heads_preempt),
    Mutation("rule A takes no run", PreemptionRights, "may_take", lambda _: lambda *_: False),
    Mutation("rule B takes no run", PreemptionRights, "by_class", lambda _: lambda *_: False),
    Mutation("all waiting jobs are of the base class", Classes, "of", lambda _: lambda *_: BASE),
    Mutation("rule A takes lower classes only", PreemptionRights, "may_take", _takes_lower_only),
    Mutation("quotas of the server make no run a victim", VictimSelection, "_rule_for", _without_entries(scope="")),
    Mutation("quotas on GPUs make no run a victim", VictimSelection, "_rule_for", _without_entries(resource="ngpus")),
    Mutation(
        "runs with vnodes to themselves stay", VictimSelection, "_offer", _spares(lambda r: r.job.request.exclusive)
    ),
    Mutation("subjobs stay", VictimSelection, "_offer", _spares(lambda run: run.subjob is not None)),
    Mutation("runs of other queues stay", VictimSelection, "_offer", _spares_other_queues),
    Mutation("runs stay one preemption before the cap", Candidates, "_all_candidates", _capped_sooner),
    Mutation("a head without a quota counts as within it", Claims, "is_within", _within_without_quota),
    Mutation("a job with a reservation ahead preempts no job", Preemption, "find", _no_victims_beside_windows),
    Mutation("arrays preempt no job", Preemption, "rights", _no_rights_for_arrays),
)
"""Of the law that no entitled job waits beside runs that may be taken for it."""

CONFINED = (
    Mutation("no job is confined", Confined, "why", lambda _: lambda *_: None),
    Mutation("the cap confines no job", Confined, "_why_not_preempted", _told_of("not rerunnable")),
    Mutation("what is not rerunnable is not confined", Confined, "_why_not_preempted", _told_of("cap")),
    Mutation("every job is confined", Confined, "_why_not_preempted", lambda _: lambda *_: "it is a job"),
    Mutation("confined jobs have no share of the quota", Confined, "why", _confined_within_quota),
)
"""Of the law that what may not be preempted starts within quota only."""

CLASSES: tuple[tuple[Mutation, Law], ...] = (
    (
        Mutation("rule B takes equal classes", PreemptionRights, "by_class", _takes_equal_classes),
        test_priority_class_preemption_laws.test_who_has_waited_longer_in_the_same_class_keeps_its_cores,
    ),
    (
        Mutation("no quota bounds a class", Classes, "_left", lambda _: lambda *_: 1000),
        test_priority_class_preemption_laws.test_a_job_starts_in_the_class_that_is_left_for_it,
    ),
    (
        Mutation("the class of a run is decided anew", Classes, "_classes_of_runs", _classes_forgotten),
        test_priority_class_preemption_laws.test_the_class_of_a_run_is_frozen,
    ),
    (
        Mutation("rule B takes no run", PreemptionRights, "by_class", lambda _: lambda *_: False),
        test_priority_class_preemption_laws.test_a_job_that_all_lower_runs_would_make_room_for_does_not_wait,
    ),
    (
        Mutation("higher classes go first", Candidates, "_lowest_first", lambda real: lambda *args: real(*args)[::-1]),
        test_priority_class_preemption_laws.test_lower_classes_go_first_and_among_equals_the_later_submitted,
    ),
)
"""Each with the law of classes that it breaks."""


def finds_a_counterexample(law: Law, strategy: st.SearchStrategy[Any], examples: int) -> bool:
    """Whether the law fails on one of so many examples, drawn with one of the :data:`SEEDS`: what the law itself is
    tried with changes with each letter of its source."""
    trial = settings_of_law(
        max_examples=examples, database=None, deadline=None, phases=[Phase.generate], derandomize=False,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    inner = law.hypothesis.inner_test  # type: ignore[attr-defined]

    def fails_with(number: int) -> bool:
        try:
            seed(number)(trial(given(strategy)(inner)))()
        except AssertionError:
            return True
        return False

    return any(fails_with(number) for number in SEEDS)


def _break(monkeypatch: pytest.MonkeyPatch, mutation: Mutation) -> None:
    monkeypatch.setattr(mutation.owner, mutation.name, mutation.broken(getattr(mutation.owner, mutation.name)))


@pytest.mark.parametrize("mutation", ENTITLED, ids=lambda mutation: mutation.title)
def test_the_law_of_entitled_jobs_notices(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    laws = test_head_yields_to_entitled_jobs
    law = laws.test_no_entitled_job_waits_beside_runs_that_may_be_taken_for_it
    _break(monkeypatch, mutation)
    assert finds_a_counterexample(law, laws.situations(), laws.EXAMPLES)


@pytest.mark.parametrize("mutation", CONFINED, ids=lambda mutation: mutation.title)
def test_the_law_of_confined_jobs_notices(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    law = test_unpreemptible_laws.test_what_may_not_be_preempted_starts_within_quota_only_and_waits_only_beyond_it
    _break(monkeypatch, mutation)
    others = test_head_yields_to_entitled_jobs
    assert finds_a_counterexample(law, others.roomy_situations(), others.EXAMPLES)


@pytest.mark.parametrize(("mutation", "law"), CLASSES, ids=[mutation.title for mutation, _ in CLASSES])
def test_the_laws_of_classes_notice(mutation: Mutation, law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = "lower" in law.__name__ or "longer" in law.__name__
    laws = test_priority_class_preemption_laws
    strategy = laws.by_class_only(plain=True) if plain else laws.ranked()
    _break(monkeypatch, mutation)
    assert finds_a_counterexample(law, strategy, laws.EXAMPLES)
