"""Writes replays: a table for a terminal, one JSON line per policy, one CSV row per job.

Names come from traces and from users' files, so they are data here: `printable` replaces control characters for a
terminal, and the csv module quotes for spreadsheets.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from policy.model.printable_text import replace_unprintable
from sim.replay.job_records import JobRecord
from sim.replay.metrics import Metrics
from sim.replay.named_policies import FORMULA
from sim.report.csv_numbers import plain
from sim.workload.workload import Cluster, Workload

CSV_COLUMNS = ("job", "submit", "start", "end", "cores", "user", "preemptions", "vnodes")
_LONGEST_NAME = 24
LEFT_OUT = "*"
"""The mark of a policy that left out jobs of the workload."""


def printable(text: str) -> str:
    """The text with a question mark for every character that is not printable."""
    return replace_unprintable(text, lambda _: "?")


def to_json(metrics: Metrics, workload: Workload, more: Mapping[str, object] = MappingProxyType({})) -> str:
    """One line: an object with the fields of `Metrics`, in their order, and `every_job_ran`: whether every job of the
    workload ran; then ``more``. If not every job ran, the figures are not comparable with those of policies that ran
    other jobs. A missing figure is null.
    """
    values = {**metrics.figures(), "every_job_ran": every_job_ran(metrics, workload), **more}
    return json.dumps(values, allow_nan=False)


def every_job_ran(metrics: Metrics, workload: Workload) -> bool:
    """Whether the policy ran every job of the workload; policies that did are comparable."""
    return metrics.jobs == len(workload.jobs)


def find_incomparable(workload: Workload, measured: Sequence[Metrics]) -> list[str]:
    """A warning if a policy left out jobs of the workload: its figures, and what it gains, are then of other jobs."""
    if all(every_job_ran(metrics, workload) for metrics in measured):
        return []
    names = column_names(workload, measured)
    ran = ", ".join(f"{name} {metrics.jobs:,}" for name, metrics in zip(names, measured))
    under_all = len(frozenset.intersection(*(metrics.ran for metrics in measured)))
    both = f", under all of them {under_all:,}" if len(measured) > 1 else ""
    return [
        f"NOT COMPARABLE where marked {LEFT_OUT}: of {len(workload.jobs):,} jobs ran under {ran}{both}; each column "
        "counts only the jobs that ran"
    ]


def column_names(workload: Workload, measured: Sequence[Metrics]) -> list[str]:
    """The policies' names as heads of columns; one that left out jobs of the workload has a mark."""
    names = heads([metrics.policy for metrics in measured])
    return [name + LEFT_OUT * (not every_job_ran(metrics, workload)) for name, metrics in zip(names, measured)]


def heads(policies: Sequence[str]) -> list[str]:
    """The policies' names as heads of columns: a formula is `formula`, or `formula 1` and so on; :func:`formulas` says
    which it is."""
    numbered = dict(zip(_formulas(policies), _formula_names(policies)))
    return [numbered.get(policy) or short_name(policy) for policy in policies]


def formulas(policies: Sequence[str]) -> list[str]:
    """A line for each formula among the policies: its name as a head, and the whole expression."""
    whole = (printable(policy[len(FORMULA) :]) for policy in _formulas(policies))
    return [f"{name}: {formula}" for name, formula in zip(_formula_names(policies), whole)]


def _formulas(policies: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(policy for policy in policies if policy.startswith(FORMULA)))


def _formula_names(policies: Sequence[str]) -> list[str]:
    found = _formulas(policies)
    return ["formula"] if len(found) == 1 else [f"formula {number}" for number in range(1, len(found) + 1)]


def to_table(workload: Workload, cluster: Cluster, measured: Sequence[Metrics]) -> str:
    """A line about the workload, which jobs the waits are of, then a line for each figure and a column for each
    policy."""
    return "\n".join([*head_lines(workload, cluster, measured), "", *aligned(figure_rows(workload, measured))])


def head_lines(workload: Workload, cluster: Cluster, measured: Sequence[Metrics]) -> list[str]:
    """What stands above a table: the workload and the cluster, what is trimmed, which formulas there are, what is not
    comparable."""
    named = formulas([metrics.policy for metrics in measured])
    return [describe(workload, cluster), *_trimmed(measured), *named, *find_incomparable(workload, measured)]


def _trimmed(measured: Sequence[Metrics]) -> list[str]:
    if all(metrics.measured_jobs == metrics.jobs for metrics in measured):
        return []
    counts = dict.fromkeys(f"{metrics.measured_jobs:,}" for metrics in measured)
    return [f"waits and slowdowns of {', '.join(counts)} jobs: the first and last submitted only warm up and cool down"]


