"""A job's cores as its host's system numbers them, and the command that starts a program there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hooks.placement.bind_to_cores import bound_command, openmp_places_on_host, processors_of, read_processors
from policy.model.lists_for_programs import Entry

TWO_SOCKETS = [
    (package, core, 4 * core + 2 * thread + package) for package in (0, 1) for core in (0, 1) for thread in (0, 1)
]
"""Processors 0, 2, 4, 6 on the first socket and the odd ones on the second, as many systems number them; two threads
each: cores {0,2} {4,6} {1,3} {5,7}."""


def an(cores: tuple[int, ...] = (), sockets: tuple[int, ...] = (0,), has: int = 4, processes: int = 1) -> Entry:
    return Entry("n1", "n1", processes, sockets, cores, has)


def host(root: Path, processors: list[tuple[int, int, int]]) -> Path:
    for package, core, number in processors:
        folder = root / f"sys/devices/system/cpu/cpu{number}/topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(f"{package}\n")
        (folder / "core_id").write_text(f"{core}\n")
    (root / "sys/devices/system/cpu/cpu99").mkdir()
    for program in ("bash", "taskset"):
        (root / "usr/bin").mkdir(parents=True, exist_ok=True)
        (root / "usr/bin" / program).touch()
    return root


@pytest.mark.parametrize(
    ("entry", "processors"),
    [
        (an((0, 1)), [0, 2, 4, 6]),
        (an((2,)), [1, 3]),
        (an((4, 5), has=8), [1, 3]),
        (an((), (1,)), [1, 3, 5, 7]),
        (an((), (0, 1)), list(range(8))),
        (an((0,), has=16), []),
        (an((7,)), []),
    ],
)
def test_cores_of_the_list_are_those_of_the_system_socket_by_socket(entry: Entry, processors: list[int]) -> None:
    assert processors_of(TWO_SOCKETS, entry) == processors


def test_places_are_in_the_system_s_numbers(tmp_path: Path) -> None:
    root = host(tmp_path, TWO_SOCKETS)
    assert read_processors(root) == sorted(TWO_SOCKETS)
    assert openmp_places_on_host(root, an((2, 3))) == "{1,5}"
    assert openmp_places_on_host(root, an((2, 3), processes=2)) == "{1},{5}"
    assert openmp_places_on_host(root, an((0, 9))) == openmp_places_on_host(root, an()) == ""


@pytest.mark.parametrize("entries", [(), (an((0,)), an((1,))), (an((0,), has=3),)])
def test_without_one_vnode_whose_cores_are_known_nothing_is_bound(tmp_path: Path, entries: tuple[Entry, ...]) -> None:
    assert bound_command(host(tmp_path, TWO_SOCKETS), entries, "/bin/sh", []) is None


def test_without_the_programs_nothing_is_bound(tmp_path: Path) -> None:
    host(tmp_path, TWO_SOCKETS)
    (tmp_path / "usr/bin/taskset").unlink()
    assert bound_command(tmp_path, (an((0,)),), "/bin/sh", []) is None


def run_bound(*words: str, program: str = "/bin/sh") -> str:
    """Run on the first processor of this machine that this process may use, as a MoM would."""
    own = sorted(os.sched_getaffinity(0))
    root = Path("/")
    processors = read_processors(root)
    entries = [an((core,), has=len(processors)) for core in range(len(processors))]
    entry = next((entry for entry in entries if set(processors_of(processors, entry)) & set(own)), None)
    command = bound_command(root, (entry,), program, words) if entry else None
    if command is None:
        pytest.skip("no bash, no taskset, or a machine that does not say where its processors are")
    done = subprocess.run(
        command[1], capture_output=True, text=True, check=True, timeout=60, env={"BASH_ENV": "/nosuch"}
    )
    assert done.stderr == ""
    return done.stdout


def test_a_program_runs_on_its_cores_with_its_words_as_they_are() -> None:
    shown = run_bound("sh", "-c", 'echo "$0|$1|$2"; grep Cpus_allowed_list /proc/self/status', "a b", "*; $HOME", '"')
    words, allowed = shown.splitlines()
    assert words == 'a b|*; $HOME|"'
    assert allowed.split()[1].isdigit()


def test_a_job_s_script_still_has_a_login_shell() -> None:
    """PBS adds the words of such a program after the hook."""
    assert run_bound("-bash", "-c", "shopt -q login_shell && echo yes", program="/bin/bash") == "yes\n"
    command = bound_command(Path("/"), (an((0,), has=len(read_processors(Path("/")))),), "/usr/bin/zsh", [])
    assert command is None or command[1][-2:] == ["-zsh", "/usr/bin/zsh"]


def test_processors_that_cannot_be_had_leave_the_program_unbound() -> None:
    command = bound_command(Path("/"), (an((0,), has=len(read_processors(Path("/")))),), "/bin/echo", ["echo", "ran"])
    if command is None:
        pytest.skip("no bash, no taskset, or a machine that does not say where its processors are")
    elsewhere = [word if word != command[1][8] else "4096" for word in command[1]]
    assert subprocess.run(elsewhere, capture_output=True, text=True, check=True, timeout=60).stdout == "ran\n"
