"""``pbsteer testbed``: the commands that bring a testbed up, show it, run programs on its hosts, and take it down."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import click

from container import testbed as testbeds
from container.centre.cli import centre
from container.cli_common import end_in_order_on_signals, name_option_for, own_command, say, say_errors, state_option
from container.engines import podman_image as images
from container.hosts.host_sensors import clear_sensors, read_sensors, write_sensors
from container.hosts.machine_and_host_requirements import check_podman, check_root, find_pbs_exec, find_torque_prefix
from container.run_program import SYSTEM_PATH
from container.testbed_spec import (
    ENGINES,
    MAX_CORES,
    MAX_MOMS,
    MAX_VNODES,
    SCHEDULERS,
    TestbedError,
    TestbedSpec,
    short_name,
)

_TERMINAL = ("TERM", "LANG", "COLORTERM")
"""The variables of root's environment that a user's command on a host gets."""
_ONE_MACHINE = (
    "  note     its hosts share this machine's /proc: each MoM reports the machine's own idle cores, load and memory\n"
    "           (pbsteer testbed sensors gives a host readings of its own)"
)

_name_option = name_option_for(TestbedSpec.name, "Which testbed, of several.")


@click.group()
def testbed() -> None:
    """A real PBS or Torque server and MoMs on this machine, from an installed one."""


testbed.add_command(centre)


@testbed.command("up")
@click.option("--moms", type=click.IntRange(1, MAX_MOMS), default=3, show_default=True, help="Hosts with a MoM.")
@click.option("--cores", type=click.IntRange(1, MAX_CORES), default=8, show_default=True, help="Cores of each vnode.")
@click.option("--vnodes", type=click.IntRange(1, MAX_VNODES), default=1, show_default=True, help="Vnodes of each MoM.")
@click.option(
    "--pbs-exec",
    help="The installed PBS or Torque [default: $PBS_EXEC, else what /etc/pbs.conf says, else /opt/pbs; of Torque"
    " /opt/torque, else /usr/local, else /usr].",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="What hosts are made of: Linux namespaces, or podman's containers.",
)
@click.option(
    "--scheduler",
    "--system",
    "scheduler",
    type=click.Choice(SCHEDULERS),
    default=SCHEDULERS[0],
    show_default=True,
    help="What runs the jobs: PBS, or this machine's Slurm or Torque.",
)
@click.option("--image", default="", help="podman: make the hosts from this image [default: built here where missing].")
@click.option(
    "--share",
    "shares",
    multiple=True,
    help="podman: a folder of this machine that the hosts see too, by the same path, read-only; repeatable.",
)
@_name_option
@state_option
@say_errors
def up_command(
    *,
    moms: int,
    cores: int,
    vnodes: int,
    pbs_exec: str | None,
    engine: str,
    scheduler: str,
    image: str,
    shares: tuple[str, ...],
    name: str,
    state: Path,
) -> None:
    """Start a testbed and wait until its vnodes are free."""
    check_root()
    end_in_order_on_signals()
    start_s = time.monotonic()
    inside = None
    if image and engine == "podman" and pbs_exec is None:
        images.provide(image, say)
        inside = images.find_pbs(image)
    where = inside or _find_installation(scheduler, pbs_exec)
    shape = TestbedSpec(name=name, moms=moms, cores=cores, vnodes=vnodes, pbs_exec=where, scheduler=scheduler)
    made_of = replace(shape, engine=engine, image=image, pbs_in_image=inside is not None, shares=shares)
    spec = replace(made_of, shares=(*shares, *list_own_folders())) if engine == "podman" else made_of
    _, came_up = testbeds.up(spec, state, say)
    node = "node" if scheduler == "slurm" else "MoM"
    outcome = f"up after {time.monotonic() - start_s:.1f} s" if came_up else "up already"
    click.echo(
        f"testbed {name} is {outcome}: server {spec.server.name}, "
        f"{moms} {node}{'' if moms == 1 else 's'} with {vnodes} x {cores} core{'' if cores == 1 else 's'} each"
    )
    click.echo("\n".join(_ways_in(spec, state, own_command())))
    if scheduler != "slurm":
        click.echo(_ONE_MACHINE)


def _find_installation(scheduler: str, given: str | None) -> str:
    if scheduler == "pbs":
        return find_pbs_exec(given, os.environ)
    return find_torque_prefix(given) if scheduler == "torque" else TestbedSpec.pbs_exec


def list_own_folders() -> tuple[str, ...]:
    """The folders that pbsteer itself runs from and that no image has: shared, so that the hosts can run it too."""
    own = (str(Path(__file__).resolve().parents[1]), sys.prefix, sys.base_prefix)
    return tuple(dict.fromkeys(path for path in own if path not in {"/", "/usr"}))


@testbed.command("image")
@click.option(
    "--packages",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Put the PBS from this folder's .deb files into the image [default: no PBS; the machine's is mounted in].",
)
@click.option("--base", help="Build on this image [default: Debian, of this machine's release].")
@click.option("--tag", help="Call the image this [default: localhost/pbsteer-host, with --packages ...-pbs].")
@say_errors
def image_command(packages: Path | None, base: str | None, tag: str | None) -> None:
    """Build the image that the podman engine's hosts are made of."""
    check_root()
    check_podman()
    name = tag or images.resolve("").replace("-host:", "-pbs:" if packages else "-host:")
    images.build(name, base=base, packages=packages, say=say)
    click.echo(f"image {name} is there: pbsteer testbed up --engine podman --image {name}")


