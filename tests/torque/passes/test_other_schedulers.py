"""Another scheduler is known by its name, on this host alone, and only where the server starts jobs for its user."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from torque.passes.other_schedulers import find_listener, find_other_scheduler

ROOT_ALONE = {"managers": "root@tq"}
NOBODY = pwd.getpwnam("nobody").pw_uid
NO_ACCOUNT = 4_000_000_000


def process(proc: Path, pid: str, name: str, net: str = "net:[1]", uid: int = 0) -> None:
    (proc / pid / "ns").mkdir(parents=True)
    (proc / pid / "comm").write_text(f"{name}\n")
    # The second number is the effective one: 0 also of a setuid program that a user has started.
    (proc / pid / "status").write_text(f"Name:\t{name}\nUid:\t{uid}\t0\t0\t0\nGid:\t0\t0\t0\t0\n")
    (proc / pid / "ns" / "net").symlink_to(net)


def listen(proc: Path, pid: str, port: int, uid: int, table: str = "tcp") -> None:
    """A process of this user listens on the port, and shows its files."""
    (proc / "net").mkdir(exist_ok=True)
    line = f"   0: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {uid} 0 77{pid} 1\n"
    (proc / "net" / table).write_text(f"  sl  local_address rem_address   st\n{line}")
    (proc / pid / "fd").mkdir()
    (proc / pid / "fd" / "3").symlink_to(f"socket:[77{pid}]")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    process(tmp_path, "self", "pbsteer")
    process(tmp_path, "10", "pbs_server")
    return tmp_path


@pytest.mark.parametrize("name", ["pbs_sched", "maui", "moab"])
def test_a_scheduler_on_this_host_is_named(proc: Path, name: str) -> None:
    assert find_other_scheduler(ROOT_ALONE, proc) == ""
    process(proc, "77", name)
    assert find_other_scheduler(ROOT_ALONE, proc) == f"{name} (process 77)"


def test_one_of_another_hosts_network_is_not_ours(proc: Path) -> None:
    process(proc, "77", "pbs_sched", "net:[2]")
    assert find_other_scheduler(ROOT_ALONE, proc) == ""


@pytest.mark.parametrize("uid", [NOBODY, NO_ACCOUNT])
def test_a_users_program_with_the_name_of_a_scheduler_is_none(proc: Path, uid: int) -> None:
    process(proc, "77", "maui", uid=uid)
    assert find_other_scheduler(ROOT_ALONE, proc) == ""


@pytest.mark.parametrize("key", ["managers", "operators"])
def test_a_manager_or_operator_may_run_one(proc: Path, key: str) -> None:
    process(proc, "77", "maui", uid=NOBODY)
    assert find_other_scheduler({key: "root@tq, nobody@tq"}, proc) == "maui (process 77)"


def test_a_setuid_program_under_the_name_of_a_link_is_none(proc: Path) -> None:
    process(proc, "77", "maui")
    (proc / "77" / "exe").symlink_to("/usr/bin/sudo")
    assert find_other_scheduler(ROOT_ALONE, proc) == ""


def test_a_scheduler_whose_file_has_been_replaced_meanwhile_is_named(proc: Path) -> None:
    process(proc, "77", "pbs_sched")
    (proc / "77" / "exe").symlink_to("/opt/torque/sbin/pbs_sched (deleted)")
    assert find_other_scheduler(ROOT_ALONE, proc) == "pbs_sched (process 77)"


@pytest.mark.parametrize("table", ["tcp", "tcp6"])
def test_who_listens_on_the_port_is_named_if_it_may_start_jobs(proc: Path, table: str) -> None:
    process(proc, "77", "slurmd")
    listen(proc, "77", 15004, 0, table)
    assert find_listener(15004, ROOT_ALONE, proc) == "slurmd (process 77)"
    assert find_listener(15005, ROOT_ALONE, proc) == ""


def test_a_user_who_listens_on_the_port_is_no_scheduler(proc: Path) -> None:
    process(proc, "77", "python3", uid=NOBODY)
    listen(proc, "77", 15004, NOBODY)
    assert find_listener(15004, ROOT_ALONE, proc) == ""
