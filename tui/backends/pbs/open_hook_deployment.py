"""Opens the hooks' deployment on a PBS server's host: its installed PBS, and the programs that read and set it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.qmgr_lines_in_one_program import ARGV
from hooks.deploy.read_installed_server_state import DeployError, Qmgr, Reply
from tui.backends.find_torque import find_torque
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.pbs.find_pbs import PbsPlace, read_conf
from tui.backends.reader_or_programs.run_program import run

TIMEOUT_S = 60.0


def read_place(conf: Path) -> PbsPlace:
    """The PBS of this host, whose server the hooks are for. Raises :class:`DeployError` with what is missing."""
    try:
        settings = read_conf(conf)
    except OSError as error:
        if find_torque(os.environ) is not None:
            raise DeployError("the programs of this host are Torque's, which has no hooks: this is for PBS") from error
        raise DeployError(f"{conf}: {error.strerror}: is this the PBS server's host?") from error
    for key in ("PBS_HOME", "PBS_EXEC"):
        if not settings.get(key):
            raise DeployError(f"{conf}: {key} is not set")
    return PbsPlace(Path(settings["PBS_EXEC"]), Path(settings["PBS_HOME"]), settings.get("PBS_SERVER", ""))


def open_deployment(place: PbsPlace) -> Deployment:
    """The deployment in this PBS. Raises :class:`DeployError`."""
    return Deployment(
        str(place.home),
        ask_qmgr(place),
        lambda argv: _run(place, argv),
        str(place.exec_path),
        lambda lines: _run(place, ARGV, lines),
    )


def ask_qmgr(place: PbsPlace) -> Qmgr:
    """What runs one qmgr command on the server of this PBS."""
    return lambda line: _run(place, ("qmgr", "-c", line))


def _run(place: PbsPlace, argv: Sequence[str], given: str = "") -> Reply:
    program, *arguments = argv
    try:
        done = run([place.program(program), *arguments], TIMEOUT_S, given=given)
    except BackendError as error:
        return Reply(1, "", str(error))
    return Reply(done.status, done.out, done.err)


def qmgr_command(line: str) -> str:
    """A qmgr line as a shell command, for the administrator to run."""
    return f'qmgr -c "{line}"'
