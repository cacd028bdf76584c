"""Replays policies beside the references that every gain is counted from, and measures all on the same jobs.

A reference that the user did not name is replayed as well, but is no column of a table.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Callable

import click

from sim.cli.replay_options import CommandError, replay_each
from sim.evidence.gains_over_references import REFERENCES, Pair, Reference, gains
from sim.evidence.measured_jobs import MOST_PERCENT, TRIM_PERCENT, measured_jobs
from sim.evidence.weeks_of_submission import Weeks
from sim.replay.job_records import Replay
from sim.replay.named_policies import Policy, resolve
from sim.report.gains_sizes_users_and_losers import Gains
from sim.workload.workload import Cluster, Workload


@dataclass(frozen=True)
class Evidence:
    """How policies are measured: what is trimmed at each end, in per cent of the jobs; the seed of the intervals."""

    trim_percent: float
    seed: int

    def measured_jobs(self, workload: Workload) -> frozenset[int]:
        """The numbers of the jobs that are measured."""
        return measured_jobs(workload.jobs, self.trim_percent)


def evidence_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --trim and --bootstrap-seed to a command, which gets them as `evidence`."""

    @functools.wraps(command)
    def with_evidence(*, trim_percent: float, bootstrap_seed: int, **others: Any) -> None:
        command(evidence=Evidence(trim_percent, bootstrap_seed), **others)

    for decorate in reversed(_OPTIONS):
        with_evidence = decorate(with_evidence)
    return with_evidence


_OPTIONS = (
    click.option(
        "--trim",
        "trim_percent",
        type=click.FloatRange(0, MOST_PERCENT),
        default=TRIM_PERCENT,
        show_default=True,
        metavar="PERCENT",
        help="Leave so many % of the jobs, first and last submitted, out of waits and slowdowns.",
    ),
    click.option(
        "--bootstrap-seed",
        type=int,
        default=1,
        show_default=True,
        metavar="S",
        help="The same seed draws the same weeks for the intervals.",
    ),
)


@dataclass(frozen=True)
class Measured:
    """A replay beside the references. `pairs` are the measured jobs that it and the first reference both ran."""

    replay: Replay
    gains: Gains
    pairs: Sequence[Pair]


def replay_beside_references(
    workload: Workload,
    cluster: Cluster,
    names: Sequence[str],
    policies: Sequence[Policy],
    evidence: Evidence,
    *,
    contention: bool,
    keep_runs: bool = False,
    quiet: bool = False,
) -> Iterator[Measured]:
    """Replay the policies, each with the name or file that the user gave, in their order. With ``quiet`` what was left
    out when the workload was read is not listed. Raises CommandError as
    :func:`~sim.cli.replay_options.replay_each` does, and if a policy ran none of the jobs that are measured.
    """
    given = dict(zip(names, policies))
    first = [given[name] if name in given else resolve(name, workload, cluster) for name in REFERENCES]
    others = [policy for name, policy in zip(names, policies) if name not in REFERENCES]
    measured, weeks = evidence.measured_jobs(workload), Weeks.of(workload.jobs)
    replayed = replay_each(
        workload, cluster, [*first, *others], contention=contention, keep_runs=keep_runs, quiet=quiet
    )
    references = {name: next(replayed) for name in REFERENCES}
    paired_with = [Reference(replay) for replay in references.values()]
    for name in names:
        replay = references[name] if name in references else next(replayed)
        if not any(record.job.number in measured for record in replay.records):
            raise CommandError(f"policy {replay.policy}: not one of the jobs that --trim leaves could ever start")
        pairs = [reference.pairs(replay, measured) for reference in paired_with]
        yield Measured(
            replay,
            {
                reference.name: gains(of_reference, weeks, evidence.seed)
                for reference, of_reference in zip(paired_with, pairs)
                if name != reference.name
            },
            pairs[0],
        )
