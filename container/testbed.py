"""The testbed as a whole: up, down, status, running a command on a host, stopping and starting the server.

All that a testbed leaves on the machine is one folder and its hosts (processes, or containers and their network), and
they follow from its name: so ``down`` needs no record of what ``up`` did, can be repeated, and removes what a crash
left.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable

from container.daemons_interface import Daemons
from container.engines.engine_interface import ENGINES
from container.hosts.add_users_to_account_files import Account, find_account, make_homes
from container.hosts.find_and_enter_running_host import enter_argv, find_host_process, path_on_host
from container.hosts.folder_permissions_and_space import check_parents, check_room, make_parents
from container.hosts.machine_and_host_requirements import SERVER_PROGRAMS, check_root
from container.pbs import daemons as pbs_daemons
from container.per_host_etc_and_var import HOMES, make_host_files, make_setuid_copies, pbs_home, read_text
from container.run_program import SYSTEM_PATH, Finished, run
from container.slurm import daemons as slurm_daemons
from container.testbed_spec import Host, TestbedError, TestbedSpec, User, check_name, check_path
from container.torque import daemons as torque_daemons

DEFAULT_STATE = Path("/var/lib")
FOLDER = "pbsteer-testbed"
"""Below the state folder; ``down`` removes only what is below a folder of this name."""

_SPEC_FILE = "spec.json"
_READY_FILE = "ready"
_STATE = "state"
"""State of root's programs on the hosts, such as a console's audit file; it is removed with the testbed."""
_DAEMONS: dict[str, Daemons] = {"pbs": pbs_daemons, "slurm": slurm_daemons, "torque": torque_daemons}
_STOPS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


@dataclass(frozen=True)
class Testbed:
    """A testbed that is up. ``folder`` has all of its files, and those of its hosts as the machine sees them."""

    __test__ = False

    spec: TestbedSpec
    folder: Path

    def pbs_home(self, host: Host) -> Path:
        """The host's PBS_HOME, by the same path on the machine and on the host."""
        return pbs_home(self.folder, host)

    def home(self, user: str) -> Path:
        """The user's home directory, the same on all hosts. `TestbedError` if the testbed has no such user."""
        return Path(_find_account(self.folder, self.spec.server, user).home)


@dataclass(frozen=True)
class HostStatus:
    """The state of one host: ``pid`` is its first process's number on the machine, None if it is not running."""

    name: str
    address: str
    pid: int | None


@dataclass(frozen=True)
class VnodeStatus:
    """One vnode, as the server reports it."""

    name: str
    state: str
    ncpus: int


@dataclass(frozen=True)
class TestbedStatus:
    """The state of a testbed. ``is_up``: it came up completely, all hosts run, and the server answers."""

    __test__ = False

    name: str
    folder: str
    exists: bool
    is_up: bool
    server_answers: bool
    spec: TestbedSpec | None
    hosts: tuple[HostStatus, ...]
    vnodes: tuple[VnodeStatus, ...]


def up(
    spec: TestbedSpec, state: Path = DEFAULT_STATE, say: Callable[[str], None] = lambda _: None
) -> tuple[Testbed, bool]:
    """Bring a testbed up; returns it, and whether this call brought it up (False: it was up already).

    A call that fails or is interrupted takes down what it made. `TestbedError` if the machine cannot run a testbed, if
    one of this name is up with another specification, or if an incomplete one exists.
    """
    check_root()
    # Whatever root's umask is, users and daemons of a host must be able to enter the folders made here.
    umask = os.umask(0o022)
    try:
        return _up(spec, state, say)
    finally:
        os.umask(umask)


def _up(spec: TestbedSpec, state: Path, say: Callable[[str], None]) -> tuple[Testbed, bool]:
    program = SERVER_PROGRAMS.get(spec.scheduler)
    if program and not spec.pbs_in_image and not (Path(spec.pbs_exec) / program).is_file():
        what = "PBS" if spec.scheduler == "pbs" else "Torque"
        raise TestbedError(f"no installed {what}: {spec.pbs_exec} has no {program}")
    folder = find_folder(spec.name, state)
    found = status(spec.name, state)
    if found.exists:
        if found.is_up and found.spec == spec:
            return Testbed(spec, folder), False
        state_of_it = _describe_shape(found.spec, spec) if found.is_up else "there, but not whole"
        which = write_options(spec.name, state)
        raise TestbedError(f"testbed {spec.name!r} is {state_of_it}; take it down first: pbsteer testbed down{which}")
    ENGINES[spec.engine].prepare(spec, say)
    check_parents(folder)
    make_parents(folder)
    check_room(spec, folder)
    try:
        folder.mkdir(mode=0o755)
    except FileExistsError as error:
        raise TestbedError(f"testbed {spec.name!r} is being brought up by another process ({folder})") from error
    try:
        _bring_up(spec, folder, say)
    except BaseException:
        # Stop signals are blocked: another Ctrl-C would leave half of it.
        waiting = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
        try:
            with contextlib.suppress(OSError):  # the terminal may be gone
                say("taking down what was started")
            down(spec.name, state)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
        raise
    return Testbed(spec, folder), True


