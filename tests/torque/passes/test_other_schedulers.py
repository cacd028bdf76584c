"""Another scheduler is known by its name, on this host alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from torque.passes.other_schedulers import find_other_scheduler


def process(proc: Path, pid: str, name: str, net: str = "net:[1]") -> None:
    (proc / pid / "ns").mkdir(parents=True)
    (proc / pid / "comm").write_text(f"{name}\n")
    (proc / pid / "ns" / "net").symlink_to(net)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    process(tmp_path, "self", "pbsteer")
    process(tmp_path, "10", "pbs_server")
    return tmp_path


@pytest.mark.parametrize("name", ["pbs_sched", "maui", "moab"])
def test_a_scheduler_on_this_host_is_named(proc: Path, name: str) -> None:
    assert find_other_scheduler(proc) == ""
    process(proc, "77", name)
    assert find_other_scheduler(proc) == f"{name} (process 77)"


def test_one_of_another_hosts_network_is_not_ours(proc: Path) -> None:
    process(proc, "77", "pbs_sched", "net:[2]")
    assert find_other_scheduler(proc) == ""
