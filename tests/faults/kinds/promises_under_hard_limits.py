"""Faults while a job with a promise is kept from starting by a hard limit of PBS, which other jobs of its user fill.

Long jobs that may not be preempted wait behind it. A pass that forgets the promise, or does not reserve for a job at
its limit, gives them the promised cores.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from tests.faults.build_injector_into_hook import Missed
from tests.faults.endless_preempting_jobs import Shape
from tests.faults.jobs_that_pbs_lost_track_of import end_forgotten_jobs
from tests.faults.kinds.registry import HIT_S, REQUESTS, kill_in_pass, kind
from tests.faults.testbed_under_faults import GRACE_S, QUOTAS, Ground, LostError

_LIMIT = 16
_BLOCKERS = Shape("bob", 0, 1, (8,), (25,))
"""Within quota, so the head waits for their ends: it is promised the end of their walltimes."""
_HEAD = Shape("carol", 0, 2, (8,), (2,))
_SMALL = Shape("carol", 0, 1, (4,), (20,), walltime="00:00:40")
"""It ends before the promised time, also by its walltime. As long as it runs the head would exceed the limit."""
_LONG = Shape("bob", 0, 1, (8,), (100,), walltime="00:03:00")
"""In place of the blockers: within quota, too, and there long after the promised time."""
_FIRST = 1000
_STARTED = "Cannot modify attribute while job running"
_LATE_S = GRACE_S + 40.0
"""How late the head may be on a busy machine; without its promise it would be twice as late."""
_OVERDUE_S = 90.0
"""Half a minute more than the walltime of the jobs that run before the fault."""
_WAYS = (
    "a pass is killed at a write",
    "all requests of a pass are refused from one on",
    "a pass is killed at a request",
)


@kind("a promise under a hard limit", 20)
def keep_promise(ground: Ground, number: int, chance: random.Random) -> str:
    """The promise stays and is kept, and the user never has more cores than the limit."""
    _end_overdue_jobs(ground)
    # Within quota also beside her other jobs, so the head gives way to none.
    ground.set_limits({**QUOTAS, "bob": 2 * _LIMIT, "carol": 2 * _LIMIT}, {"carol": _LIMIT})
    long: list[str] = []
    try:
        blockers = _submit_first(ground, _BLOCKERS, 2)
        _wait_for(ground, lambda: all(_runs(ground, job) for job in blockers), f"{', '.join(blockers)} run")
        (head,) = _submit_first(ground, _HEAD, 1)
        _wait_for(ground, lambda: head in _promises(ground), f"a promise to {head}")
        promised_s = _promises(ground)[head]
        (small,) = _submit_first(ground, _SMALL, 1)
        _wait_for(ground, lambda: _runs(ground, small), f"{small} runs beside the promise to {head}")
        long = _submit_first(ground, _LONG, 2)
        if ground.books.lives[head].starts:
            raise Missed(f"{head} started before {small}")
        words = _harm(ground, number, chance)
        started_s = _follow(ground, head, promised_s)
    finally:
        _delete(ground, long)
        ground.set_limits()
    early_s = promised_s - started_s
    return f"{words}; {head} was to start within {_LIMIT} cores of carol's, and did {early_s:.0f} s before the promise"


def _end_overdue_jobs(ground: Ground) -> None:
    """A promise counts on the end of each run at its walltime, so there may be none that PBS has forgotten."""
    end_forgotten_jobs(ground.pbs, ground.books, ground.workload)
    ground.books.read()
    latest_s = time.time() - _OVERDUE_S
    overdue = [job for job, life in ground.books.lives.items() if life.running is not None and life.start_s < latest_s]
    if overdue:
        raise Missed(f"PBS calls jobs running that are past their walltimes: {', '.join(overdue)}")


def _submit_first(ground: Ground, shape: Shape, number: int) -> list[str]:
    """Submit jobs that come before all others; one may start before the server knows of that."""
    jobs = ground.workload.submit(shape, number)
    if len(jobs) < number:
        raise Missed(f"{number - len(jobs)} jobs of {shape.user} were refused")
    altered = ground.pbs.run(["qalter", "-l", f"pbsteer_priority={_FIRST}", *jobs])
    if _STARTED not in altered.stderr:
        altered.demand_success()
    return jobs


def _harm(ground: Ground, number: int, chance: random.Random) -> str:
    way = _WAYS[number % len(_WAYS)]
    if way == _WAYS[0]:
        name = chance.choice(("write", "fsync", "replace"))
        hit = kill_in_pass(ground, "kill", at="step", among=[name], nth=chance.randint(1, 3))
    elif way == _WAYS[1]:
        order = ground.orders.give(
            "periodic", "refuse", at="step", among=REQUESTS, nth=chance.randint(1, 5), code=15031, onwards=True
        )
        hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    else:
        hit = kill_in_pass(ground, "kill", at="step", among=REQUESTS, nth=chance.randint(1, 5))
    return f"{way}: {hit.show()}"


def _follow(ground: Ground, head: str, promised_s: float) -> float:
    """Wait for the start of the head; returns when it was. Raises :class:`LostError` where something does not hold
    meanwhile."""
    while not ground.books.lives[head].starts:
        if time.time() > promised_s + _LATE_S:
            raise LostError(f"{head}, promised a start {_LATE_S:g} s ago, has not started; {ground.tell_last_pass()}")
        used = _used_by_carol(ground)
        if used > _LIMIT:
            raise LostError(f"carol has {used} cores, and is allowed {_LIMIT}: {ground.books.tell(_running(ground))}")
        later_s = _promises(ground).get(head, promised_s) - promised_s
        if later_s > 1.0:
            raise LostError(f"the promise to {head} moved to {later_s:.1f} s later")
        ground.workload.top_up()
        time.sleep(0.1)
        ground.books.read()
    return ground.books.lives[head].start_s


def _promises(ground: Ground) -> dict[str, float]:
    """The promises by the ledger of the last pass that came to its end."""
    ledger = ground.read_last_pass().get("ledger", {})
    return {str(job): float(at_s) for job, at_s in ledger.get("promises", {}).items()}


def _running(ground: Ground) -> list[str]:
    lives = ground.books.lives
    return [job for job, life in lives.items() if life.user == "carol" and life.running is not None]


def _used_by_carol(ground: Ground) -> int:
    """The cores of her running jobs, by the accounting log."""
    running = [ground.books.lives[job].running for job in _running(ground)]
    spots = [spot for allocation in running if allocation is not None for spot in allocation.spots]
    return sum(spot.chunks * dict(spot.amounts).get("ncpus", 0) for spot in spots)


def _runs(ground: Ground, job: str) -> bool:
    ground.books.read()
    return ground.books.lives[job].running is not None


def _wait_for(ground: Ground, holds: Callable[[], bool], what: str) -> None:
    def is_there() -> bool:
        ground.workload.top_up()
        return holds()

    ground.wait_until(is_there, HIT_S, what)


def _delete(ground: Ground, jobs: list[str]) -> None:
    """The long jobs have done what they are for."""
    if jobs:
        ground.pbs.run(["qdel", *jobs])
    for job in jobs:
        ground.books.expect_deletion(job)