def down(name: str, state: Path = DEFAULT_STATE) -> bool:
    """Take a testbed down: its hosts, of any engine, and its files. Returns whether there was anything; safe to repeat.

    `TestbedError` if an engine that may have hosts of it cannot end them; the files are then kept.
    """
    check_root()
    folder = find_folder(name, state)
    existed = folder.exists()
    was_running = _end_hosts(folder)
    while folder.exists():
        # Another process may be taking it down too.
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
    return existed or was_running


def status(name: str, state: Path = DEFAULT_STATE) -> TestbedStatus:
    """The state of the testbed called ``name``, complete or not."""
    check_root()
    folder = find_folder(name, state)
    spec = _read_spec(folder)
    if spec is None:
        return TestbedStatus(name, str(folder), folder.exists(), False, False, None, (), ())
    hosts = tuple(HostStatus(h.name, h.address, find_host_process(folder, h)) for h in spec.hosts)
    run_on_host = partial(_run_as_root, spec, folder)
    daemons = _DAEMONS[spec.scheduler]
    answers = hosts[0].pid is not None and daemons.server_answers(spec, run_on_host)
    vnodes = _list_vnodes(daemons.read_vnodes(spec, run_on_host)) if answers else ()
    is_up = answers and (folder / _READY_FILE).exists() and all(host.pid is not None for host in hosts)
    return TestbedStatus(name, str(folder), True, is_up, answers, spec, hosts, vnodes)


def open_testbed(name: str, state: Path = DEFAULT_STATE) -> Testbed:
    """The testbed called ``name``, whether or not its server answers; `TestbedError` if there is none."""
    check_root()
    folder = find_folder(name, state)
    spec = _read_spec(folder)
    if spec is None:
        which = write_options(name, state)
        raise TestbedError(f"no testbed {name!r} ({folder}); start one: pbsteer testbed up{which}")
    return Testbed(spec, folder)


def run_on(
    testbed: Testbed,
    host: str,
    argv: Sequence[str],
    *,
    user: str | None = None,
    timeout_s: float = 60.0,
    stdin: str = "",
    cwd: Path | None = None,
) -> Finished:
    """Run a command on a host (``server``, ``m1``, or a full name) as ``user``, by default root, and wait for its end.

    It starts in ``cwd``, by default the user's home, with a fresh environment that has PBS's commands in PATH. The
    result has the exit status, whatever it is; `TestbedError` if the command cannot be run or does not end in time.
    """
    words, env = build_command(testbed, host, argv, user=user, cwd=cwd)
    return run(words, timeout_s=timeout_s, env=env, stdin=stdin, called=argv)


