"""A plan told in lines, as the golden stories have it: each reason by its sentence, each start by vnode and cores."""

from __future__ import annotations

from collections.abc import Iterator

from policy import Ledger, Plan
from policy.forecast.forecast import Forecast
from policy.model.allocation import Allocation
from policy.model.priority_class import show_class
from policy.plan.plan_types import Start

Lines = dict[str, list[str]]


def tell(plan: Plan) -> Lines:
    """The plan in lines; starts in their order, all else sorted."""
    return {
        "starts": [line for start in plan.starts for line in _tell_start(start, plan.time_s)],
        "preempts": sorted(
            f"{preempt.id} for {preempt.beneficiary}{' again' if preempt.again else ''}:"
            f" {preempt.reason.sentence(preempt.run.job, plan.time_s)}"
            for preempt in plan.preempts
        ),
        "reserved": [f"{e.id} at {e.at_s:g}, promised {e.promised_s:g}" for e in plan.estimates],
        "waits": sorted(_tell_waits(plan)),
        "ledger": sorted(_tell_ledger(plan.ledger)),
    }


def tell_forecast(said: Forecast) -> list[str]:
    """A line for each job: the moments before which it starts in half and in nine of ten of the draws, the last one,
    where, and which run's end it most often waits for."""
    lines = [f"{job_id}: unknown, {why}" for job_id, why in said.unknown.items()]
    for job in said.jobs.values():
        half, nine, last = ("-" if at is None else f"{at:g}" for at in (job.half_s, job.nine_tenths_s, job.last_s))
        where = f" on {_where(job.allocation)}" if job.allocation is not None else ""
        after = f", after {job.after} in {job.after_draws} of {said.draws}" if job.after else ""
        lines.append(f"{job.id}: half by {half}, nine in ten by {nine}, last {last}{where}{after}")
    return sorted(lines)


def _tell_start(start: Start, now_s: float) -> Iterator[str]:
    yield f"{start.id} on {_where(start.allocation)}{', backfilled' if start.backfilled else ''}"
    for reason in (start.why, *start.why.tried) if start.why is not None else ():
        yield f"{start.id} laid out: {reason.sentence(start.job, now_s)}"


def _tell_waits(plan: Plan) -> Iterator[str]:
    for job_id, (waiting, reason) in plan.reasons().items():
        yield f"{job_id}: {reason.sentence(waiting, plan.time_s)}"
        for tried in reason.tried:
            yield f"{job_id} tried: {tried.sentence(waiting, plan.time_s)}"


def _tell_ledger(ledger: Ledger) -> Iterator[str]:
    for job_id, at_s in ledger.promises.items():
        yield f"promise {job_id}: {at_s:g}"
    for job_id, hold in ledger.earmarks.items():
        yield (
            f"hold {job_id}: {_where(hold.allocation)} from {', '.join(sorted(hold.victims))} since {hold.since_s:g}"
            + (f" by {hold.rule}" if hold.rule != "quota" else "")
        )
    for job_id, count in ledger.preemptions.items():
        yield f"preempted {job_id}: {count}"
    for job_id, entry in ledger.backfilled.items():
        yield f"backfilled {job_id}: {entry.end_s:g}{', may be cut' if entry.cuttable else ''}"
    for job_id, rank in ledger.classes.items():
        yield f"class {job_id}: {show_class(rank)}"
    for vnode, at_s in ledger.stripes.items():
        yield f"stripe {vnode}: {at_s:g}"
    for application, tallies in ledger.learned.items():
        for layout, tally in tallies.items():
            yield f"learned {application}: {' '.join([layout, str(tally.runs), *(f'{each:g}' for each in tally.last)])}"
    for user, past in ledger.history.items():
        last = " ".join(f"{run_s:g}" for run_s in past.last)
        yield f"history {user}: {last}, {past.run_s:g} of {past.estimate_s:g}"


def _where(allocation: Allocation) -> str:
    """Vnode and cores, and what else is held there."""
    words = []
    for name in allocation.vnodes:
        held: dict[str, int] = {}
        for spot in allocation.spots:
            if spot.vnode == name:
                for resource, amount in spot.amounts:
                    held[resource] = held.get(resource, 0) + amount * spot.chunks
        more = "".join(f" {resource}={amount}" for resource, amount in sorted(held.items()) if resource != "ncpus")
        words.append(f"{name}={held.get('ncpus', 0)}{more}")
    return " ".join(words)
