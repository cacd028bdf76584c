"""The long form: ``python -m tests.faults``, on a testbed of its own. ``--help`` says what it takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from container import testbed as testbeds
from container.hosts.machine_and_host_requirements import find_pbs_exec, find_shortcomings
from container.testbed_spec import TestbedSpec
from tests.faults.campaign_on_testbed import draw_schedule, run_campaign, show_table, write_json
from tests.faults.kinds.all_kinds import KINDS
from tests.faults.testbed_under_faults import INTERVAL_S, Ground
from tests.pbs.cluster import PbsCluster


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
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write all trials to this file.")
def main(
    faults: int, seed: str, minutes: float, first: int, last: int | None, kinds: tuple[str, ...], interval_s: int,
    json_path: Path | None,
) -> None:  # fmt: skip
    """Try many faults on a real PBS server with pbsteer's hooks, and say what was survived and what was lost.

    Needs what the tests in tests/pbs need: root, and an installed PBS. The exit status is 0 where faults hit and
    nothing was lost, 1 where something was, 2 where no testbed can run.
    """
    shortcomings = find_shortcomings(None, os.environ)
    if shortcomings is not None:
        click.echo(f"no faults can be tried here: {shortcomings}", err=True)
        sys.exit(2)
    name = f"pbst-{os.getpid()}"
    try:
        built, _ = testbeds.up(TestbedSpec(name=name, pbs_exec=find_pbs_exec(None, os.environ)))
        ground = Ground(PbsCluster(built), seed, interval_s)
        ground.prepare()
        schedule = draw_schedule(faults, seed, kinds)[:last]
        outcome = run_campaign(ground, schedule, seed, minutes=minutes, say=click.echo, first=first)
    finally:
        testbeds.down(name)
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