def build_command(
    testbed: Testbed,
    host: str,
    argv: Sequence[str],
    *,
    user: str | None = None,
    cwd: Path | None = None,
    inherit: Mapping[str, str] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """The argument list and the environment that run ``argv`` on a host, for `run_on` or for exec.

    ``inherit``: variables of the caller to keep unless the host sets them (a terminal's, for example).
    """
    place = testbed.spec.find_host(host)
    pid = find_host_process(testbed.folder, place)
    if pid is None:
        name = testbed.spec.name
        raise TestbedError(f"host {place.name} of testbed {name!r} does not run; take it down, then up again")
    account = _find_account(testbed.folder, place, user or "root")
    words = enter_argv(pid)
    if user is not None:
        words += ["setpriv", "--reuid", str(account.uid), "--regid", str(account.gid), "--init-groups", "--"]
    words += ["env", f"--chdir={cwd or account.home}", *argv]
    pbs_exec = testbed.spec.pbs_exec
    kept = dict(inherit or {})
    path = kept.pop("PATH", SYSTEM_PATH)
    own = {
        "PATH": f"{pbs_exec}/bin:{pbs_exec}/sbin:{path}",
        "HOME": account.home,
        "USER": account.name,
        "LOGNAME": account.name,
        "SHELL": "/bin/sh",
        "LANG": kept.get("LANG", "C.UTF-8"),
    }
    if user is None:
        own["XDG_STATE_HOME"] = str(testbed.folder / _STATE)
    return words, {**kept, **own}


def stop_server(testbed: Testbed) -> None:
    """Stop the server, and PBS's data store; jobs go on running. Returns when it has ended. Safe to repeat."""
    spec = testbed.spec
    _DAEMONS[spec.scheduler].stop_server(spec, testbed.folder, partial(_run_as_root, spec, testbed.folder))


def start_server(testbed: Testbed) -> None:
    """Start the server again after `stop_server`; returns when it answers."""
    _DAEMONS[testbed.spec.scheduler].start_server(testbed.spec, partial(_run_as_root, testbed.spec, testbed.folder))


def find_folder(name: str, state: Path) -> Path:
    """The folder of a testbed's files: STATE/pbsteer-testbed/NAME. `TestbedError` for an invalid name or path."""
    check_name(name)
    check_path("state folder", str(state))
    return state.resolve() / FOLDER / name


def _bring_up(spec: TestbedSpec, folder: Path, say: Callable[[str], None]) -> None:
    (folder / _SPEC_FILE).write_text(json.dumps(asdict(spec), indent=1))
    say(f"starting {len(spec.hosts)} hosts")
    engine = ENGINES[spec.engine]
    pids = engine.start_hosts(spec, folder)
    setuid_copies = make_setuid_copies(path_on_host(pids[spec.server.name], spec.pbs_exec), spec, folder)
    for host in spec.hosts:
        covers = make_host_files(spec, folder, host, pids[host.name])
        engine.furnish_host(pids[host.name], host, {**covers, **setuid_copies})
    homes = folder / HOMES
    homes.mkdir(mode=0o755)
    make_homes(read_text(folder / spec.server.name / "etc" / "passwd"), spec.users, homes)
    run_on_host = partial(_run_as_root, spec, folder)
    _DAEMONS[spec.scheduler].start_cluster(spec, folder, run_on_host, say)
    (folder / _READY_FILE).touch()


def _end_hosts(folder: Path) -> bool:
    """End the hosts of the testbed in ``folder``, of every engine; returns whether there were any.

    The failure of an engine (a podman that does not work, for example) counts only if the testbed may be that engine's:
    the folder exists as long as the hosts do, and its specification names the engine, unless it is incomplete.
    """
    spec, exists = _read_spec(folder), folder.exists()
    was_running = False
    failure: TestbedError | None = None
    for name, engine in ENGINES.items():
        try:
            was_running |= engine.kill_hosts(folder)
        except TestbedError as error:  # noqa: PERF203 the next engine is tried even if this one fails
            if exists and (spec is None or spec.engine == name):
                failure = error
    if failure is not None:
        raise failure
    return was_running


def write_options(name: str, state: Path) -> str:
    """The options by which a command finds the testbed, each after a blank; empty where the defaults do."""
    options = "" if name == TestbedSpec.name else f" --name {name}"
    return options if state.resolve() == DEFAULT_STATE else f"{options} --state {state.resolve()}"


def _describe_shape(found: TestbedSpec | None, wanted: TestbedSpec) -> str:
    """How a testbed that is up differs from the wanted one."""
    fields = asdict(wanted)
    differences = ", ".join(
        f"{name} {value!r} instead of {fields[name]!r}"
        for name, value in (asdict(found) if found else {}).items()
        if value != fields[name]
    )
    return f"up with another shape ({differences})"


def _run_as_root(
    spec: TestbedSpec, folder: Path, host: Host, argv: Sequence[str], *, timeout_s: float, stdin: str = ""
) -> Finished:
    return run_on(Testbed(spec, folder), host.name, argv, timeout_s=timeout_s, stdin=stdin, cwd=Path("/"))


def _read_spec(folder: Path) -> TestbedSpec | None:
    """The specification that a testbed was started with, or None where it is absent or incomplete."""
    try:
        raw: dict[str, Any] = json.loads((folder / _SPEC_FILE).read_text())
        raw["users"] = tuple(User(**user) for user in raw["users"])
        raw["shares"] = tuple(raw.get("shares", ()))
        return TestbedSpec(**raw)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _list_vnodes(vnodes: Mapping[str, Any]) -> tuple[VnodeStatus, ...]:
    return tuple(
        VnodeStatus(name, str(v.get("state", "")), int(v.get("resources_available", {}).get("ncpus", 0)))
        for name, v in sorted(vnodes.items())
    )


def _find_account(folder: Path, host: Host, user: str) -> Account:
    try:
        passwd = read_text(folder / host.name / "etc" / "passwd")
    except OSError as error:
        raise TestbedError(f"host {host.name} is not whole: {error.strerror} ({error.filename})") from error
    account = find_account(passwd, user)
    if account is None:
        raise TestbedError(f"host {host.name} has no user {user!r}")
    return account
