"""Why a job was left alone, or a run preempted: a code, the numbers behind it, and one sentence.

A reason is made where the decision is made and shared by all jobs it holds for; what belongs to the one job (its cores,
its estimate) comes in when the sentence is written. ``tried`` lists what else was tried for the job and why that
failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, NamedTuple, Union

from policy.cluster import UNLIMITED_S, Job
from policy.units import show_duration

Number = Union[int, float, str]


class Reason(NamedTuple):
    """``code`` is stable and names the rule; ``numbers`` are its inputs, times in seconds of the snapshot's clock."""

    code: str
    numbers: tuple[tuple[str, Number], ...] = ()
    tried: tuple[Reason, ...] = ()

    def number(self, name: str) -> Number:
        """One of the numbers. Raises KeyError where the reason has none of that name."""
        return dict(self.numbers)[name]

    def sentence(self, job: Job, now_s: float) -> str:
        """What an administrator reads: what the job waits for, until when, and what would change it."""
        facts: dict[str, Number] = {"cores": job.cores, "estimate": _estimate(job), **dict(self.numbers)}
        for name in _TIMES & facts.keys():
            facts[f"{name}_in"] = _when(facts[name], now_s)
        return _SENTENCES[self.code](facts)

    def as_json(self, job: Job, now_s: float) -> Mapping[str, object]:
        """The reason as plain data, with its sentence; an infinite time is null."""
        return {
            "code": self.code,
            "numbers": {name: None if value == UNLIMITED_S else value for name, value in self.numbers},
            "sentence": self.sentence(job, now_s),
            "tried": [tried.as_json(job, now_s) for tried in self.tried],
        }


_TIMES = frozenset({"at_s", "until_s"})


def _estimate(job: Job) -> str:
    return "without a walltime" if job.estimate_s == UNLIMITED_S else f"of {show_duration(job.estimate_s)}"


def _when(at_s: Number, now_s: float) -> str:
    if not isinstance(at_s, (int, float)) or at_s == UNLIMITED_S:
        return "at a time nobody can tell (running jobs have no walltime)"
    return f"in {show_duration(at_s - now_s)}" if at_s > now_s else "now"


def _cores(count: Number) -> str:
    return "1 core" if count == 1 else f"{count:,} cores" if isinstance(count, int) else f"{count} cores"


Facts = Mapping[str, Number]

_SENTENCES: dict[str, Callable[[Facts], str]] = {
    "blocked": lambda f: f"may not start: {f['why']}",
    "not-before": lambda f: f"may not start before its set time, {f['at_s_in']}",
    "queue-stopped": lambda f: f"queue {f['queue']} is stopped: starting the queue lets it run",
    "queue-unknown": lambda f: f"queue {f['queue']} is not one that pbsteer manages: PBS's own scheduler decides",
    "hard-limit": lambda f: (
        f"{f['scope']} allows {f['entity']} {f['limit']} {f['what']} and {f['used']} are in use:"
        " it starts when enough of them end, or when the limit is raised"
    ),
    "server-resource": lambda f: f"asks for {f['asked']} {f['resource']} of the server: {f['left']} are left",
    "never-fits": lambda f: (
        f"needs {_cores(f['cores'])} in {f['pieces']} piece(s), and the vnodes open to queue {f['queue']} could hold"
        f" {f['possible']} piece(s) of that kind even if all were idle: ask for less, or bring back vnodes"
    ),
    "never-arranged": lambda f: (
        f"would not fit even if all jobs had ended: the vnodes open to queue {f['queue']} that take jobs do not hold it"
        " in the arrangement it asks for"
    ),
    "reserved": lambda f: (
        f"first in line: needs {_cores(f['cores'])}, {f['idle']} are idle; reserved to start {f['at_s_in']},"
        f" when enough running jobs have ended"
    ),
    "behind-head": lambda f: f"waits its turn behind {f['head']}, as no backfilling is set",
    "too-few-idle": lambda f: f"needs {_cores(f['cores'])}: {f['idle']} are idle",
    "fragmented": lambda f: (
        f"needs {_cores(f['cores'])}: {f['idle']} are idle, but not on vnodes in the shape it asks for"
    ),
    "backfill-window": lambda f: (
        f"would fit now, but its estimate {f['estimate']} passes the reservation of {f['head']} {f['at_s_in']},"
        f" beside which {_cores(f['beside'])} are spare: a shorter walltime or fewer cores would let it start"
    ),
    "preempting": lambda f: f"starts as soon as these have let go of their cores: {f['victims']}",
    "limit-of-pass": lambda f: f"starts in the next pass: this one has reached its limit of {f['limit']} starts",
    "no-quota": lambda f: f"preempts nobody: {f['user']} has no quota in queue {f['queue']}",
    "over-quota": lambda f: (
        f"preempts nobody: {f['entity']} would use {f['used']} + {f['need']} of a quota "
        f"of {f['limit']} in queue {f['queue']}"
    ),
    "preempt-delay": lambda f: f"may preempt {f['at_s_in']}, if nothing ends first",
    "no-victims": lambda f: (
        f"preempts nobody: with all {_cores(f['preemptible'])} of over-quota jobs that may be preempted, it would still"
        f" not fit ({f['idle']} idle)"
    ),
    "exempt-victims": lambda f: (
        f"preempts nobody yet: {_cores(f['exempt'])} of over-quota jobs are still in "
        f"their exempt time; the first can be preempted {f['at_s_in']}"
    ),
    "preempt-delays-head": lambda f: "preempts nobody: running it on their cores would delay the job first in line",
    "victims-of-pass": lambda f: f"may preempt in the next pass: this one has taken {f['limit']} victims already",
    "preempted-quota": lambda f: (
        f"preempted for {f['beneficiary']}: {f['entity']} held {f['used']} of a quota of "
        f"{f['limit']} in queue {f['queue']}"
    ),
    "passed-over": lambda f: (
        f"would start on idle cores, but those go to {f['beneficiary']}, which is within its quota"
    ),
}

CODES = frozenset(_SENTENCES)
"""Every code a reason can have."""
