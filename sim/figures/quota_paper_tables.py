"""Prints Tables 1 and 2 of the quota paper, in its literal hourly form, on random batches.

Table 1: a user's quota as a hard limit and as a soft one; Table 2: ten clusters by themselves, and with jobs that
migrate. `make tables`; with `--events` (`make tables TABLES=--events`) the event-driven form of Table 1 follows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import mean
from typing import NamedTuple

import click

from sim.cli.replay_options import progress
from sim.figures.hard_vs_soft_quota_table import print_table
from sim.hourly.clusters_with_migration import ClustersOutcome, Migration, run_clusters
from sim.hourly.hard_and_soft_quotas import QuotaOutcome, run_hard_limit, run_soft_quota
from sim.hourly.random_jobs import HORIZON_H, USERS, Bounds, draw_clusters, draw_users
from sim.report.replay_table_json_and_csv import aligned

CLUSTERS, CLUSTER_CORES = 10, 1000
QUOTA_CORES = 3000
LOADS = (0.9, 1.0)


class Setting(NamedTuple):
    """The bounds of a job's cores and hours, both included, and the load."""

    cores: Bounds
    hours: Bounds
    load: float


class QuotaRow(NamedTuple):
    """Table 1: a setting, and its runs under both policies."""

    setting: Setting
    hard: Sequence[QuotaOutcome]
    soft: Sequence[QuotaOutcome]


class ClustersRow(NamedTuple):
    """Table 2: a setting, and its runs without and with migration."""

    setting: Setting
    separate: Sequence[ClustersOutcome]
    migrating: Sequence[ClustersOutcome]


class Variant(NamedTuple):
    """What may differ from the paper in Table 2: copying, a bound, and load that differs between clusters."""

    migration: Migration = Migration()
    uneven: bool = False


AS_THE_PAPER = Variant()
TABLE_1 = tuple((cores, hours) for cores in ((1, 20), (20, 100), (20, 200)) for hours in ((1, 10), (1, 50), (10, 100)))
TABLE_2 = tuple((cores, hours) for cores in ((1, 50), (1, 500)) for hours in ((1, 10), (1, 50), (1, 200)))


def quota_run(setting: Setting, run: int) -> tuple[QuotaOutcome, QuotaOutcome]:
    """One batch of Table 1 under the hard limit, and under the soft quota."""
    jobs = draw_users(run, setting.cores, setting.hours, setting.load, QUOTA_CORES)
    quota = QUOTA_CORES // USERS
    return run_hard_limit(jobs, QUOTA_CORES, quota), run_soft_quota(jobs, QUOTA_CORES, quota)


def clusters_run(setting: Setting, run: int, variant: Variant) -> tuple[ClustersOutcome, ClustersOutcome]:
    """One run of Table 2, without and with migration."""
    weights = tuple(0.5 + 0.1 * number for number in range(1, CLUSTERS + 1)) if variant.uneven else (1.0,) * CLUSTERS
    jobs = draw_clusters(run, setting.cores, setting.hours, setting.load, weights, CLUSTER_CORES)
    return run_clusters(jobs, CLUSTER_CORES, None), run_clusters(jobs, CLUSTER_CORES, variant.migration)


def quota_table(settings: Sequence[Setting], runs: int, workers: int = 1) -> list[QuotaRow]:
    """Table 1's rows."""
    which = [(setting, run) for setting in settings for run in range(1, runs + 1)]
    with ProcessPoolExecutor(workers) as pool, progress("Table 1", len(which)) as show:
        found = []
        for both in pool.map(quota_run, *zip(*which)):
            found.append(both)
            if show is not None:
                show(len(found))
    return [
        QuotaRow(setting, *(tuple(side) for side in zip(*found[place * runs : (place + 1) * runs])))
        for place, setting in enumerate(settings)
    ]


def clusters_table(
    settings: Sequence[Setting], runs: int, workers: int = 1, variant: Variant = AS_THE_PAPER
) -> list[ClustersRow]:
    """Table 2's rows."""
    which = [(setting, run, variant) for setting in settings for run in range(1, runs + 1)]
    with ProcessPoolExecutor(workers) as pool, progress("Table 2", len(which)) as show:
        found = []
        for both in pool.map(clusters_run, *zip(*which)):
            found.append(both)
            if show is not None:
                show(len(found))
    return [
        ClustersRow(setting, *(tuple(side) for side in zip(*found[place * runs : (place + 1) * runs])))
        for place, setting in enumerate(settings)
    ]


