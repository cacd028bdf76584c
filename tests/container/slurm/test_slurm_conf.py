"""slurm.conf: one text for all hosts, in which each has a folder of its own."""

from __future__ import annotations

from pathlib import Path

from container.slurm.slurm_conf import write_slurm_conf
from container.testbed_spec import TestbedSpec

SPEC = TestbedSpec(name="t", moms=2, cores=4, scheduler="slurm")
LINES = write_slurm_conf(SPEC, Path("/var/lib/beds/t")).splitlines()


def test_the_controller_is_the_servers_host_and_each_other_host_is_a_node() -> None:
    assert f"SlurmctldHost=t({SPEC.server.address})" in LINES
    nodes = [line.split()[:3] for line in LINES if line.startswith("NodeName=")]
    assert nodes == [[f"NodeName={mom.name}", f"NodeAddr={mom.address}", "CPUs=4"] for mom in SPEC.mom_hosts]


def test_the_controllers_state_is_its_hosts_and_each_node_has_its_own() -> None:
    assert "StateSaveLocation=/var/lib/beds/t/t/slurm/state" in LINES
    assert "SlurmdSpoolDir=/var/lib/beds/t/%h/slurm/spool" in LINES


def test_guests_are_requeued_by_the_clusters_own_jobs_and_these_by_nothing() -> None:
    partitions = [line for line in LINES if line.startswith("PartitionName=")]
    assert [("PreemptMode=OFF" in line, "PreemptMode=REQUEUE" in line) for line in partitions] == [
        (True, False),
        (False, True),
    ]
    assert "PriorityTier=10" in partitions[0]
    assert "PriorityTier=1 " in partitions[1]
