"""What happens to a drawn cluster next: changes of every kind, jobs that come later, and the same parts in another
order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from policy import Changes, Finished, Job, Reading, Run
from tests.property.strategies.cluster_strategies import NOW_S, Parts, jobs, limit_sets, rankings, vnodes_named
from tests.property.strategies.made_once import sampled_from


def shuffles() -> st.SearchStrategy[Callable[[Parts], Parts]]:
    """Ways of putting the same parts into another order."""

    def shuffled(seed: int) -> Callable[[Parts], Parts]:
        def by(text: str) -> int:
            return hash((seed, sum(ord(c) * 31**i for i, c in enumerate(text))))

        return lambda parts: replace(
            parts,
            vnodes=tuple(sorted(parts.vnodes, key=lambda vnode: by(vnode.name))),
            queues=tuple(sorted(parts.queues, key=lambda queue: by(queue.name))),
            jobs=tuple(sorted(parts.jobs, key=lambda job: by(job.id))),
            runs=tuple(sorted(parts.runs, key=lambda run: by(run.id))),
            readings={name: parts.readings[name] for name in sorted(parts.readings, key=by)},
            finished=tuple(sorted(parts.finished, key=lambda run: by(run.id))),
        )

    return st.integers(0, 1 << 16).map(shuffled)


@st.composite
def arrivals(draw: st.DrawFn, parts: Parts) -> tuple[Job, ...]:
    """Jobs that are submitted later, of the users and queues that are there."""
    alike = list(parts.jobs) or [draw(jobs(99, parts.queues, plain=True))]
    count = draw(sampled_from((2, 1, 4, 0, 6)))
    coming = []
    for number in range(200, 200 + count):
        drawn = draw(jobs(number, parts.queues, plain=draw(st.booleans())))
        owner = draw(st.sampled_from(alike))
        later_s = NOW_S + draw(sampled_from((1, 5, 10, 10, 60, 130)))
        coming.append(drawn._replace(submit_s=later_s, user=owner.user, queue=owner.queue))
    return tuple(coming)


@dataclass(frozen=True)
class Turn:
    """What happens next: the changes, and the cluster as it is after them."""

    changes: Changes
    after: Parts


@st.composite
def turns(draw: st.DrawFn, parts: Parts) -> Turn:
    """Runs that end or are requeued, jobs that come or go, vnodes that come, go, change or report, a queue's new quotas
    and priorities."""
    time_s = parts.time_s + draw(st.integers(0, 100))
    fate = st.sampled_from(("stays", "stays", "ends", "waits"))
    fates = {run.id: draw(fate) for run in parts.runs}
    deleted = {job.id for job in parts.jobs if draw(st.integers(0, 3)) == 0}
    new = [draw(jobs(300 + number, parts.queues)) for number in range(draw(st.integers(0, 3)))]
    requeued = [run.job for run in parts.runs if fates[run.id] == "waits"]
    altered = [
        job._replace(priority=job.priority + 1)
        for job in parts.jobs
        if job.id not in deleted and draw(st.integers(0, 3)) == 0
    ]
    held = {vnode for run in parts.runs for vnode in run.allocation.vnodes if fates[run.id] == "stays"}
    gone = {v.name for v in parts.vnodes if v.name not in held and draw(st.integers(0, 3)) == 0}
    changed = [
        replace(
            v,
            usable=not v.usable,
            state="offline" if v.usable else "free",
            elsewhere={"ncpus": draw(st.integers(0, 1))},
        )
        for v in parts.vnodes
        if v.name not in gone and draw(st.integers(0, 3)) == 0
    ]
    fresh = [draw(vnodes_named("w00", plain=False))] if draw(st.booleans()) else []
    queues = [
        replace(
            queue,
            quotas=draw(limit_sets()),
            priorities=draw(rankings()),
            priority=draw(sampled_from((queue.priority, 20))),
        )
        for queue in parts.queues
        if draw(st.integers(0, 2)) == 0
    ]
    reported = {vnode.name: draw(readings(time_s)) for vnode in parts.vnodes if draw(st.booleans())}
    ended = [finished_of(run, time_s) for run in parts.runs if fates[run.id] == "ends"]
    changes = Changes(
        time_s,
        [*new, *requeued, *altered],
        (),
        [*(run for run, fate in fates.items() if fate == "ends"), *sorted(deleted)],
        [*changed, *fresh],
        sorted(gone),
        queues,
        readings=reported,
        finished=ended,
    )
    vnodes = {v.name: v for v in (*parts.vnodes, *changed, *fresh) if v.name not in gone}
    waiting = {job.id: job for job in (*parts.jobs, *new, *requeued, *altered) if job.id not in deleted}
    after = Parts(
        tuple(vnodes.values()),
        tuple({queue.name: queue for queue in (*parts.queues, *queues)}.values()),
        tuple(waiting.values()),
        tuple(run for run in parts.runs if fates[run.id] == "stays"),
        time_s,
        parts.server,
        {**parts.readings, **reported},
        tuple(ended),
    )
    return Turn(changes, after)


def readings(at_s: float) -> st.SearchStrategy[Reading]:
    """What a vnode may report: some of it missing."""
    some = st.one_of(st.none(), st.sampled_from((0.0, 1.0, 3.0)))
    return st.builds(Reading, st.sampled_from((at_s, at_s - 500)), some, st.just(4.0), some, st.just(4.0))


def finished_of(run: Run, end_s: float) -> Finished:
    """A run that has ended by itself, as what is learned from."""
    job = run.job
    return Finished(run.id, job.user, job.application, job.cores, run.start_s, end_s, job.estimate_s)