@testbed.command("down")
@_name_option
@state_option
@say_errors
def down_command(name: str, state: Path) -> None:
    """Stop a testbed and remove all of it; safe to repeat, also after a crash."""
    removed = testbeds.down(name, state)
    click.echo(f"testbed {name} is down" if removed else f"there is no testbed {name}")


@testbed.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_name_option
@state_option
@say_errors
def status_command(as_json: bool, name: str, state: Path) -> None:
    """Show a testbed; the exit status is 1 unless it is up."""
    found = testbeds.status(name, state)
    if as_json:
        click.echo(json.dumps(asdict(found)))
    else:
        click.echo("\n".join(_describe(found)))
    if not found.is_up:
        raise click.exceptions.Exit(1)


@testbed.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--user", help="Run as this user of the testbed [default: root].")
@_name_option
@state_option
@click.argument("host")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@say_errors
def exec_command(host: str, command: tuple[str, ...], user: str | None, name: str, state: Path) -> None:
    """Run COMMAND on HOST (server, m1, m2, ...), on this terminal, in the user's home; ends with its exit status."""
    argv, env = testbeds.build_command(
        testbeds.open_testbed(name, state), host, _after_dashes(command), user=user, inherit=inherited(user, os.environ)
    )
    os.execvpe(argv[0], argv, env)  # noqa: S606


@testbed.command("sensors")
@click.option("--idle", help="The part of its cores' time that is idle, 0 to 1.")
@click.option("--memory", help="MiB left of all: LEFT/ALL.")
@click.option("--network", help="Mbit/s left of all: LEFT/ALL.")
@click.option("--temperature", help="Degrees now, and the most that it tolerates: NOW/MOST.")
@click.option("--own", is_flag=True, help="Report what the machine measures again.")
@_name_option
@state_option
@click.argument("host")
@say_errors
def sensors_command(
    *,
    idle: str | None,
    memory: str | None,
    network: str | None,
    temperature: str | None,
    own: bool,
    host: str,
    name: str,
    state: Path,
) -> None:
    """Give HOST (m1, m2, ...) readings of its own, or show them; "none" is a sensor that it does not have.

    Values that are not given stay as they are. They are reported from the hook's next run on."""
    found = testbeds.open_testbed(name, state)
    place = found.spec.find_host(host)
    home = found.pbs_home(place)
    given = {"idle": idle, "mem": memory, "net": network, "temp": temperature}
    asked = {part: value for part, value in given.items() if value is not None}
    if found.spec.scheduler != "pbs" or place.is_server:
        raise TestbedError(f"{host}: only hosts with a MoM of PBS report readings")
    if own and asked:
        raise TestbedError("--own: not with values")
    if own:
        clear_sensors(home)
    elif asked:
        write_sensors(home, {**read_sensors(home), **asked})
    values = read_sensors(home)
    shown = ";".join(f"{part}={value}" for part, value in values.items())
    click.echo(f"{place.name}: {shown or 'reports what the machine measures'}")


def _after_dashes(words: tuple[str, ...]) -> list[str]:
    """The command without a ``--`` in front."""
    command = list(words[1:] if words[0] == "--" else words)
    if not command:
        raise TestbedError("no command after --")
    return command


def inherited(user: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's variables for a command on a host: all of them as root, those of the terminal as a user.

    pbsteer's own folder of programs is at the end of PATH, so that ``pbsteer`` is found on the hosts too.
    """
    kept = environ if user is None else {name: environ[name] for name in _TERMINAL if name in environ}
    return {**kept, "PATH": f"{kept.get('PATH', SYSTEM_PATH)}:{sys.prefix}/bin"}


def _ways_in(spec: TestbedSpec, state: Path, pbsteer: str) -> list[str]:
    options = testbeds.write_options(spec.name, state)
    on = f"{pbsteer} testbed exec{options}"
    first, user = short_name(spec, spec.mom_hosts[0]), spec.users[0].name
    commands = {
        "pbs": {
            "look": "server -- pbsnodes -aSj",
            "submit": f"--user {user} server -- qsub -- /bin/sleep 60",
            "console": "server -- pbsteer",
            "a MoM": f"{first} -- bash",
        },
        "torque": {
            "look": "server -- pbsnodes -l all",
            "submit": f"--user {user} server -- sh -c 'echo sleep 60 | qsub -l nodes=1:ppn=2'",
            "console": "server -- pbsteer",
            "a MoM": f"{first} -- bash",
        },
        "slurm": {
            "look": "server -- sinfo -N",
            "submit": f"--user {user} server -- sbatch --wrap 'sleep 60'",
            "a node": f"{first} -- bash",
        },
    }[spec.scheduler]
    return [
        *(f"  {what:<8} {on} {command}" for what, command in commands.items()),
        f"  stop     {pbsteer} testbed down{options}",
    ]


def _describe(found: testbeds.TestbedStatus) -> list[str]:
    if not found.exists:
        return [f"there is no testbed {found.name}"]
    lines = [f"testbed {found.name} is {'up' if found.is_up else 'not whole: take it down'} ({found.folder})"]
    lines.extend(
        f"  {host.name:<24} {host.address:<15} " + (f"process {host.pid}" if host.pid else "not running")
        for host in found.hosts
    )
    if found.spec is not None and not found.server_answers:
        lines.append(f"  the server of {found.spec.scheduler} does not answer")
    states: dict[str, int] = {}
    for vnode in found.vnodes:
        states[vnode.state] = states.get(vnode.state, 0) + 1
    lines.extend(f"  {count} vnode{'' if count == 1 else 's'} {state}" for state, count in sorted(states.items()))
    return lines
