"""``pbsteer testbed centre``: the commands that bring a centre up, show it, change its links, and take it down."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from container import testbed as testbeds
from container.centre import centre as centres
from container.centre.centre_spec import LETTERS, MIGRATING, CentreSpec, Programs
from container.cli_common import end_in_order_on_signals, name_option_for, own_command, say, say_errors, state_option
from container.hosts.machine_and_host_requirements import check_root, find_pbs_exec
from container.testbed_spec import MAX_CORES, MAX_MOMS

_name_option = name_option_for(CentreSpec.name, "Which centre, of several.")
_letter = click.Choice(LETTERS)


@click.group()
def centre() -> None:
    """Several clusters on this machine, each a testbed, whose servers reach each other by SSH."""


@centre.command("up")
@click.option(
    "--clusters",
    default=",".join(CentreSpec.schedulers),
    show_default=True,
    help=f"The clusters a, b, ..., each {' or '.join(MIGRATING)}; up to {len(LETTERS)}.",
)
@click.option("--moms", type=click.IntRange(1, MAX_MOMS), default=CentreSpec.moms, show_default=True, help="Of each.")
@click.option("--cores", type=click.IntRange(1, MAX_CORES), default=8, show_default=True, help="Cores of each vnode.")
@click.option("--pbs-exec", help="The installed PBS [default: as testbed up finds it].")
@click.option(
    "--every", type=click.FloatRange(0), default=0.0, help="Run the passes of migration every so many seconds [0: not]."
)
@click.option(
    "--programs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the programs of migration [default: that of this pbsteer].",
)
@_name_option
@state_option
@say_errors
def up_command(
    *,
    clusters: str,
    moms: int,
    cores: int,
    pbs_exec: str | None,
    every: float,
    programs: Path | None,
    name: str,
    state: Path,
) -> None:
    """Start a centre and wait until all its clusters can take jobs."""
    check_root()
    end_in_order_on_signals()
    schedulers = tuple(clusters.split(","))
    where = find_pbs_exec(pbs_exec, os.environ) if "pbs" in schedulers else CentreSpec.pbs_exec
    spec = CentreSpec(name, schedulers, moms, cores, where)
    centres.up(spec, own_programs(programs), every, state, say)
    click.echo(f"centre {name} is up")
    for member in spec.members:
        options = testbeds.write_options(member.testbed.name, state)
        click.echo(
            f"  {member.letter}  {member.testbed.scheduler:<6} {own_command()} testbed exec{options} server -- bash"
        )
    click.echo(f"  stop      {own_command()} testbed centre down{_options(name, state)}")


def own_programs(folder: Path | None) -> Programs:
    """The programs in ``folder``, by default those beside this Python."""
    return Programs((folder or Path(sys.prefix) / "bin").resolve())


@centre.command("down")
@_name_option
@state_option
@say_errors
def down_command(name: str, state: Path) -> None:
    """Stop a centre and remove all of it; safe to repeat, also after a crash."""
    removed = centres.down(name, state)
    click.echo(f"centre {name} is down" if removed else f"there is no centre {name}")


@centre.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_name_option
@state_option
@say_errors
def status_command(as_json: bool, name: str, state: Path) -> None:
    """Show a centre's clusters; the exit status is 1 unless all are up."""
    found = centres.open_centre(name, state)
    states = {letter: testbeds.status(testbed.spec.name, state) for letter, testbed in found.clusters.items()}
    if as_json:
        click.echo(json.dumps({letter: {"testbed": each.name, "up": each.is_up} for letter, each in states.items()}))
    else:
        for member, _ in found.members():
            state_word = "up" if states[member.letter].is_up else "not whole"
            click.echo(f"  {member.letter}  {member.testbed.scheduler:<6} {member.address:<15} {state_word}")
    if not all(each.is_up for each in states.values()):
        raise click.exceptions.Exit(1)


@centre.command("link")
@click.argument("one", type=_letter)
@click.argument("other", type=_letter)
@click.option("--cut", "change", flag_value="cut", help="Cut the link; open connections hang.")
@click.option("--restore", "change", flag_value="restore", help="Make it work again.")
@click.option("--rate", "kbit", type=click.IntRange(0), help="At most so many kbit/s each way; 0 for no limit.")
@_name_option
@state_option
@say_errors
def link_command(one: str, other: str, change: str | None, kbit: int | None, name: str, state: Path) -> None:
    """Change the link between two clusters."""
    if (change is None) == (kbit is None):
        raise click.UsageError("give one of --cut, --restore and --rate")
    if one == other:
        raise click.UsageError("a link is between two clusters")
    found = centres.open_centre(name, state)
    if kbit is not None:
        centres.limit_link(found, one, other, kbit)
    elif change == "cut":
        centres.cut_link(found, one, other)
    else:
        centres.restore_link(found, one, other)


def _options(name: str, state: Path) -> str:
    options = "" if name == CentreSpec.name else f" --name {name}"
    return options if state.resolve() == testbeds.DEFAULT_STATE else f"{options} --state {state.resolve()}"
