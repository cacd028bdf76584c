"""Why a job waits in the few words of a table's cell, with the number that differs from row to row first.

The whole sentence is that of :meth:`policy.Reason.sentence`; it stands below the table and on the job's page. A reason
without a short form is shown by its sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from policy import Job, Reason
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.pbs_units import show_job
from policy.reasons.reason_names import MoreNumbers, Number
from tui.text.times_and_durations import day_and_time

_Facts = Mapping[str, Number]


def in_short(reason: Reason, job: Job, now_s: float, more: MoreNumbers) -> str:
    """The reason in a few words; ``more`` are the job's own numbers, which a shared reason does not have."""
    facts: dict[str, Number] = {"now_s": now_s, "cores": job.cores}
    facts["need"] = job.request.amount(str(dict(reason.numbers).get("counted", "ncpus")))
    facts.update(reason.numbers)
    facts.update(more.items())
    short = _SHORT.get(reason.code)
    return short(facts) if short is not None else reason.sentence(job, now_s, more)


def group_title(code: str) -> str:
    """What the jobs that wait for one kind of reason have in common."""
    return _TITLES.get(code, code.replace("-", " "))


def _number(facts: _Facts, name: str) -> int:
    value = facts.get(name, 0)
    return int(value) if isinstance(value, (int, float)) and value != UNLIMITED_S else 0


def _at(facts: _Facts, name: str = "at_s") -> str:
    value = facts.get(name, UNLIMITED_S)
    if not isinstance(value, (int, float)) or value == UNLIMITED_S:
        return "at an unknown time"
    return day_and_time(value, _number(facts, "now_s"))


def _too_few(facts: _Facts) -> str:
    short = _number(facts, "cores") - _number(facts, "idle")
    ahead = f", {_number(facts, 'ahead'):,} ahead" if "ahead" in facts else ""
    return (f"{short:,} short" if short > 0 else "no vnodes that are open have room") + ahead


def _first(facts: _Facts) -> str:
    at_s = facts.get("at_s")
    is_due = isinstance(at_s, (int, float)) and at_s <= _number(facts, "now_s")
    return "first in line, starts when its cores are free" if is_due else f"first in line, reserved {_at(facts)}"


def _over(facts: _Facts) -> str:
    return f"over quota: {_number(facts, 'used'):,} + {_number(facts, 'need'):,} of {_number(facts, 'limit'):,}"


def _at_limit(facts: _Facts) -> str:
    kept = f" + {_number(facts, 'kept'):,} kept" if "kept" in facts else ""
    return f"limit: {_number(facts, 'used'):,}{kept} + {_number(facts, 'need'):,} of {_number(facts, 'limit'):,}"


def _head(facts: _Facts) -> str:
    return show_job(str(facts.get("head", "")))


_SHORT: Mapping[str, Callable[[_Facts], str]] = {
    "too-few-idle": _too_few,
    "fragmented": lambda f: f"{_number(f, 'idle'):,} cores idle, but not as it asks for them",
    "vnode-run-limit": lambda f: f"{f.get('what', '')} of {_number(f, 'vnodes'):,} vnodes",
    "reserved": _first,
    "topjob-ineligible": lambda _: "may not be first in line (topjob_ineligible)",
    "behind-head": lambda f: f"behind {_head(f)}",
    "backfill-window": lambda f: f"would delay {_head(f)}, reserved {_at(f)}",
    "over-quota": _over,
    "unpreemptible": lambda f: f"{_over(f)}, and not preemptible",
    "hard-limit": _at_limit,
    "blocked": lambda f: str(f.get("why", "")).removeprefix("it is "),
    "not-before": lambda f: f"not before {_at(f)}",
    "queue-stopped": lambda f: f"queue {f.get('queue', '')} is stopped",
    "queue-closed": lambda f: f"queue closed until {_at(f)}",
    "exempt-victims": lambda f: f"can preempt {_at(f, 'enough_s')}",
    "preempt-delay": lambda f: f"may preempt {_at(f)}",
    "limit-of-pass": lambda _: "next pass: this one has started its most",
    "not-looked-at": lambda _: "next pass: this one had no time left",
    "never-fits": lambda _: "more than the vnodes of its queue have",
    "never-arranged": lambda _: "fits no vnodes as it asks for them",
    "held-elsewhere": lambda f: f"waits for what unseen jobs hold on {f.get('vnode', '')}",
}
_TITLES: Mapping[str, str] = {
    "too-few-idle": "too few cores are idle",
    "fragmented": "idle cores are not as they ask for them",
    "vnode-run-limit": "vnodes run as many jobs as they may",
    "reserved": "first in line, reserved",
    "topjob-ineligible": "may not be first in line",
    "behind-head": "behind the job first in line",
    "backfill-window": "would delay a reservation",
    "over-quota": "over quota",
    "unpreemptible": "over quota, unpreemptible",
    "hard-limit": "at a limit of PBS",
    "not-before": "not before their set time",
    "blocked": "held, or after other jobs",
    "queue-stopped": "in a stopped queue",
    "queue-closed": "in a queue that is closed now",
    "into-window": "would run into a closed time",
    "server-resource": "too little is left of what the server has",
    "under-threshold": "under job_sort_formula_threshold",
    "no-fair-share": "without a share, while only jobs with shares run",
    "never-fits": "can never start",
    "never-arranged": "can never start as they ask for it",
    "held-elsewhere": "wait for what unseen or suspended jobs hold",
    "exempt-victims": "jobs that they could preempt are exempt so far",
    "preempt-delay": "may not preempt yet",
    "preempting": "as soon as their victims have ended",
    "base-class": "in the base class",
    "limit-of-pass": "in the next pass",
    "not-looked-at": "not looked at in this pass",
    "left-undone": "would start, but the mode leaves it undone",
}
