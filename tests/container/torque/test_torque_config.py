"""The texts of a Torque host, and which installed Torque a testbed runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from container.centre.centre_spec import CentreSpec
from container.hosts.machine_and_host_requirements import find_torque_prefix
from container.testbed_spec import TestbedError, TestbedSpec
from container.torque.daemons import lay_out_home, read_vnodes
from container.torque.torque_config import write_mom_config, write_server_settings

SPEC = TestbedSpec(name="t", moms=2, cores=4, scheduler="torque", pbs_exec="/opt/torque")


def test_each_mom_is_a_node_with_its_cores_and_knows_its_server() -> None:
    lines = write_server_settings(SPEC).splitlines()
    assert [line for line in lines if line.startswith("create node")] == [
        "create node t-m1 np=4",
        "create node t-m2 np=4",
    ]
    assert "set server managers = root@t" in lines
    assert write_mom_config(SPEC).splitlines()[0] == "$pbsserver t"


def test_a_home_is_the_servers_or_a_moms(tmp_path: Path) -> None:
    for host in SPEC.hosts[:2]:
        lay_out_home(SPEC, tmp_path / host.name, host)
        assert (tmp_path / host.name / "server_name").read_text() == "t\n"
        assert (tmp_path / host.name / "mom_priv" / "config").exists() is not host.is_server
    assert (tmp_path / "t" / "server_priv").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "t-m1" / "spool").stat().st_mode & 0o7777 == 0o1777


def test_nodes_are_read_in_pbs_words() -> None:
    class Done:
        stdout = (
            "t-m1\n     state = job-exclusive,down\n     np = 4\n     note = state = odd\n\nt-m2\n     state = free\n"
        )

        def demand_success(self) -> Done:
            return self

    found = read_vnodes(SPEC, lambda *_args, **_options: Done())  # type: ignore[arg-type]
    assert found == {
        "t-m1": {"state": "job-exclusive,down", "resources_available": {"ncpus": 4}},
        "t-m2": {"state": "free", "resources_available": {"ncpus": 0}},
    }


def test_an_installed_torque_is_recognised_by_trqauthd(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=re.escape("has sbin/trqauthd")):
        find_torque_prefix(None, [tmp_path / "a", tmp_path / "b"])
    (tmp_path / "b" / "sbin").mkdir(parents=True)
    (tmp_path / "b" / "sbin" / "trqauthd").touch()
    assert find_torque_prefix(None, [tmp_path / "a", tmp_path / "b"]) == str(tmp_path / "b")
    with pytest.raises(TestbedError, match="no installed Torque found"):
        find_torque_prefix(str(tmp_path / "a"))


def test_torque_has_no_containers_no_further_vnodes_and_no_centre() -> None:
    with pytest.raises(TestbedError, match="of Torque has engine 'netns' and one vnode"):
        TestbedSpec(scheduler="torque", engine="podman")
    with pytest.raises(TestbedError, match="one vnode"):
        TestbedSpec(scheduler="torque", vnodes=2)
    with pytest.raises(TestbedError, match="cluster 'torque' of a centre: one of pbs, slurm"):
        CentreSpec(schedulers=("pbs", "torque"))
