"""The jobs whose waits and slowdowns count: those submitted while the cluster was neither filling up nor draining.

The same share of the submissions is left out at both ends, so every policy is measured on the same jobs; README.md has
the source and the difference from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.workload.workload import TraceJob

TRIM_PERCENT = 1.0
"""The default share of the jobs that is not measured at each end."""
MOST_PERCENT = 40.0


def measured_jobs(jobs: Sequence[TraceJob], trim_percent: float) -> frozenset[int]:
    """The numbers of the jobs to measure: all but the first and the last ``trim_percent`` % submitted, rounded down.

    ``jobs`` are in order of submission. ValueError unless the share is from 0 to 40 %.
    """
    if not 0 <= trim_percent <= MOST_PERCENT:
        raise ValueError(f"{trim_percent:g} %: must be from 0 to {MOST_PERCENT:g} % at each end")
    left_out = int(len(jobs) * trim_percent / 100)
    return frozenset(job.number for job in jobs[left_out : len(jobs) - left_out])
