"""Replicates for `simulate` and `compare`: the policies on several workloads drawn or resampled with other seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from sim.cli.replay_beside_references import Evidence, replay_beside_references
from sim.cli.replay_options import CommandError, Sharing, Source, find_policies
from sim.replay.metrics import Metrics, measure
from sim.report.gains_sizes_users_and_losers import Gains
from sim.report.replay_table_json_and_csv import printable
from sim.report.replicates_table import to_json, to_text

_MOST = 1000

replicates_option = click.option(
    "--replicates",
    type=click.IntRange(2, _MOST),
    metavar="N",
    help="With --generate or --resample: N workloads with one seed after the other; means with intervals.",
)
"""The option --replicates, passed as `replicates`."""


def show_replicates(
    source: Source, names: Sequence[str], evidence: Evidence, count: int, *, sharing: Sharing, as_json: bool
) -> None:
    """Replay the policies on each replicate, and print their means. Raises CommandError."""
    found = find_policies(names)
    measured: list[list[Metrics]] = [[] for _ in names]
    gains: list[list[Gains]] = [[] for _ in names]
    policies: list[str] = []
    jobs: list[int] = []
    title = ""
    drawn = (sharing.apply(*each) for each in source.load_replicates(count))
    for number, (workload, cluster) in enumerate(drawn):
        built = [build(workload, cluster) for build in found]
        numbers = evidence.measured_jobs(workload)
        each = replay_beside_references(
            workload, cluster, names, built, evidence, contention=sharing.contention, quiet=number > 0
        )
        for index, beside in enumerate(each):
            measured[index].append(measure(beside.replay, numbers))
            gains[index].append(beside.gains)
        policies = [policy.name for policy in built]
        jobs.append(len(workload.jobs))
        title = title or f"{printable(workload.name)} and {count - 1} more: {len(workload.jobs):,} jobs on {cluster}"
    if as_json:
        for policy, of_policy, of_gains in zip(policies, measured, gains):
            click.echo(to_json(policy, jobs, of_policy, of_gains))
        return
    click.echo(to_text(title, policies, jobs, measured, gains))


def refuse_with_replicates(options: Mapping[str, object]) -> None:
    """Refuse the options (by name) that show one workload alone. Raises CommandError."""
    for option, given in options.items():
        if given:
            raise CommandError(f"{option}: not with --replicates")
