"""Compares hard limits with soft quotas, as in Table 1 of P1's source (docs/policies.md, P1).

Each batch is replayed twice on the same jobs, with the 100 cores of a user as a hard limit and as a soft quota with
preemption: ``python -m sim.figures.hard_vs_soft_quota_table``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import repeat
from statistics import mean, stdev
from typing import Callable, NamedTuple

import click

from policy.model.jobs_runs_vnodes_queues import HardLimits
from policy.model.limit_attributes import Limits
from sim.cli.replay_options import progress
from sim.replay.job_records import Replay
from sim.replay.metrics import SAMPLE_S, busy_cores
from sim.replay.named_policies import Policy, resolve
from sim.replay.replay import replay
from sim.report.replay_table_json_and_csv import aligned
from sim.workload.random_batches import CLUSTER, HORIZON_H, LOAD, SETTINGS, USERS, Setting, draw_batch
from sim.workload.workload import Cluster, Workload

_HOUR_S = 3600
_DRAWN = ["owners", "cores", "hours", "jobs"]
_FOUND = ["R hard %", "R soft %", "unused %", "ended hard", "ended soft", "preempted"]


class Outcome(NamedTuple):
    """One batch under one policy, up to the horizon.

    `idle` is the source's R: idle cores / all cores, mean of hourly samples. `unused` adds the share of the core-hours
    spent in runs that were preempted, and so were repeated; for this, runs after the horizon count too.
    """

    idle: float
    unused: float
    ended: int
    preemptions: int


class Row(NamedTuple):
    """One setting: the number of jobs in a batch, and the outcomes of its batches, in the same order under both
    policies.
    """

    setting: Setting
    jobs: int
    hard: Sequence[Outcome]
    soft: Sequence[Outcome]

    @property
    def less_idle(self) -> bool:
        """Whether fewer cores are idle under soft quotas, on average over the batches."""
        return mean(outcome.idle for outcome in self.soft) < mean(outcome.idle for outcome in self.hard)

    @property
    def not_fewer(self) -> bool:
        """Whether at least as many jobs end by the horizon under soft quotas, all batches together."""
        return sum(outcome.ended for outcome in self.soft) >= sum(outcome.ended for outcome in self.hard)


def both_policies(workload: Workload, cluster: Cluster) -> tuple[Policy, Policy]:
    """The equal share of each user as a hard limit, and as a soft quota."""
    equal = Limits({("u", "PBS_GENERIC"): cluster.cores // USERS})
    hard, soft = resolve("hard-limit", workload, cluster), resolve("quota", workload, cluster)
    return (
        replace(hard, queue=replace(hard.queue, hard=HardLimits(max_run_res={"ncpus": equal}))),
        replace(soft, queue=replace(soft.queue, quotas=equal)),
    )


def outcome_of(result: Replay, horizon_h: int) -> Outcome:
    """The outcome of a replay at the horizon."""
    cores = result.cluster.cores
    busy = busy_cores(result.records, 0, SAMPLE_S, horizon_h * _HOUR_S // SAMPLE_S)
    idle = 1 - sum(busy) / (len(busy) * cores)
    repeated = result.lost_core_s / (horizon_h * _HOUR_S * cores)
    ended = sum(record.end_s <= horizon_h * _HOUR_S for record in result.records)
    return Outcome(idle, idle + repeated, ended, sum(record.preemptions for record in result.records))


def replay_batch(setting: Setting, number: int, cluster: Cluster, horizon_h: int) -> tuple[Outcome, Outcome]:
    """One batch under the hard limit, and under the soft quota."""
    workload = draw_batch(setting, number, cluster, horizon_h)
    hard, soft = both_policies(workload, cluster)
    return (
        outcome_of(replay(workload, cluster, hard), horizon_h),
        outcome_of(replay(workload, cluster, soft), horizon_h),
    )


def compare_batches(
    settings: Sequence[Setting],
    batches: int,
    cluster: Cluster = CLUSTER,
    horizon_h: int = HORIZON_H,
    *,
    workers: int = 1,
    show: Callable[[int], None] | None = None,
) -> list[Row]:
    """Replay `batches` batches of each setting under both policies, in `workers` processes.

    `show` is called with the number of finished batches.
    """
    which = [(setting, number) for setting in settings for number in range(1, batches + 1)]
    outcomes: list[tuple[Outcome, Outcome]] = []
    with ProcessPoolExecutor(workers) as pool:
        for both in pool.map(replay_batch, *zip(*which), repeat(cluster), repeat(horizon_h)):
            outcomes.append(both)
            if show is not None:
                show(len(outcomes))
    rows = []
    for place, setting in enumerate(settings):
        of_setting = outcomes[place * batches : (place + 1) * batches]
        hard, soft = ([both[policy] for both in of_setting] for policy in (0, 1))
        rows.append(Row(setting, setting.jobs(cluster, horizon_h), hard, soft))
    return rows


def to_text(rows: Sequence[Row]) -> str:
    """A line for each setting: means over the batches, with their standard deviation after `±`."""
    table = [[*_DRAWN, *_FOUND]]
    for setting, jobs, hard, soft in rows:
        table.append(
            [
                setting.owners,
                "{}-{}".format(*setting.cores),
                "{}-{}".format(*setting.hours),
                f"{jobs:,}",
                _percent([outcome.idle for outcome in hard]),
                _percent([outcome.idle for outcome in soft]),
                _percent([outcome.unused for outcome in soft]),
                _count([outcome.ended for outcome in hard]),
                _count([outcome.ended for outcome in soft]),
                _count([outcome.preemptions for outcome in soft]),
            ]
        )
    settings = f"of {len(rows)} settings"
    return "\n".join(
        [
            *aligned(table),
            "",
            f"R lower under soft quotas in {sum(row.less_idle for row in rows)} {settings}, "
            f"jobs ended not fewer in {sum(row.not_fewer for row in rows)} {settings}",
        ]
    )


def _percent(values: Sequence[float]) -> str:
    return f"{100 * mean(values):.1f}{_spread([100 * value for value in values], '.1f')}"


def _count(values: Sequence[float]) -> str:
    return f"{mean(values):,.0f}{_spread(values, ',.0f')}"


def _spread(values: Sequence[float], form: str) -> str:
    return f"±{stdev(values):{form}}" if len(values) > 1 else ""


def print_table(batches: int) -> None:
    """Replay the batches of every setting, and print the table under its title."""
    with progress("batches", len(SETTINGS) * batches) as show:
        rows = compare_batches(SETTINGS, batches, workers=os.cpu_count() or 1, show=show)
    click.echo(
        f"Hard limits against soft quotas: {CLUSTER.cores:,} cores, {USERS} users of {CLUSTER.cores // USERS} cores "
        f"each, {batches} batches of {HORIZON_H} h, {100 * LOAD:.0f} % of the core-hours asked for\n"
    )
    click.echo(to_text(rows))


@click.command()
@click.option("--batches", type=click.IntRange(1, 1000), default=10, show_default=True, help="Batches of each setting.")
def tables(batches: int) -> None:
    """Hard limits against soft quotas with preemption, on random batches of jobs."""
    print_table(batches)


if __name__ == "__main__":
    tables()
