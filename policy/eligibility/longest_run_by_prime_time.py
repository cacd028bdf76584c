"""The longest run that prime and non-prime time allow in a queue whose jobs may not run on past the end of it
(``backfill_prime``; docs/policies.md, "Closures").

The windows cover some days, and a week repeats: a run that fits none of them would fit none of later days either. The
last window has no end: how long it lasts is not known.
"""

from __future__ import annotations

from policy.model.jobs_runs_vnodes_queues import CROSSING, STARTS, UNLIMITED_S, Job, Queue
from policy.model.pbs_units import show_walltime


def find_longest_run_s(queue: Queue, now_s: float) -> float:
    """The seconds that a job of the queue may run at most, at whatever time it starts; infinite without a bound, and
    where the queue starts none. It is the same after the last change that is known, where a forecast looks ahead."""
    windows = [window for window in queue.closed if window.closed_to in (STARTS, CROSSING)]
    unknown = [window for window in windows if window.closed_to == CROSSING and window.end_s == UNLIMITED_S]
    if not unknown:
        return UNLIMITED_S
    first_change_s, known_until_s = min(window.end_s for window in windows), unknown[0].start_s
    times = {at_s for window in windows for at_s in window[:2] if first_change_s <= at_s < known_until_s}
    times.update([now_s] if now_s < first_change_s else ())
    longest_s = max((min(window.latest_end_s(at_s) for window in windows) - at_s for at_s in times), default=0.0)
    return longest_s if longest_s > 0 else UNLIMITED_S


def find_longest_planned_run_s(queue: Queue, at_s: float, slack_s: float) -> float:
    """The seconds that a job may run at most for which a start is planned at ``at_s`` and may come up to ``slack_s``
    late. After the last change that is known it is what the windows before that leave from their begin on, as the last
    one may end at any time; infinite at other times, at which :mod:`policy.state.closure_windows` tells it."""
    unknown = [window for window in queue.closed if window.closed_to == CROSSING and window.end_s == UNLIMITED_S]
    return find_longest_run_s(queue, UNLIMITED_S) - slack_s if unknown and at_s >= unknown[0].start_s else UNLIMITED_S


def explain_too_long(job: Job, longest_s: float) -> str:
    """Why a job that is longer never starts."""
    is_endless = job.left_s == UNLIMITED_S
    own = "it has no walltime, and" if is_endless else f"its estimate of {show_walltime(int(job.left_s))} is too long:"
    return (
        f"{own} jobs of its queue must end before prime or non-prime time does, and no start in the coming days leaves"
        f" more than {show_walltime(int(longest_s))}"
    )
