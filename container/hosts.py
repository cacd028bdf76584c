"""A running host, whatever the engine made it of: it is known by its first process, which two variables in that
process's environment name. So no list of process numbers is kept, and what a crash leaves can still be found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from container.run_program import run
from container.spec import Host

FIRST_PROCESS = ("env", "--ignore-signal=CHLD", "sleep", "infinity")
"""What a host runs first, for its whole life. It ignores SIGCHLD, so orphans on the host are reaped by the kernel."""

_TESTBED = "PBSTEER_TESTBED"
_HOST = "PBSTEER_HOST"
_MOST_BYTES = 2 << 20
_STEP_TIMEOUT_S = 20.0


def write_marks(testbed: Path, host: Host) -> dict[str, str]:
    """The variables that a host's first process must have so that the host is found."""
    return {_TESTBED: str(testbed), _HOST: host.name}


def find_host_process(testbed: Path, host: Host) -> int | None:
    """The host's first process, by its number on the machine, or None if the host is not running."""
    for pid, marks in marked_processes(testbed):
        if marks.get(_HOST) == host.name and is_first_in_namespace(pid):
            return pid
    return None


def enter_argv(pid: int) -> list[str]:
    """The words to put before a command so that it runs on the host with this first process, and ends with it."""
    return ["nsenter", "-t", str(pid), "-m", "-u", "-i", "-n", "-p", "--"]


def path_on_host(pid: int, path: str | Path) -> Path:
    """Where the machine sees an absolute path of the host with this first process."""
    return Path(f"/proc/{pid}/root{path}")


def cover_paths(pid: int, covers: Mapping[Path, Path]) -> None:
    """Make a host see other files or folders: path on the host -> what it is to see there, by a path it also has."""
    for seen, source in covers.items():
        step([*enter_argv(pid), "mount", "--bind", str(source), str(seen)])


def marked_processes(testbed: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The processes with a host's marks of this testbed, and their environment."""
    wanted = f"{_TESTBED}={testbed}".encode()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        environ = read_if_there(folder / "environ").split(b"\0")
        # A zombie has no environment: whoever is found here can still be ended, and who cannot needs no ending.
        if wanted in environ:
            words = (word.decode("utf-8", "replace").partition("=") for word in environ if word)
            yield int(folder.name), {key: value for key, _, value in words}


def is_first_in_namespace(pid: int) -> bool:
    """Whether the process is the first one of a process namespace below the machine's."""
    for line in read_if_there(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(b"NSpid:"):
            numbers = line.split()[1:]
            return len(numbers) > 1 and numbers[-1] == b"1"
    return False


def read_if_there(path: Path) -> bytes:
    """A file of /proc, or nothing where its process has ended; its beginning, where the process claims more than any
    was started with (``PR_SET_MM`` declares any memory to be an environment)."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


def step(argv: list[str]) -> None:
    """Run one short command that must succeed."""
    run(argv, timeout_s=_STEP_TIMEOUT_S).demand_success()
