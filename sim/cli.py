"""`pbsteer simulate`: replay a recorded or generated workload under one or more policies, and compare.

What the user gave is checked before anything is replayed, since a replay may take minutes; every error is one line and
exit status 2; what was left out of a trace is always said on stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sim.lublin import generate
from sim.metrics import Metrics, measure
from sim.plots import PlotError, check_plot, plot
from sim.report import csv_paths, printable, to_json, to_table, write_jobs_csv
from sim.swf import SwfError, read_swf
from sim.workload import Cluster, Workload, describe_skipped

if TYPE_CHECKING:
    from sim.policies import Policy
    from sim.record import Replay

DEFAULT_POLICIES = ("fcfs", "easy")
_PROGRESS_EVERY_S = 0.2


class SimulateError(click.ClickException):
    """What the user gave cannot be used; shown as one line."""

    exit_code = 2

    def __init__(self, message: object) -> None:
        super().__init__(printable(str(message)))


@click.command()
@click.argument("trace", required=False, type=click.Path(path_type=Path))
@click.option("--cluster", "cluster_text", metavar="NODESxCORES", help="The cluster, such as 5832x16.")
@click.option(
    "--policy", "policy_names", metavar="NAME|FILE", multiple=True, help="A policy; repeat to compare. [fcfs and easy]"
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each policy instead of the table.")
@click.option("--jobs-csv", type=click.Path(path_type=Path), metavar="FILE", help="Write when and where each job ran.")
@click.option("--plot", "plot_file", type=click.Path(path_type=Path), metavar="FILE", help="Draw to FILE.svg or .png.")
@click.option("--generate", "jobs", type=int, metavar="JOBS", help="Draw so many jobs instead of reading a TRACE.")
@click.option("--users", type=int, metavar="N", help="With --generate: users. [20]")
@click.option("--seed", type=int, metavar="S", help="With --generate: the same seed draws the same jobs. [1]")
@click.option("--load", type=float, metavar="L", help="With --generate: offered load, 1 fills every core.")
def simulate(
    *,
    trace: Path | None,
    cluster_text: str | None,
    policy_names: tuple[str, ...],
    as_json: bool,
    jobs_csv: Path | None,
    plot_file: Path | None,
    jobs: int | None,
    users: int | None,
    seed: int | None,
    load: float | None,
) -> None:
    """Replay the workload in TRACE (Standard Workload Format, plain or gzipped) and compare policies on it.

    Unless --cluster says otherwise, the cluster is the one in the trace's header. Instead of a TRACE, --generate JOBS
    draws jobs from the Lublin-Feitelson model for the --cluster.
    """
    # The engine is loaded on use, so that the console starts without it.
    from sim.policies import resolve  # noqa: PLC0415

    _check_writable(jobs_csv, plot_file)
    cluster = _cluster(cluster_text)
    if jobs is not None:
        if trace is not None:
            raise SimulateError(f"--generate {jobs} and TRACE {trace}: give one of them, not both")
        workload = _generate(jobs, cluster, 20 if users is None else users, 1 if seed is None else seed, load)
    else:
        for option, given in (("--users", users), ("--seed", seed), ("--load", load)):
            if given is not None:
                raise SimulateError(f"{option} {given}: only with --generate JOBS")
        workload = _read(trace, cluster)
    cluster = cluster or workload.cluster
    if cluster is None:
        raise SimulateError(f"{workload.name}: no cluster known: give --cluster NODESxCORES, such as 5832x16")
    try:
        policies = [resolve(name, workload, cluster) for name in policy_names or DEFAULT_POLICIES]
    except ValueError as error:
        raise SimulateError(error) from error
    if workload.skipped:
        click.echo(
            printable(f"{workload.name}: {describe_skipped(workload.skipped, workload.skipped_lines)}"), err=True
        )
    _compare(workload, cluster, policies, as_json=as_json, jobs_csv=jobs_csv, plot_file=plot_file)


def _compare(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Policy],
    *,
    as_json: bool,
    jobs_csv: Path | None,
    plot_file: Path | None,
) -> None:
    measured: list[Metrics] = []
    replays: list[Replay] = []
    csv_files = csv_paths(jobs_csv, [policy.name for policy in policies]) if jobs_csv else []
    for index, policy in enumerate(policies):
        result = _replay(workload, cluster, policy)
        measured.append(measure(result))
        if plot_file:
            replays.append(result)
        # Written policy by policy: what is done is kept when a later replay is interrupted.
        if csv_files:
            try:
                write_jobs_csv(csv_files[index], result.records)
            except OSError as error:
                raise SimulateError(f"--jobs-csv {csv_files[index]}: {error.strerror}") from error
        if as_json:
            click.echo(to_json(measured[-1]))
    if not as_json:
        nodes = f"{cluster.nodes:,} node{'s' * (cluster.nodes != 1)}"
        cores = f"{cluster.cores_per_node:,} core{'s' * (cluster.cores_per_node != 1)}"
        click.echo(to_table(workload, f"{nodes} of {cores}", measured))
    if plot_file:
        try:
            plot(plot_file, f"{workload.name} on {cluster}", replays)
        except OSError as error:
            raise SimulateError(f"--plot {plot_file}: {error.strerror}") from error


def _replay(workload: Workload, cluster: Cluster, policy: Policy) -> Replay:
    from sim.replay import replay  # noqa: PLC0415 - as in simulate

    if not sys.stderr.isatty():
        return _say_skipped(replay(workload, cluster, policy), workload)
    with _Progress(printable(policy.name), len(workload.jobs)) as progress:
        result = replay(workload, cluster, policy, progress.show)
    return _say_skipped(result, workload)


def _say_skipped(result: Replay, workload: Workload) -> Replay:
    """Says what this policy left out beyond what reading did."""
    beyond = {cause: count for cause, count in result.skipped.items() if workload.skipped.get(cause) != count}
    if beyond:
        click.echo(printable(f"policy {result.policy}: {describe_skipped(beyond, {})}"), err=True)
    return result


class _Progress:
    """A line on stderr that counts jobs and is gone when the replay is done."""

    def __init__(self, policy: str, jobs: int) -> None:
        self._policy = policy
        self._jobs = jobs
        self._next_s = 0.0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        click.echo("\r\x1b[K", err=True, nl=False)

    def show(self, done: int) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _PROGRESS_EVERY_S
            click.echo(f"\r{self._policy}: {done:,} of {self._jobs:,} jobs\x1b[K", err=True, nl=False)


def _read(trace: Path | None, cluster: Cluster | None) -> Workload:
    if trace is None:
        raise SimulateError("no workload: give a TRACE in Standard Workload Format, or --generate JOBS")
    try:
        return read_swf(trace, cluster)
    except SwfError as error:
        raise SimulateError(error) from error


def _generate(jobs: int, cluster: Cluster | None, users: int, seed: int, load: float | None) -> Workload:
    if cluster is None:
        raise SimulateError(f"--generate {jobs}: needs --cluster NODESxCORES, such as 128x16")
    try:
        return generate(jobs, cluster, users, seed, load)
    except ValueError as error:
        raise SimulateError(f"--generate: {error}") from error


def _cluster(text: str | None) -> Cluster | None:
    try:
        return None if text is None else Cluster.parse(text)
    except ValueError as error:
        raise SimulateError(f"--cluster: {error}") from error


def _check_writable(jobs_csv: Path | None, plot_file: Path | None) -> None:
    """Refuses, before the replay, files that could not be written after it."""
    for option, path in (("--jobs-csv", jobs_csv), ("--plot", plot_file)):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise SimulateError(f"{option} {path}: must be a file in a folder that exists")
    if plot_file is not None:
        try:
            check_plot(plot_file)
        except PlotError as error:
            raise SimulateError(f"--plot: {error}") from error
