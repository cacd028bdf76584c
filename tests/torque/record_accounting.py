"""Records ``tests/torque/recorded/accounting`` anew: what a real Torque server wrote of runs of every kind. Run
``python -m tests.torque.record_accounting`` as root, where Torque is installed.

Runs that end by themselves, one that is requeued, one that asks for its own requeue by its exit status (of which Torque
writes no record), one deleted and one killed by its walltime, one of two nodes, an array; jobs deleted while they wait,
one that still waits and one that still runs.
"""

from __future__ import annotations

import shutil

from container import testbed as testbeds
from container.hosts.machine_and_host_requirements import find_torque_prefix
from container.testbed_spec import TestbedSpec
from tests.torque.cluster import TorqueCluster
from tests.torque.record_status import RECORDED

_REQUEUE_ME = 85
_ONCE = f'if [ -e "$HOME/saved" ]; then exit 0; fi; touch "$HOME/saved"; sleep 2; exit {_REQUEUE_ME}\n'


def run_jobs(cluster: TorqueCluster) -> None:
    """The jobs, in this order."""
    one, two = cluster.mom_names
    cluster.qmgr(f"set server automatic_requeue_exit_code = {_REQUEUE_ME}")
    whole = cluster.qsub("alice", "nodes=2:ppn=3", "-N", "two_nodes", "-A", "phys 101", script="sleep 3\n")
    cluster.qrun(whole, f"{one}:ppn=3+{two}:ppn=3")
    requeued = cluster.start("bob", "nodes=1:ppn=2", "-N", "requeued", script="sleep 4\n")
    cluster.run(["qrerun", requeued]).demand_success()
    cluster.wait_for_state(requeued, "Q")
    cluster.qrun(requeued)
    asking = cluster.start("carol", "nodes=1:ppn=4", "-N", "asking", script=_ONCE)
    cluster.wait_for_state(asking, "Q")
    cluster.qrun(asking)
    deleted = cluster.start("dave", "ncpus=4", "-N", "deleted")
    cluster.run(["qdel", deleted]).demand_success()
    cluster.run(["qdel", cluster.qsub("dave", "nodes=1", "-N", "deleted_waiting")]).demand_success()
    late = cluster.qsub("alice", "", "-N", "late", "-l", "nodes=1,walltime=00:00:05")
    cluster.qrun(late)
    array = cluster.qsub("dave", "nodes=1", "-N", "array", "-t", "0-1", script="sleep 1\n")
    subjobs = [array.replace("[]", f"[{index}]") for index in range(2)]
    cluster.wait_until(lambda: set(subjobs) <= cluster.jobs().keys(), "the subjobs")
    for subjob in subjobs:
        cluster.qrun(subjob)
    for ended in (whole, requeued, asking, deleted, *subjobs):
        cluster.wait_for_state(ended, "C")
    cluster.wait_for_state(late, "C", timeout_s=180.0)
    cluster.qsub("alice", "nodes=1", "-N", "waiting")
    cluster.start("alice", "nodes=1", "-N", "running")


def main() -> None:
    spec = TestbedSpec(name="tq", moms=2, pbs_exec=find_torque_prefix(None), scheduler="torque")
    testbed, _ = testbeds.up(spec)
    try:
        cluster = TorqueCluster(testbed)
        run_jobs(cluster)
        shutil.rmtree(RECORDED / "accounting", ignore_errors=True)
        shutil.copytree(cluster.server_home / "server_priv" / "accounting", RECORDED / "accounting")
    finally:
        testbeds.down(spec.name)


if __name__ == "__main__":
    main()