def quota_text(rows: Sequence[QuotaRow]) -> str:
    """Table 1 as lines."""
    table = [["cores", "hours", "load", "R hard %", "R soft %", "repeated %", "never started, hard"]]
    for setting, hard, soft in rows:
        table.append(
            [
                *_shown(setting),
                _percent([one.idle for one in hard]),
                _percent([one.idle for one in soft]),
                _percent([one.repeated for one in soft]),
                f"{mean(one.never for one in hard):,.0f}",
            ]
        )
    return "\n".join(aligned(table))


def clusters_text(rows: Sequence[ClustersRow]) -> str:
    """Table 2 as lines."""
    table = [["cores", "hours", "load", "R separate %", "R migrating %", "moved %", "wait h", "wait h, migrating"]]
    for setting, separate, migrating in rows:
        table.append(
            [
                *_shown(setting),
                _percent([one.idle for one in separate]),
                _percent([one.idle for one in migrating]),
                f"{100 * mean(one.moved for one in migrating):.0f}",
                f"{mean(one.wait_h for one in separate):.1f}",
                f"{mean(one.wait_h for one in migrating):.1f}",
            ]
        )
    lower = sum(_mean_idle(row.migrating) < _mean_idle(row.separate) for row in rows)
    return "\n".join([*aligned(table), "", f"R lower with migration in {lower} of {len(rows)} rows"])


def _mean_idle(outcomes: Sequence[ClustersOutcome]) -> float:
    return mean(one.idle for one in outcomes)


def _shown(setting: Setting) -> list[str]:
    return ["{}-{}".format(*setting.cores), "{}-{}".format(*setting.hours), f"{setting.load:g}"]


def _percent(values: Sequence[float]) -> str:
    return f"{100 * mean(values):.1f}"


def _read_row(text: str) -> tuple[Bounds, Bounds]:
    match = re.fullmatch(r"(\d{1,6})-(\d{1,6}):(\d{1,6})-(\d{1,6})", text)
    if match is not None:
        low_cores, high_cores, low_hours, high_hours = map(int, match.groups())
        if 1 <= low_cores <= high_cores and 1 <= low_hours <= high_hours:
            return (low_cores, high_cores), (low_hours, high_hours)
    raise click.BadParameter(f"{text!r}: must be CORES:HOURS, both from-to, such as 1-500:1-50")


@click.command()
@click.option("--runs", type=click.IntRange(1, 1000), default=10, show_default=True, help="Runs of each setting.")
@click.option("--table", type=click.Choice(["1", "2", "both"]), default="both", show_default=True, help="Which.")
@click.option("--row", "rows", multiple=True, metavar="CORES:HOURS", help="A row of your own, such as 1-500:1-50.")
@click.option("--load", "loads", multiple=True, type=click.FloatRange(0.01, 2), help="Offered load. [0.9 and 1]")
@click.option("--copy-hours", type=click.IntRange(0, 100), default=0, help="Table 2: hours that moving a job takes.")
@click.option("--max-per-pass", type=click.IntRange(1, 10_000), help="Table 2: jobs that a cluster sends an hour.")
@click.option("--uneven", is_flag=True, help="Table 2: cluster i gets 0.5 + 0.1 i of the mean load.")
@click.option("--events", is_flag=True, help="Also Table 1 event by event, with this project's own scheduling.")
def tables(
    *,
    runs: int,
    table: str,
    rows: tuple[str, ...],
    loads: tuple[float, ...],
    copy_hours: int,
    max_per_pass: int | None,
    uneven: bool,
    events: bool,
) -> None:
    """Tables 1 and 2 of the quota paper: soft quotas, and jobs that migrate, on random batches hour by hour."""
    own = tuple(map(_read_row, rows))
    workers = os.cpu_count() or 1
    if table != "2":
        settings = [Setting(*bounds, load) for bounds in own or TABLE_1 for load in loads or LOADS]
        click.echo(
            f"Table 1: {QUOTA_CORES:,} cores, {USERS} users of {QUOTA_CORES // USERS} cores each, {HORIZON_H:,} h, "
            f"means of {runs} runs; hard limit against soft quota\n"
        )
        click.echo(quota_text(quota_table(settings, runs, workers)))
    if table != "1":
        variant = Variant(Migration(copy_hours, max_per_pass), uneven)
        settings = [Setting(*bounds, load) for bounds in own or TABLE_2 for load in loads or LOADS]
        click.echo(
            f"\nTable 2: {CLUSTERS} clusters of {CLUSTER_CORES:,} cores, {HORIZON_H:,} h, means of {runs} runs; "
            "separate clusters against jobs that migrate\n"
        )
        click.echo(clusters_text(clusters_table(settings, runs, workers, variant)))
    if events:
        click.echo("\nTable 1, event by event\n")
        print_table(runs)


if __name__ == "__main__":
    tables()
