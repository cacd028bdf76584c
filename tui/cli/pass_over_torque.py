"""``pbsteer pass``: the passes over a Torque server, as a process in the foreground, to be run by systemd."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import click

STATUS_FAILED = 1


@click.command(name="pass")
@click.option("--once", is_flag=True, help="Make one pass, say what it did or would have done, and exit.")
@click.option(
    "--settings",
    "settings_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The settings file, with the mode, quotas and priorities. [/etc/pbsteer/policy.toml, else the built-in ones]",
)
@click.option("--server", metavar="HOST", default="", help="Steer this Torque server instead of the host's own.")
def pass_over_torque(*, once: bool, settings_path: Path | None, server: str) -> None:
    """Steer this host's Torque server: read it, decide, and act as server.mode of the settings says.

    In observe nothing is done, and the journal has what would have been. In drive this process starts and preempts the
    jobs, and it refuses to beside another scheduler. It goes on until it is ended by SIGTERM or Ctrl-C; changes of the
    settings file hold from the next pass on. Root runs it on the server's host. On PBS a hook does this.
    """
    from hooks.store.state_files import SecondWriterError, State, StateError  # noqa: PLC0415 - loaded on use
    from hooks.store.state_folder import state_folder  # noqa: PLC0415
    from policy import SettingsError  # noqa: PLC0415
    from torque.act.torque_as_pbs_ifl import TorqueAsPbsIfl  # noqa: PLC0415
    from torque.passes.run_passes import PassProcess  # noqa: PLC0415
    from torque.passes.watched_settings import WatchedSettings  # noqa: PLC0415
    from torque.read.libtorque_connection import LibraryMissingError, load_library, set_timeout  # noqa: PLC0415
    from tui.backends.find_torque import find_torque  # noqa: PLC0415
    from tui.backends.torque.settings_file import edit_settings_file  # noqa: PLC0415
    from tui.config.read_site_policy_toml import DEFAULT_POLICY, read_settings  # noqa: PLC0415

    place = find_torque(os.environ, server)
    if place is None:
        raise click.ClickException("no Torque on this host: on PBS passes are made by a hook (pbsteer hooks apply)")
    if place.library is None:
        raise click.ClickException(f"no libtorque.so.2 below {place.prefix}, by which passes speak to the server")
    if os.geteuid() != 0:
        raise click.ClickException("passes are made by root, on the server's host")
    if settings_path is not None and not settings_path.is_file():
        raise click.ClickException(f"{settings_path}: no such file")
    try:
        settings = WatchedSettings(settings_path or DEFAULT_POLICY, read_settings, edit_settings_file)
        library = load_library(place.library)
    except SettingsError as error:
        raise click.ClickException("\n".join(error.problems)) from error
    except LibraryMissingError as error:
        raise click.ClickException(str(error)) from error
    set_timeout(settings.current().torque.timeout_s)
    state = State(state_folder(str(place.home)), settings.current().server.journal_group)
    stop = _stop_on_signals()
    process = PassProcess(TorqueAsPbsIfl(library, place.server), state, settings, stop, _say)
    try:
        with state.locked():
            if not once:
                process.run(lambda: _is_readable(stop))
                return
            if not process.run_once():
                raise click.exceptions.Exit(STATUS_FAILED)
            click.echo(_describe(state))
    except (SecondWriterError, StateError) as error:
        raise click.ClickException(str(error)) from error


def _say(sentence: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {sentence}")


def _stop_on_signals() -> int:
    """A descriptor that can be read once the process is to end; a pass under way ends first."""
    readable, writable = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def stop(_number: int, _frame: object) -> None:
        os.write(writable, b".")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    return readable


def _is_readable(descriptor: int) -> bool:
    import select  # noqa: PLC0415

    return bool(select.select([descriptor], [], [], 0)[0])


def _describe(state: object) -> str:
    """The last pass in two lines: what was decided, and what was done of it."""
    from hooks.store.state_files import LAST_PASS  # noqa: PLC0415

    entry = state.read_published(LAST_PASS)  # type: ignore[attr-defined]
    acted = ", ".join(entry["acted"])
    where = f"driven: {acted}" if acted else "nothing is driven: this is what would have been done"
    lines = [
        f"{entry['running']} running, {entry['waiting']} waiting, {entry['idle_cores']} cores idle; {where}",
        *(f"start {each['job']} of {each['user']} on {each['exec_vnode']}" for each in entry["starts"]),
        *(f"preempt {each['job']} of {each['user']} for {each['beneficiary']}" for each in entry["preempts"]),
        *(f"{each['jobs']} waiting: {each['sentence']} ({each['example']})" for each in entry["waits"]),
    ]
    return "\n".join(lines)
