"""Programs of dynamic server resources: which run, what they print, and what counts as 0."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from hooks.pbs.files_and_output.dynamic_server_resources import (
    find_asked_for,
    read_dynamic_resources,
    read_printed,
)
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles
from hooks.pbs.files_and_output.run_dynamic_resource_programs import with_printed
from tests.hooks.sample_server_statuses import server_status


def program(folder: Path, script: str, name: str = "free") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def printed_by(*commands: str, asked: str = "lic", most_s: float = 20.0) -> tuple[dict[str, str], list[str]]:
    """What programs of the resources lic, lic1, ... print when jobs ask for ``asked``."""
    names = ["lic", *(f"lic{number}" for number in range(1, len(commands)))]
    config = "".join(f'server_dyn_res: "{name} !{command}"\n' for name, command in zip(names, commands))
    jobs = {str(n): {"job_state": "Q", f"Resource_List.{name}": "1"} for n, name in enumerate(asked.split())}
    status = server_status(jobs=jobs, scheds={"default": {}})
    files: SchedFiles = {"default": {"sched_config": config}}
    files, problems = with_printed(status, files, find_asked_for(status, files), most_s)
    return {name: text for _, name, text in read_printed(files)}, problems


def test_the_first_line_that_a_program_prints_is_read_with_its_arguments(tmp_path: Path) -> None:
    found = printed_by(program(tmp_path, 'echo "  $1 "; echo more; exit 1') + " 12")
    assert found == ({"lic": "12"}, [])


def test_programs_run_only_if_a_job_that_waits_asks_for_their_resource(tmp_path: Path) -> None:
    first, second = program(tmp_path, "echo 1", "one"), program(tmp_path, f"touch {tmp_path}/ran; echo 2", "two")
    assert printed_by(first, second) == ({"lic": "1"}, [])
    assert not (tmp_path / "ran").exists()
    assert printed_by(first, second, asked="lic lic1") == ({"lic": "1", "lic1": "2"}, [])


@pytest.mark.parametrize("script", ["exit 0", "echo", "exec >&-; sleep 60"])
def test_a_program_that_prints_nothing_counts_as_0_and_is_named(tmp_path: Path, script: str) -> None:
    printed, problems = printed_by(program(tmp_path, script), most_s=2.0)
    assert printed == {"lic": "0"}
    assert "server_dyn_res of lic" in problems[0] and "counts as 0" in problems[0]


def test_a_program_that_hangs_is_ended_with_all_that_it_started_and_holds_up_no_other(tmp_path: Path) -> None:
    slow = program(tmp_path, f"sleep 300 & echo $! > {tmp_path}/child; trap '' TERM; sleep 300", "slow")
    begun_s = time.monotonic()
    printed, problems = printed_by(slow, program(tmp_path, "echo 7"), asked="lic lic1", most_s=5.0)
    assert printed == {"lic": "0", "lic1": "7"}
    assert ["printed nothing in 5 s" in problem for problem in problems] == [True]
    assert time.monotonic() - begun_s < 120
    child = int((tmp_path / "child").read_text())
    deadline_s = time.monotonic() + 60
    while Path(f"/proc/{child}/cmdline").exists() and Path(f"/proc/{child}/cmdline").read_bytes():
        assert time.monotonic() < deadline_s, "what the program started still runs"
        time.sleep(0.05)


class Unkillable(subprocess.Popen[bytes]):
    """A program in state D, whose end comes only with the reply of a disk."""

    def wait(self, timeout: float | None = None) -> int:
        assert timeout is not None, "this takes for ever"
        time.sleep(timeout)
        raise subprocess.TimeoutExpired("hangs", timeout)


def test_programs_that_cannot_be_killed_count_as_0_and_are_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = program(tmp_path, "exec sleep 60", "hangs")
    begun_s = time.monotonic()
    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", Unkillable)
        printed, problems = printed_by(
            *[hangs] * 20, asked=" ".join(["lic", *(f"lic{n}" for n in range(1, 20))]), most_s=0.1
        )
    assert set(printed.values()) == {"0"}
    assert ["printed nothing in 0.1 s" in problem for problem in problems] == [True] * 20
    assert time.monotonic() - begun_s < 4.0, "each has its time after the others"


def test_an_endless_line_is_cut(tmp_path: Path) -> None:
    printed, _ = printed_by(program(tmp_path, "while :; do printf 1111111111; done"))
    assert printed["lic"] == "1" * 255


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_program_that_others_may_change_is_not_run(tmp_path: Path, mode: int) -> None:
    command = program(tmp_path, f"touch {tmp_path}/ran; echo 5")
    Path(command).chmod(mode)
    printed, problems = printed_by(command)
    assert printed == {"lic": "0"} and "is writable for others than root" in problems[0]
    assert not (tmp_path / "ran").exists()


def test_a_folder_above_it_that_others_may_change_is_as_bad(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    command = program(folder, "echo 5")
    folder.chmod(0o777)
    assert printed_by(command)[0] == {"lic": "0"}
    folder.chmod(0o1777)
    assert printed_by(command)[0] == {"lic": "5"}, "in a sticky folder nobody else can replace it"


def test_a_link_into_a_folder_that_others_may_change_is_as_bad(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(program(folder, f"touch {tmp_path}/ran; echo 5"))
    folder.chmod(0o777)
    printed, problems = printed_by(str(link))
    assert printed == {"lic": "0"} and f"{folder} is writable for others than root" in problems[0]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("lic", "allowed is"),
        ("lic /bin/true", "allowed is"),
        ("lic !", "allowed is"),
        ("lic !bin/true", "no absolute path"),
        ("lic !/no/such/file 3", "there is no '/no/such/file'"),
        ("lic !/dev/null/x", "there is no '/dev/null/x'"),
    ],
)
def test_a_line_that_cannot_be_honoured_is_named(value: str, why: str) -> None:
    found, obstacle = read_dynamic_resources(f'server_dyn_res: "ok !/bin/true 1"\nserver_dyn_res: "{value}"\n')
    assert [resource.name for resource in found] == ["ok"]
    assert value in obstacle and why in obstacle
