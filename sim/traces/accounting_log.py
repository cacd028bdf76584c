"""Reads accounting logs of PBS and Torque, the daily files of `server_priv/accounting`, as workloads.

Every job that ended in the log becomes a job that may start from the time when it was eligible and runs as long as it
truly worked. Records that make no sense, and jobs that did not end in the log, are left out and counted by cause with
file and line, so that neither a damaged line nor the edges of the log cost the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hooks.pbs.files_and_output.accounting_fields import SenselessError
from sim.traces.accounting_job_history import RUNNING, WAITING, JobHistories, JobHistory
from sim.traces.accounting_log_files_and_lines import AccountingError, UnreadableLine, find_files, read_records
from sim.traces.read_plain_or_gzip_lines import LeftOut
from sim.workload.workload import Cluster, TraceJob, Workload, describe_skipped

NO_WALLTIME_S = 157_680_000
"""Five years: how long pbs_sched expects a job without walltime to run (OpenPBS, src/scheduler, JOB_INFINITY)."""


@dataclass(frozen=True)
class PastJob:
    """A job that ended in the log. Times are seconds since 1970.

    `eligible_s`   since when it could start: PBS's etime, else when it was queued, else created
    `start_s`      the start of its first run in the log; `last_start_s` that of its last
    `run_s`        the work of its last run, without the time it was suspended, plus what checkpoints had saved of
                   earlier ones; work lost by a requeue without a checkpoint does not count
    `suspended_s`  how long its last run was suspended
    `requeues`     runs whose work was lost
    `cores`        requested, or all of its vnodes' if it had them to itself; `walltime_s` None if it requested none
    """

    id: str
    number: int
    eligible_s: int
    start_s: int
    last_start_s: int
    end_s: int
    run_s: int
    suspended_s: int
    requeues: int
    cores: int
    walltime_s: int | None
    user: str
    group: str
    exit_status: int | None


@dataclass(frozen=True)
class AccountingLog:
    """The content of a log: its jobs by the time they were eligible, its first and last times, and what was left out.

    `vnodes` is the number of different vnodes named in it.
    """

    name: str
    jobs: tuple[PastJob, ...]
    began_s: int
    ended_s: int
    vnodes: int
    skipped: Mapping[str, int]
    skipped_lines: Mapping[str, tuple[int, ...]]

    @property
    def most_cores_at_once(self) -> int:
        """The most cores that its jobs held at one moment: the cluster had at least these.

        Jobs that were suspended are not counted, as others held their cores meanwhile.
        """
        held_all_along = [job for job in self.jobs if not job.suspended_s]
        changes = sorted(
            change for job in held_all_along for change in ((job.last_start_s, job.cores), (job.end_s, -job.cores))
        )
        most = held = 0
        for _, cores in changes:
            held += cores
            most = max(most, held)
        return most


def read_log(paths: Sequence[Path]) -> AccountingLog:
    """Read the log in a folder, or in the files given. Raises AccountingError if no job ended in it."""
    histories, left_out = JobHistories(), LeftOut()
    for record in read_records(find_files(paths)):
        if isinstance(record, UnreadableLine):
            left_out.add(record.cause, record.place.line, record.place.file)
            continue
        try:
            histories.take(record)
        except SenselessError as cause:
            left_out.add(str(cause), record.place.line, record.place.file)
    histories.close()
    jobs = []
    for history in histories.all:
        job = _past_job(history)
        if isinstance(job, str):
            left_out.add(job, history.place.line, history.place.file)
        else:
            jobs.append(job)
    name = paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"
    skipped, lines = left_out.counts(), left_out.lines()
    if not jobs or histories.began_s is None or histories.ended_s is None:
        why = describe_skipped(skipped, lines) if skipped else "no record of a job in it"
        raise AccountingError(f"{paths[0]}: no job that ran to its end: {why}")
    jobs.sort(key=lambda job: (job.eligible_s, job.number, job.id))
    return AccountingLog(name, tuple(jobs), histories.began_s, histories.ended_s, len(histories.vnodes), skipped, lines)


def read_accounting(paths: Sequence[Path], cluster: Cluster | None = None) -> Workload:
    """The log as a workload for `cluster`. A log names no cluster: without one, AccountingError says how large it was.

    Second 0 is the log's first time. A job that waited then is submitted at second 0; one that ran is submitted with
    the rest of its run and of its estimate. The estimate is the walltime, or five years; the run is cut at the
    estimate. A job keeps the number of its id; subjobs, and jobs whose number is taken, are numbered after the highest.
    """
    log = read_log(paths)
    if cluster is None:
        raise AccountingError(
            f"{log.name}: an accounting log does not say what the cluster is: its jobs held at most "
            f"{log.most_cores_at_once:,} cores at once, on {log.vnodes:,} vnodes: give --cluster NODESxCORES, such as "
            "64x32"
        )
    fitting = [job for job in log.jobs if job.cores <= cluster.cores]
    if not fitting:
        raise AccountingError(f"{log.name}: no job in it is as small as the cluster {cluster}")
    skipped = dict(log.skipped)
    if len(fitting) < len(log.jobs):
        skipped["more cores than the cluster has"] = len(log.jobs) - len(fitting)
    jobs = [_trace_job(job, number, log.began_s) for job, number in zip(fitting, _numbers(fitting))]
    return Workload(
        name=log.name,
        cluster=cluster,
        jobs=tuple(sorted(jobs, key=lambda job: (job.submit_s, job.number))),
        skipped=skipped,
        skipped_lines=log.skipped_lines,
        start_epoch=log.began_s,
    )


def _past_job(history: JobHistory) -> PastJob | str:
    """The job, or the cause for which it is left out of a workload."""
    if history.end_s is None or history.start_s is None or history.first_start_s is None or history.eligible_s is None:
        return history.gone or (RUNNING if history.running else WAITING)
    if not history.cores:
        return "number of cores unknown"
    if not history.user:
        return "no user"
    return PastJob(
        id=history.id,
        number=history.number,
        eligible_s=history.eligible_s,
        start_s=history.first_start_s,
        last_start_s=history.start_s,
        end_s=history.end_s,
        run_s=history.run_s,
        suspended_s=history.suspended_s,
        requeues=history.requeues,
        cores=history.cores,
        walltime_s=history.walltime_s,
        user=history.user,
        group=history.group,
        exit_status=history.exit_status,
    )


def _trace_job(job: PastJob, number: int, began_s: int) -> TraceJob:
    already_s = max(0, began_s - job.last_start_s)
    estimate_s = max(1, (job.walltime_s or NO_WALLTIME_S) - already_s)
    run_s = min(max(0, job.run_s - already_s), estimate_s)
    submit_s = max(0, job.eligible_s - began_s)
    waited_s = max(0, job.end_s - began_s - submit_s - run_s)
    return TraceJob(number, submit_s, run_s, estimate_s, job.cores, job.user, job.group, waited_s=waited_s)


def _numbers(jobs: Iterable[PastJob]) -> list[int]:
    """A unique number for each job."""
    jobs = list(jobs)
    taken: set[int] = set()
    following = max(job.number for job in jobs)
    numbers = []
    for job in jobs:
        number = job.number
        if "[" in job.id or number in taken:
            following += 1
            number = following
        taken.add(number)
        numbers.append(number)
    return numbers