def describe(workload: Workload, cluster: Cluster) -> str:
    """One line: the workload, its number of jobs, the cluster with its reservations, and the number of records left
    out.
    """
    left_out = sum(workload.skipped.values())
    jobs = f"{len(workload.jobs):,} job{'s' * (len(workload.jobs) != 1)}"
    nodes = f"{cluster.nodes:,} node{'s' * (cluster.nodes != 1)}"
    cores = f"{cluster.cores_per_node:,} core{'s' * (cluster.cores_per_node != 1)}"
    title = f"{printable(workload.name)}: {jobs} on {nodes} of {cores}"
    if cluster.reservations:
        title += f", {len(cluster.reservations):,} reservation{'s' * (len(cluster.reservations) != 1)}"
    return f"{title}, {left_out:,} left out" if left_out else title


def figure_rows(workload: Workload, measured: Sequence[Metrics]) -> list[list[str]]:
    """The policies' names, then for each figure its label and a value for each policy."""
    return [["", *column_names(workload, measured)], *labelled_figures(measured)]


def labelled_figures(measured: Sequence[Metrics]) -> list[list[str]]:
    """For each figure its label and a value for each column."""
    rows = [[label, *(show(metrics) for metrics in measured)] for label, show in _FIGURES]
    if any(metrics.reserved_core_s is not None for metrics in measured):
        rows.append(["reserved", *(_core_hours(metrics.reserved_core_s or 0.0) for metrics in measured)])
    return rows


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the first column aligned to the left and all others to the right, two spaces apart."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join((row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:])))).rstrip()
        for row in rows
    ]


def csv_paths(path: Path, policies: Sequence[str]) -> list[Path]:
    """The file for each policy's jobs: `path` itself for one policy; for several, `jobs.csv` becomes `jobs-easy.csv`
    and so on.

    Policies are named as in the table's head, so a formula is `formula`. Characters that are awkward in file names
    become underscores; a name that is taken gets a number, `jobs-easy-2.csv`.
    """
    if len(policies) == 1:
        return [path]
    paths: list[Path] = []
    for name in heads(policies):
        stem = f"{path.stem}-{re.sub(r'[^A-Za-z0-9._-]', '_', name)}"
        candidate, again = path.with_name(stem + path.suffix), 2
        while candidate in paths:
            candidate, again = path.with_name(f"{stem}-{again}{path.suffix}"), again + 1
        paths.append(candidate)
    return paths


def write_jobs_csv(path: Path, records: Iterable[JobRecord]) -> None:
    """One row per job, in the replay's order: first start and last end in seconds, the last run's vnodes joined by `+`.

    Raises OSError if the file cannot be written.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for record in records:
            job = record.job
            row = (
                job.number,
                job.submit_s,
                record.start_s,
                record.end_s,
                job.cores,
                job.user,
                record.preemptions,
                "+".join(record.vnodes),
            )
            writer.writerow(plain(row))


def short_name(name: str) -> str:
    """A policy's name as the head of a column: printable, and shortened if it is long."""
    shown = printable(name)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f} s"


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def _core_hours(core_s: float) -> str:
    return f"{core_s / 3600:,.1f} core-h"


_FIGURES: tuple[tuple[str, Callable[[Metrics], str]], ...] = (
    ("mean wait", lambda m: _seconds(m.mean_wait_s)),
    ("95 % waited at most", lambda m: _seconds(m.p95_wait_s)),
    ("99 % waited at most", lambda m: _seconds(m.p99_wait_s)),
    ("longest wait", lambda m: _seconds(m.max_wait_s)),
    ("area-weighted wait", lambda m: _seconds(m.area_weighted_wait_s)),
    ("mean bounded slowdown", lambda m: f"{m.mean_bounded_slowdown:,.2f}"),
    ("99 % slowed down at most", lambda m: f"{m.p99_bounded_slowdown:,.2f}"),
    ("worst slowdown", lambda m: f"{m.max_bounded_slowdown:,.2f}"),
    ("Jain's index of users", lambda m: f"{m.jain_index:.3f}"),
    ("utilization", lambda m: _percent(m.utilization)),
    ("idle, hourly samples", lambda m: _percent(m.idle_ratio)),
    ("makespan", lambda m: f"{m.makespan_s / 86400:,.2f} days"),
    ("jobs preempted", lambda m: f"{m.preempted_jobs:,}"),
    ("preemptions", lambda m: f"{m.preemptions:,}"),
    ("charged for checkpoints", lambda m: _core_hours(m.checkpoint_core_s)),
    ("work repeated", lambda m: _core_hours(m.lost_core_s)),
    ("latest head after promise", lambda m: _seconds(m.max_head_delay_s)),
    ("promises moved", lambda m: f"{m.moved_promises:,}"),
    ("latest after a move", lambda m: _seconds(m.max_moved_delay_s)),
    ("replay, CPU time", lambda m: f"{m.cpu_s:,.2f} s"),
    ("jobs a CPU second", lambda m: "-" if m.jobs_per_cpu_s is None else f"{m.jobs_per_cpu_s:,.0f}"),
)
