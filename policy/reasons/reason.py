"""Why a job does not start, or a run is preempted: a code, the numbers behind it, and one sentence.

A reason is made where the decision is made and shared by all jobs to which it applies; what belongs to one job (its
cores, estimate, position) is added when the sentence is written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Callable, Final, Optional, cast, get_args

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job
from policy.model.pbs_units import show_duration, show_job
from policy.reasons.reason_names import (
    FactName,
    JobId,
    MoreNumbers,
    Number,
    NumberName,
    Numbers,
    ReasonCode,
    Time,
)
from policy.reasons.sentence_of_each_reason import SENTENCES, show_shortage
from policy.reasons.walltimes_that_would_fit import is_tested_whole, walltime_until, walltimes_that_do
from policy.values.value_made_often import ValueMadeOften

Moment = Optional[Callable[[float], str]]
"""Writes a future time as a fixed moment (``at 20:35``), for texts that are read later."""

_NOTHING_MORE: MoreNumbers = MappingProxyType({})


class Reason(ValueMadeOften):
    """``code`` is stable and names the rule. ``numbers`` are its inputs, times in seconds of the snapshot's clock.
    ``tried`` are the reasons why what else was tried for the job failed."""

    __slots__ = ("code", "numbers", "tried")

    def __init__(
        self,
        code: ReasonCode,
        numbers: Numbers = (),
        tried: tuple[Reason, ...] = (),
    ) -> None:
        self.code: Final = code
        self.numbers: Final = numbers
        self.tried: Final = tried

    def __eq__(self, other: object) -> bool:
        # Reasons are keys: a pass looks one up for each job that it leaves.
        if self is other:
            return True
        if not isinstance(other, Reason):
            return NotImplemented
        return self.code == other.code and self.numbers == other.numbers and self.tried == other.tried

    def __hash__(self) -> int:
        return hash((self.code, self.numbers, self.tried))

    def number(self, name: NumberName) -> Number:
        """One of the numbers. Raises KeyError where the reason has none of that name."""
        return dict(self.numbers)[name]

    def sentence(self, job: Job, now_s: float, more: MoreNumbers = _NOTHING_MORE, moment: Moment = None) -> str:
        """The sentence for administrators: what the job waits for, until when, and what would change that.

        ``more`` are numbers of this job that a shared reason does not have (:mod:`policy.explain.queue_position`). With
        a ``moment`` the sentence names neither spans from now nor walltimes that would let the job start: these are
        true only for an instant.
        """
        return SENTENCES[self.code](self._facts(job, now_s, more, moment))

    def shortage(self, job: Job, now_s: float) -> str:
        """What the job needs, what is idle, and why that does not do; for a reason that says how much is idle."""
        return show_shortage(self._facts(job, now_s, _NOTHING_MORE, None))

    def _facts(self, job: Job, now_s: float, more: MoreNumbers, moment: Moment) -> Mapping[FactName, Number]:
        facts: dict[FactName, Number] = {"cores": job.cores}
        facts.update(self.numbers)
        is_whole = self.code == "backfill-window" and is_tested_whole(job, facts, now_s)
        facts["estimate"] = _whole_estimate(job) if is_whole else _estimate(job)
        facts.update(more.items())
        facts["dated"] = moment is not None
        saved_s = min(0.0, job.saved_s) if self.code in _BEHIND_HEAD else job.saved_s
        facts["walltime"] = walltime_until(job, facts, now_s, saved_s) if moment is None else ""
        facts["walltimes"] = walltimes_that_do(job, facts) if moment is None else ""
        facts["exclusive"] = job.request.exclusive
        facts["sets"] = "" if job.request.group is None else " or ".join(job.request.group.resources)
        facts["spans"] = job.request.group is None or job.request.group.may_span
        facts["anywhere"] = job.request.only_cores
        facts["requires"] = job.rank is not None and any(need is not None for need in job.rank.needs)
        facts["placed"] = job.rank is not None or job.layout is not None
        if "counted" in facts and "need" not in facts:
            facts["need"] = job.request.amount(str(facts["counted"]))
        for name in _JOBS:
            if name in facts:
                facts[name] = ", ".join(map(show_job, str(facts[name]).split(", ")))
        for at_s, in_words in _IN_WORDS.items():
            if at_s in facts:
                facts[in_words] = _when(facts[at_s], now_s, moment)
        return facts

    def as_json(self, job: Job, now_s: float, more: MoreNumbers = _NOTHING_MORE) -> Mapping[str, object]:
        """The reason as plain data, with its sentence; an infinite time is null."""
        return {
            "code": self.code,
            "numbers": {name: None if value == UNLIMITED_S else value for name, value in self.numbers},
            "sentence": self.sentence(job, now_s, more),
            "tried": [tried.as_json(job, now_s, more) for tried in self.tried],
        }


def unit_of(resource: str, sizes: Collection[str]) -> Numbers:
    """The unit of the amounts of a resource, as numbers of a reason; none if it is not one of the sizes."""
    return (("unit", "kb"),) if resource in sizes else ()


_BEHIND_HEAD: Final = frozenset({"backfill-window", "preempt-delays-head"})
"""Reasons of jobs that a head keeps from starting: their whole walltime has to end before it, as saved work is not
proven."""
_IN_WORDS: dict[FactName, FactName] = {at_s: f"{at_s}_in" for at_s in get_args(Time)}  # type: ignore[misc]
_JOBS: frozenset[FactName] = frozenset(get_args(JobId))


def _estimate(job: Job) -> str:
    """What is left to run, as the subject of a sentence."""
    if job.estimate_s == UNLIMITED_S:
        return "a run without a walltime"
    left = f"its remaining estimate of {show_duration(job.left_s)}" if job.saved_s else None
    return left or f"its estimate of {show_duration(job.estimate_s)}"


def _whole_estimate(job: Job) -> str:
    """The same for a job whose saved work does not count."""
    return f"its whole estimate of {show_duration(job.longest_s)} (it could not be cut)"


def _when(at_s: Number, now_s: float, moment: Moment) -> str:
    if not isinstance(at_s, (int, float)) or at_s == UNLIMITED_S:
        return "at an unknown time (running jobs have no walltime)"
    if at_s <= now_s:
        return "now"
    return f"in {show_duration(at_s - now_s)}" if moment is None else moment(at_s)


def recall(code: str, numbers: tuple[tuple[str, Any], ...]) -> Reason | None:
    """The reason that a ledger has; None for a code that only another version knows."""
    return Reason(code, cast(Numbers, numbers)) if code in SENTENCES else None
