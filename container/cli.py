"""``pbsteer testbed``: the commands that bring a testbed up, show it, run programs on its hosts, and take it down."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, Callable

import click

from container import image as images
from container import testbed as testbeds
from container.requirements import check_podman, check_root, find_pbs_exec
from container.run_program import SYSTEM_PATH
from container.spec import ENGINES, MAX_CORES, MAX_MOMS, MAX_VNODES, TestbedError, TestbedSpec, short_name

_TERMINAL = ("TERM", "LANG", "COLORTERM")
"""The variables of root's environment that a user's command on a host gets."""
_ONE_MACHINE = (
    "  note     its hosts share this machine's /proc: each MoM reports the machine's own idle cores, load and memory"
)

_name_option = click.option("--name", default="pbsteer", show_default=True, help="Which testbed, of several.")
_state_option = click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    default=testbeds.DEFAULT_STATE,
    show_default=True,
    help=f"Keep its files in the folder {testbeds.FOLDER} below this one.",
)


def _say_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a `TestbedError` or OSError into click's own error line."""

    @wraps(command)
    def guarded(**arguments: Any) -> None:
        try:
            command(**arguments)
        except (TestbedError, OSError) as error:
            raise click.ClickException(str(error)) from error

    return guarded


def _end_in_order(number: int, _frame: FrameType | None) -> None:
    """Exit by an exception, so that what was begun is undone on the way out."""
    raise SystemExit(128 + number)


def _say(step: str) -> None:
    click.echo(f"{step} ...", err=True)


@click.group()
def testbed() -> None:
    """A real PBS server and MoMs on this machine, from an installed PBS."""


@testbed.command("up")
@click.option("--moms", type=click.IntRange(1, MAX_MOMS), default=3, show_default=True, help="Hosts with a MoM.")
@click.option("--cores", type=click.IntRange(1, MAX_CORES), default=8, show_default=True, help="Cores of each vnode.")
@click.option("--vnodes", type=click.IntRange(1, MAX_VNODES), default=1, show_default=True, help="Vnodes of each MoM.")
@click.option("--pbs-exec", help="The installed PBS [default: $PBS_EXEC, else what /etc/pbs.conf says, else /opt/pbs].")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="What hosts are made of: Linux namespaces, or podman's containers.",
)
@click.option("--image", default="", help="podman: make the hosts from this image [default: built here where missing].")
@click.option(
    "--share",
    "shares",
    multiple=True,
    help="podman: a folder of this machine that the hosts see too, by the same path, read-only; repeatable.",
)
@_name_option
@_state_option
@_say_errors
def up_command(
    *,
    moms: int,
    cores: int,
    vnodes: int,
    pbs_exec: str | None,
    engine: str,
    image: str,
    shares: tuple[str, ...],
    name: str,
    state: Path,
) -> None:
    """Start a testbed and wait until its vnodes are free."""
    check_root()
    for ends in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ends) is signal.SIG_DFL:
            signal.signal(ends, _end_in_order)
    start_s = time.monotonic()
    inside = None
    if image and engine == "podman" and pbs_exec is None:
        images.provide(image, _say)
        inside = images.find_pbs(image)
    where = inside or find_pbs_exec(pbs_exec, os.environ)
    shape = TestbedSpec(name=name, moms=moms, cores=cores, vnodes=vnodes, pbs_exec=where)
    made_of = replace(shape, engine=engine, image=image, pbs_in_image=inside is not None, shares=shares)
    spec = replace(made_of, shares=(*shares, *list_own_folders())) if engine == "podman" else made_of
    _, came_up = testbeds.up(spec, state, _say)
    said = f"up after {time.monotonic() - start_s:.1f} s" if came_up else "up already"
    click.echo(
        f"testbed {name} is {said}: server {spec.server.name}, "
        f"{moms} MoM{'' if moms == 1 else 's'} with {vnodes} x {cores} core{'' if cores == 1 else 's'} each"
    )
    click.echo("\n".join(_ways_in(spec, state, _own_command())))
    click.echo(_ONE_MACHINE)


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
@_say_errors
def image_command(packages: Path | None, base: str | None, tag: str | None) -> None:
    """Build the image that the podman engine's hosts are made of."""
    check_root()
    check_podman()
    name = tag or images.resolve("").replace("-host:", "-pbs:" if packages else "-host:")
    images.build(name, base=base, packages=packages, say=_say)
    click.echo(f"image {name} is there: pbsteer testbed up --engine podman --image {name}")


@testbed.command("down")
@_name_option
@_state_option
@_say_errors
def down_command(name: str, state: Path) -> None:
    """Stop a testbed and remove all of it; safe to repeat, also after a crash."""
    removed = testbeds.down(name, state)
    click.echo(f"testbed {name} is down" if removed else f"there is no testbed {name}")


@testbed.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_name_option
@_state_option
@_say_errors
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
@_state_option
@click.argument("host")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@_say_errors
def exec_command(host: str, command: tuple[str, ...], user: str | None, name: str, state: Path) -> None:
    """Run COMMAND on HOST (server, m1, m2, ...), on this terminal, in the user's home; ends with its exit status."""
    argv, env = testbeds.build_command(
        testbeds.open_testbed(name, state), host, _after_dashes(command), user=user, inherit=inherited(user, os.environ)
    )
    os.execvpe(argv[0], argv, env)  # noqa: S606


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


def _own_command() -> str:
    """The command that calls this program from any folder: its name if PATH leads to it, else its path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    if not called.exists() or (found is not None and Path(found).resolve() == called.resolve()):
        return called.name if found else "pbsteer"
    return shlex.quote(str(called.absolute()))


def _ways_in(spec: TestbedSpec, state: Path, pbsteer: str) -> list[str]:
    options = testbeds.write_options(spec.name, state)
    on = f"{pbsteer} testbed exec{options}"
    first = short_name(spec, spec.mom_hosts[0])
    return [
        f"  look     {on} server -- pbsnodes -aSj",
        f"  submit   {on} --user {spec.users[0].name} server -- qsub -- /bin/sleep 60",
        f"  console  {on} server -- pbsteer",
        f"  a MoM    {on} {first} -- bash",
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
        lines.append("  the PBS server does not answer")
    states: dict[str, int] = {}
    for vnode in found.vnodes:
        states[vnode.state] = states.get(vnode.state, 0) + 1
    lines.extend(f"  {count} vnode{'' if count == 1 else 's'} {state}" for state, count in sorted(states.items()))
    return lines
