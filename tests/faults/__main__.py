"""The long form: ``python -m tests.faults``, on testbeds of its own side by side. ``--help`` says what it takes."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import click

from container import testbed
from container.hosts.machine_and_host_requirements import find_pbs_exec, find_shortcomings
from container.testbed_spec import TestbedSpec
from tests.faults.campaign_on_testbed import Outcome, draw_schedule, merge, run_campaign, show_table, write_json
from tests.faults.kinds.all_kinds import KINDS
from tests.faults.testbed_under_faults import INTERVAL_S, Ground
from tests.pbs.cluster import PbsCluster


class Part(NamedTuple):
    """What one testbed tries: every ``step``-th fault of the schedule, from number ``first`` on."""

    schedule: list[str]
    seed: str
    first: int
    step: int
    minutes: float
    interval_s: int

    def try_all(self) -> Outcome:
        """Try them on a testbed of this process."""
        name = f"pbst-{os.getpid()}"
        try:
            built, _ = testbed.up(TestbedSpec(name=name, pbs_exec=find_pbs_exec(None, os.environ)))
            ground = Ground(PbsCluster(built), self.seed, self.interval_s)
            ground.prepare()
            return run_campaign(
                ground, self.schedule, self.seed,
                minutes=self.minutes, say=click.echo, first=self.first, step=self.step,
            )  # fmt: skip
        finally:
            testbed.down(name)


@click.command()
@click.option("--faults", default=1100, show_default=True, help="How many.")
@click.option("--seed", default="1", show_default=True, help="What their order, and all chances, follow from.")
@click.option("--minutes", default=90.0, show_default=True, help="After so many no further fault is tried.")
@click.option("--first", default=1, show_default=True, help="Begin with this fault of the schedule.")
@click.option("--last", default=None, type=int, help="End with this one; with --first, it repeats a part.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Only this kind; repeatable.")
@click.option(
    "--interval",
    "interval_s",
    default=INTERVAL_S,
    show_default=True,
    type=click.IntRange(1, 6),
    help="Seconds between passes that are due; from 4 on others come ahead of their time.",
)
@click.option(
    "--testbeds",
    default=4,
    show_default=True,
    type=click.IntRange(1, 16),
    help="How many share the faults, side by side.",
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write all trials to this file.")
def main(
    faults: int, seed: str, minutes: float, first: int, last: int | None, kinds: tuple[str, ...], interval_s: int,
    testbeds: int, json_path: Path | None,
) -> None:  # fmt: skip
    """Try many faults on a real PBS server with pbsteer's hooks, and say what was survived and what was lost.

    Needs what the tests in tests/pbs need: root, and an installed PBS. The exit status is 0 where faults hit and
    nothing was lost, 1 where something was, 2 where no testbed can run.
    """
    shortcomings = find_shortcomings(None, os.environ)
    if shortcomings is not None:
        click.echo(f"no faults can be tried here: {shortcomings}", err=True)
        sys.exit(2)
    schedule = draw_schedule(faults, seed, kinds)[:last]
    testbeds = max(1, min(testbeds, len(schedule) - first + 1))
    parts = [Part(schedule, seed, first + place, testbeds, minutes, interval_s) for place in range(testbeds)]
    with ProcessPoolExecutor(testbeds) as pool:
        outcome = merge(list(pool.map(Part.try_all, parts)))
    if json_path is not None:
        write_json(outcome, json_path, seed)
    click.echo(f"\n{show_table(outcome)}\n")
    click.echo(f"{outcome.jobs:,} jobs, which were put back into the queue {outcome.preempted:,} times")
    click.echo(f"{outcome.run_again:,} jobs did all of their work more than once")
    if outcome.restarted_moms:
        click.echo(f"{outcome.restarted_moms} times a MoM had lost its server for good, and was started again")
    for line in outcome.tell_losses():
        click.echo(line)
    click.echo(f"seed {seed}: {outcome.tried - len(outcome.lost)} of {outcome.tried} faults survived")
    sys.exit(0 if outcome.is_good else 1)


if __name__ == "__main__":
    main(prog_name="python -m tests.faults")
