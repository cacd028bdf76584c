"""`pbsteer simulate`: replays a recorded or generated workload under one or more policies, and measures each.

Job lists are written policy by policy, so those of finished replays are kept when a later one is interrupted.
"""

from __future__ import annotations

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
from sim.cli.several_clusters import simulate_clusters
from sim.evidence.measured_jobs import TRIM_PERCENT
from sim.replay.job_records import Replay
from sim.replay.metrics import Metrics, measure
from sim.report.gains_sizes_users_and_losers import Gains, gains_data, gains_table
from sim.report.replay_table_json_and_csv import column_names, to_json, to_table
from sim.report.wait_slowdown_usage_plots import plot

DEFAULT_POLICIES = ("fcfs", "easy")


@click.command()
@source_options
@policy_option("fcfs and easy")
@sharing_options
@evidence_options
@replicates_option
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each policy instead of the table.")
@file_option("--jobs-csv", "Write when and where each job ran, a file for each policy.")
@file_option("--runs-csv", "Write each run: where, its promise and class, and why it ended; a file for each policy.")
@file_option("--plot", "Draw to FILE.svg or .png.")
@click.option(
    "--clusters", metavar="N|FILE", help="Several clusters, separate and with jobs that migrate between them."
)
@click.option(
    "--copy-mib", type=click.FloatRange(0), help="With --clusters: MiB that move with each core of a job. [1024]"
)
@click.option(
    "--bandwidth-mib", type=click.FloatRange(0.001), help="With --clusters: MiB a second between two clusters. [100]"
)
def simulate(
    *,
    source: Source,
    policy_names: tuple[str, ...],
    sharing: Sharing,
    evidence: Evidence,
    replicates: int | None,
    as_json: bool,
    jobs_csv_file: Path | None,
    runs_csv_file: Path | None,
    plot_file: Path | None,
    clusters: str | None,
    copy_mib: float | None,
    bandwidth_mib: float | None,
) -> None:
    """Replay the workload in TRACE under one or more policies, and measure each.

    TRACE is in Standard Workload Format, or the accounting log of a PBS server (the folder of the daily files, or some
    of these files); each plain or gzipped. Unless --cluster says otherwise, the cluster is the one in the trace's
    header. Instead of a TRACE, --generate JOBS draws jobs from the Lublin-Feitelson model for the --cluster, or, with
    --applications, gives equal jobs of these kinds of applications, one after the other.

    With --clusters N there are N TRACEs, one for each cluster, or --generate draws N workloads; a FILE has tables
    [[cluster]] with trace, name and cluster.
    """
    if clusters is not None:
        for option, given in (
            ("--jobs-csv", jobs_csv_file),
            ("--runs-csv", runs_csv_file),
            ("--plot", plot_file),
            ("--readings", sharing.uneven),
            ("--contention", sharing.contention or None),
            ("--replicates", replicates),
            ("--think-times", source.think_times or None),
            ("--trim", None if evidence.trim_percent == TRIM_PERCENT else evidence.trim_percent),
        ):
            if given is not None:
                raise CommandError(f"{option}: not with --clusters")
        simulate_clusters(
            source,
            clusters,
            policy_names,
            1024 if copy_mib is None else copy_mib,
            100 if bandwidth_mib is None else bandwidth_mib,
            as_json=as_json,
        )
        return
    for option, figure in (("--copy-mib", copy_mib), ("--bandwidth-mib", bandwidth_mib)):
        if figure is not None:
            raise CommandError(f"{option} {figure:g}: only with --clusters")
    files = {"--jobs-csv": jobs_csv_file, "--runs-csv": runs_csv_file, "--plot": plot_file}
    names = policy_names or DEFAULT_POLICIES
    if replicates is not None:
        refuse_with_replicates(files)
        show_replicates(source, names, evidence, replicates, sharing=sharing, as_json=as_json)
        return
    check_writable(files)
    found = find_policies(names)
    workload, cluster = sharing.apply(*source.load_workload())
    policies = [build(workload, cluster) for build in found]
    titles = [policy.name for policy in policies]
    check_writable(files, titles)
    of_each = FilesOfEachPolicy(jobs_csv_file, runs_csv_file, titles)
    numbers = evidence.measured_jobs(workload)
    measured: list[Metrics] = []
    gains: list[Gains] = []
    replays: list[Replay] = []
    each = replay_beside_references(
        workload, cluster, names, policies, evidence, contention=sharing.contention, keep_runs=of_each.has_runs
    )
    for index, beside in enumerate(each):
        result = beside.replay
        measured.append(measure(result, numbers))
        gains.append(beside.gains)
        if plot_file:
            replays.append(result)
        of_each.write(index, result)
        if as_json:
            click.echo(to_json(measured[-1], workload, {"gain_over": gains_data(gains[-1])}))
    if not as_json:
        click.echo(to_table(workload, cluster, measured))
        click.echo("\n".join(["", *gains_table(column_names(workload, measured), gains, evidence.seed)]))
    if plot_file:
        with writing("--plot", plot_file):
            plot(plot_file, f"{workload.name} on {cluster}", replays)
