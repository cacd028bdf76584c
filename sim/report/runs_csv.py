"""Every run of a replay as a row, enough to check capacity, promises, victims and charges without this program.

A run holds its cores from `start` until before `end`, in seconds on the clock of the `submit` of the job; the columns
are in docs/simulate.md.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from policy.model.allocation import Allocation
from sim.replay.job_records import JobRecord
from sim.report.csv_numbers import plain

COLUMNS = (
    "job", "run", "user", "group", "cores", "submit", "estimate_s", "run_s", "start", "end", "vnodes", "backfilled",
    "class", "promised", "promised_at", "first_promised", "why", "beneficiary", "charged_core_s", "repeated_core_s",
)  # fmt: skip


def write_runs_csv(path: Path, records: Iterable[JobRecord]) -> None:
    """One row per run, job by job in the replay's order, of records that have their runs. Raises OSError."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for record in records:
            job = record.job
            for number, run in enumerate(record.runs, 1):
                row = (
                    job.number, number, job.user, job.group, job.cores, job.submit_s, job.estimate_s, job.run_s,
                    run.start_s, run.end_s, show_vnodes(run.allocation), int(run.backfilled), run.class_,
                    run.promised_s, run.promised_at_s, run.first_promised_s, run.why, run.beneficiary,
                    run.charged_core_s, run.repeated_core_s,
                )  # fmt: skip
                writer.writerow(plain(row))


def show_vnodes(allocation: Allocation) -> str:
    """The cores on each vnode, `n1=16+n2=4`."""
    return "+".join(f"{vnode}={held.get('ncpus', 0)}" for vnode, held in allocation.by_vnode().items())
