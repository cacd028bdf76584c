"""What PBS leaves of our hooks: found by name and text, nobody else's touched, and processes waited for."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.deploy.cleanup.hook_temp_files_cleanup import clear_copies, find_forks, find_leftovers, sweep
from hooks.deploy.hook_names import HOOKS

OURS = (
    "hook_periodic_pbsteer_periodic_7.out",
    "hook_periodic_pbsteer_periodic_7.data",
    "hook_queuejob_pbsteer_queuejob_9.in",
)
OTHERS = (
    "hook_periodic_other_7.out", "hook_periodic_my_pbsteer_periodic_7.out", "hook_periodic_pbsteer_periodic_x_7.out",
    "hook_periodic_pbsteer_periodic_7.out.kept", "pbsteer_periodic", "hook_runjob_pbsteer_periodic_7.out",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """PBS's folder for temporary files, with some of ours and of others'."""
    made = tmp_path / "server_priv" / "hooks" / "tmp"
    made.mkdir(parents=True)
    for name in (*OURS, *OTHERS):
        (made / name).write_text("")
    return made


@contextlib.contextmanager
def fork_of_server(home: Path, script: str, lock: str = "server.lock") -> Iterator[subprocess.Popen[bytes]]:
    """A process of that name with the server's lock open, as a fork of a server has it, that runs a shell's script."""
    program = home / "pbs_server.bin"
    shutil.copy(shutil.which("sh") or "", program)
    path = home / "server_priv" / lock
    path.write_text("1\n")
    argv = [str(program), "-c", script]
    with (
        path.open("a") as opened,
        subprocess.Popen(argv, stdin=subprocess.PIPE, pass_fds=[opened.fileno()]) as process,
    ):
        try:
            deadline_s = time.monotonic() + 60
            # A program's name comes a moment after its start.
            while Path(f"/proc/{process.pid}/comm").read_text() != f"{program.name}\n":
                assert time.monotonic() < deadline_s
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_processes_of_our_hooks_left_goes_and_nothing_else(tmp_path: Path, folder: Path) -> None:
    assert {path.name for path in find_leftovers(tmp_path, HOOKS)} == set(OURS)
    sweep(tmp_path, HOOKS, tmp_path / "imported")
    assert names(folder) == set(OTHERS)


def test_a_server_without_such_a_folder_has_nothing_to_sweep(tmp_path: Path) -> None:
    sweep(tmp_path, HOOKS, tmp_path / "imported")
    assert (find_leftovers(tmp_path, HOOKS), find_forks(tmp_path)) == ([], set())


def test_copies_of_what_was_imported_go_and_those_of_other_hooks_stay(tmp_path: Path, folder: Path) -> None:
    imported = tmp_path / "imported" / "pbsteer_runjob.py"
    imported.parent.mkdir()
    imported.write_text("ours\n")
    cut_off, others = {"qmgr_hook3c": "our"}, {"qmgr_hook2b": "them\n", "qmgr_hook4d": "", "other": "ours\n"}
    for name, text in {"qmgr_hook1a": "ours\n", **cut_off, **others}.items():
        (folder / name).write_text(text)
    sweep(tmp_path, {}, imported.parent)
    assert names(folder) == {*others, *OURS, *OTHERS}
    clear_copies(tmp_path, tmp_path / "no-such-file")


def test_a_process_of_this_server_is_known_by_its_lock_and_the_server_itself_is_none(
    tmp_path: Path, folder: Path
) -> None:
    lock = folder.parents[1] / "server.lock"
    with fork_of_server(tmp_path, "read line") as process:
        assert find_forks(tmp_path) == {process.pid}
        assert find_forks(tmp_path / "other") == set()
        lock.write_text(f"{process.pid}\n")
        assert find_forks(tmp_path) == set()


def test_a_process_of_a_failovers_secondary_is_known_beside_the_primarys_lock(tmp_path: Path, folder: Path) -> None:
    """The primary's process id is one of another host."""
    locks = folder.parents[1]
    with fork_of_server(tmp_path, "read line", "server.lock.secondary") as process:
        (locks / "server.lock").write_text(f"{process.pid}\n")
        assert find_forks(tmp_path) == {process.pid}
        (locks / "server.lock.secondary").write_text(f"{process.pid}\n")
        assert find_forks(tmp_path) == set()


@pytest.mark.parametrize("lock", ["server.lock", "server.lock.secondary"])
def test_what_a_process_leaves_at_its_end_goes_too(tmp_path: Path, folder: Path, lock: str) -> None:
    late = folder / "hook_periodic_pbsteer_periodic_8.out"
    with fork_of_server(tmp_path, f"sleep 1; echo > {late}", lock) as process:
        sweep(tmp_path, HOOKS, tmp_path / "imported")
        assert process.wait() == 0
    assert names(folder) == set(OTHERS)
