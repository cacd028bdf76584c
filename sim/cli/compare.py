"""`pbsteer compare`: several policies on one workload, in one table and one picture."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sim.cli.output_files import FilesOfEachPolicy, check_writable, file_option, writing
from sim.cli.replay_beside_references import Evidence, evidence_options, replay_beside_references
from sim.cli.replay_options import (
    CommandError,
    Sharing,
    Source,
    find_policies,
    policy_option,
    sharing_options,
    source_options,
)
from sim.cli.replicates import refuse_with_replicates, replicates_option, show_replicates
from sim.evidence.weeks_of_submission import Weeks
from sim.replay.job_records import Replay
from sim.report.compare_by_job_class import Compared, compare_jobs, first_and_last_s, wide_above
from sim.report.compare_plot import plot_comparison
from sim.report.compare_table_and_character_plots import ASCII, UNICODE, to_text
from sim.report.gains_sizes_users_and_losers import write_losers_csv, write_users_csv
from sim.report.time_span_given_or_most_preemptions import Span, busiest_day, parse_span
from sim.workload.workload import Workload

DEFAULT_POLICIES = ("easy", "quota")


@click.command()
@source_options
@policy_option("easy and quota")
@sharing_options
@evidence_options
@replicates_option
@click.option("--span", "span_text", metavar="START+LENGTH", help="What to look at closely: 12d+36h. [the busiest day]")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each policy instead of table and picture.")
@file_option("--csv", "Write a row of figures for each policy.")
@file_option("--jobs-csv", "Write when and where each job ran, a file for each policy.")
@file_option("--runs-csv", "Write each run: where, its promise and class, and why it ended; a file for each policy.")
@file_option("--users-csv", "Write each user's figures, those first who wait longer than under easy.")
@file_option("--losers-csv", "Write the jobs that wait longer than under easy, the worst first.")
@file_option("--plot", "Draw to FILE.svg or .png.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters alone.")
def compare(
    *,
    source: Source,
    policy_names: tuple[str, ...],
    sharing: Sharing,
    evidence: Evidence,
    replicates: int | None,
    span_text: str | None,
    as_json: bool,
    csv_file: Path | None,
    jobs_csv_file: Path | None,
    runs_csv_file: Path | None,
    users_csv_file: Path | None,
    losers_csv_file: Path | None,
    plot_file: Path | None,
    ascii_only: bool,
) -> None:
    """Compare policies on the workload in TRACE: waits and slowdowns by class of job, cores in use, a Gantt view.

    TRACE is in Standard Workload Format, or the accounting log of a PBS server (the folder of the daily files, or some
    of these files); each plain or gzipped. Unless --cluster says otherwise, the cluster is the one in the trace's
    header. Instead of a TRACE, --generate JOBS draws jobs from the Lublin-Feitelson model for the --cluster, or, with
    --applications, gives equal jobs of these kinds of applications, one after the other.
    """
    files = {
        "--csv": csv_file,
        "--jobs-csv": jobs_csv_file,
        "--runs-csv": runs_csv_file,
        "--users-csv": users_csv_file,
        "--losers-csv": losers_csv_file,
        "--plot": plot_file,
    }
    if replicates is not None:
        refuse_with_replicates({**files, "--span": span_text})
        names = policy_names or DEFAULT_POLICIES
        show_replicates(source, names, evidence, replicates, sharing=sharing, as_json=as_json)
        return
    check_writable(files)
    asked = _span(span_text)
    names = policy_names or DEFAULT_POLICIES
    found = find_policies(names)
    workload, cluster = sharing.apply(*source.load_workload())
    if asked is not None:
        _check_span(str(span_text), asked, workload)
    policies = [build(workload, cluster) for build in found]
    wide_above_cores = wide_above(workload.jobs)
    titles = [policy.name for policy in policies]
    check_writable(files, titles)
    of_each = FilesOfEachPolicy(jobs_csv_file, runs_csv_file, titles)
    compared: list[Compared] = []
    replays: list[Replay] = []
    numbers, weeks = evidence.measured_jobs(workload), Weeks.of(workload.jobs)
    each = replay_beside_references(
        workload, cluster, names, policies, evidence, contention=sharing.contention, keep_runs=of_each.has_runs
    )
    for index, beside in enumerate(each):
        result = beside.replay
        replays.append(result)
        compared.append(
            compare_jobs(result, wide_above_cores, numbers, beside.gains, beside.pairs, weeks=weeks, seed=evidence.seed)
        )
        of_each.write(index, result)
        if as_json:
            click.echo(json.dumps(compared[-1].flat(workload), allow_nan=False))
    span = busiest_day(replays) if asked is None else asked.after(first_and_last_s(replays)[0])
    if not as_json:
        ascii_only = ascii_only or not _speaks_unicode()
        text = to_text(
            workload,
            cluster,
            compared,
            replays,
            wide_above_cores=wide_above_cores,
            span=span,
            glyphs=ASCII if ascii_only else UNICODE,
            columns=shutil.get_terminal_size().columns,
            seed=evidence.seed,
        )
        click.echo(text.encode("ascii", "replace").decode() if ascii_only else text)
    if csv_file:
        with writing("--csv", csv_file):
            write_csv(csv_file, compared, workload)
    if users_csv_file:
        with writing("--users-csv", users_csv_file):
            write_users_csv(users_csv_file, [(each.metrics.policy, each.users) for each in compared])
    if losers_csv_file:
        with writing("--losers-csv", losers_csv_file):
            write_losers_csv(losers_csv_file, [(each.metrics.policy, each.pairs) for each in compared])
    if plot_file:
        with writing("--plot", plot_file):
            plot_comparison(plot_file, f"{workload.name} on {cluster}", compared, replays, span)


def write_csv(path: Path, compared: Sequence[Compared], workload: Workload) -> None:
    """A row for each policy, a column for each figure, empty where the policy has none. Raises OSError."""
    rows = [policy.flat(workload) for policy in compared]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _speaks_unicode() -> bool:
    # Python writes UTF-8 in the C locale too; a user who sets LC_ALL to it wants plain text.
    return "utf" in (sys.stdout.encoding or "").lower() and os.environ.get("LC_ALL") not in {"C", "POSIX"}


def _span(text: str | None) -> Span | None:
    try:
        return None if text is None else parse_span(text)
    except ValueError as error:
        raise CommandError(f"--span: {error}") from error


def _check_span(text: str, span: Span, workload: Workload) -> None:
    lasts_s = workload.jobs[-1].submit_s - workload.jobs[0].submit_s
    if span.begin_s > lasts_s:
        raise CommandError(f"--span {text}: must start by the last submit, {lasts_s / 3600:.1f}h after the first")
