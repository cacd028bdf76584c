"""Finds a running host of any engine by its first process, whose environment names the testbed and the host.

So no list of process numbers is kept, and hosts that a crash left are still found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from container.run_program import run
from container.testbed_spec import Host

FIRST_PROCESS = ("env", "--ignore-signal=CHLD", "sleep", "infinity")
"""The first process of a host, for its whole life. It ignores SIGCHLD, so orphans on the host are reaped by the
kernel.
"""

_TESTBED = "PBSTEER_TESTBED"
_HOST = "PBSTEER_HOST"
_MOST_BYTES = 2 << 20
_FOUND: dict[tuple[Path, str], int] = {}
"""Testbed and host -> the number found last. It is never believed without the marks: numbers are used again."""
_STEP_TIMEOUT_S = 20.0


def write_marks(testbed: Path, host: Host) -> dict[str, str]:
    """The variables that identify a host, for the environment of its first process."""
    return {_TESTBED: str(testbed), _HOST: host.name}


def find_host_process(testbed: Path, host: Host) -> int | None:
    """The number of the host's first process on the machine, or None if the host is not running.

    The number found last is looked at first: a test runs thousands of commands, and the machine has hundreds of
    processes.
    """
    last = _FOUND.get((testbed, host.name))
    if last is not None and _is_first_process(host, last, _read_marks(testbed, last)):
        return last
    for pid, marks in marked_processes(testbed):
        if _is_first_process(host, pid, marks):
            _FOUND[testbed, host.name] = pid
            return pid
    return None


def enter_argv(pid: int) -> list[str]:
    """The words in front of a command that run it on the host with this first process; it ends with the host."""
    return ["nsenter", "-t", str(pid), "-m", "-u", "-i", "-n", "-p", "--"]


def path_on_host(pid: int, path: str | Path) -> Path:
    """The path on the machine of an absolute path on the host with this first process."""
    return Path(f"/proc/{pid}/root{path}")


def cover_paths(pid: int, covers: Mapping[Path, Path]) -> None:
    """Mount other files or folders on a host: path on the host -> file or folder, by a path that the host also has."""
    for seen, source in covers.items():
        step([*enter_argv(pid), "mount", "--bind", str(source), str(seen)])


def marked_processes(testbed: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The processes with this testbed's marks, with their environment."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (marks := _read_marks(testbed, int(folder.name))):
            yield int(folder.name), marks


def _read_marks(testbed: Path, pid: int) -> dict[str, str]:
    """The environment of a process with this testbed's marks; empty for any other.

    Zombies are never found, as they have no environment; they do not need to be ended.
    """
    environ = read_if_there(Path(f"/proc/{pid}/environ")).split(b"\0")
    if f"{_TESTBED}={testbed}".encode() not in environ:
        return {}
    words = (word.decode("utf-8", "replace").partition("=") for word in environ if word)
    return {key: value for key, _, value in words}


def _is_first_process(host: Host, pid: int, marks: Mapping[str, str]) -> bool:
    return marks.get(_HOST) == host.name and is_first_in_namespace(pid)


def is_first_in_namespace(pid: int) -> bool:
    """Whether the process is the first one of a process namespace below the machine's."""
    for line in read_if_there(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(b"NSpid:"):
            numbers = line.split()[1:]
            return len(numbers) > 1 and numbers[-1] == b"1"
    return False


def read_if_there(path: Path) -> bytes:
    """A file of /proc, or nothing where its process has ended. At most ``_MOST_BYTES`` are read: with ``PR_SET_MM`` a
    process can declare any memory to be its environment.
    """
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


def step(argv: list[str]) -> None:
    """Run one short command that must succeed."""
    run(argv, timeout_s=_STEP_TIMEOUT_S).demand_success()
