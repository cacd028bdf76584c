"""Records ``tests/torque/recorded`` anew: one moment of a real Torque server with jobs of all kinds, as its programs
print it and as its library has it. Run ``python -m tests.torque.record_status`` as root, where Torque is installed.

There is every way to ask for nodes, arrays, what users can write that breaks the XML of all jobs, and every state but T
(in transit) and E (exiting), which last too short: MoMs copy output before they say that a job has ended.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from container import testbed as testbeds
from container.hosts.machine_and_host_requirements import find_torque_prefix
from container.testbed_spec import TestbedSpec
from tests.torque.cluster import TorqueCluster

RECORDED = Path(__file__).parent / "recorded"
_ROOT = Path(__file__).parents[2]
_BY_LIBRARY = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from torque.read.libtorque_connection import TorqueConnection, load_library
with TorqueConnection(load_library(Path(sys.argv[2]))) as it:
    print(json.dumps({"server": it.read_server(), "queues": dict(it.walk_queues()), "nodes": dict(it.walk_nodes()),
                      "jobs": dict(it.walk_jobs())}))
"""
_OWN = (
    (re.compile(r"uname=Linux \S+ [^,]*"), "uname=Linux node 6.1.0 #1 SMP x86_64"),
    (re.compile(r"macaddr=[0-9a-f:]+"), "macaddr=02:00:00:00:00:01"),
)
"""What belongs to the machine and not to Torque."""


def make_jobs(cluster: TorqueCluster) -> None:
    """One of each kind, on two nodes of eight slots; the first has the property ``fast``."""
    one, two = cluster.mom_names
    cluster.qmgr(f"set node {one} properties = fast", "create queue night queue_type = Execution")
    cluster.start("alice", "nodes=2:ppn=2", "-N", "two_nodes", where=f"{one}:ppn=2+{two}:ppn=2")
    cluster.start("bob", "procs=3", "-N", "procs", where=f"{two}:ppn=3")
    cluster.start("alice", f"nodes={two}:ppn=1", "-N", "named_node")
    cluster.start("bob", "nodes=1:fast:ppn=1", "-N", "property", "-r", "n")
    suspended = cluster.start("carol", "nodes=1:ppn=1", "-N", "suspended")
    cluster.run(["qsig", "-s", "suspend", suspended]).demand_success()
    cluster.wait_for_state(suspended, "S")
    requeued = cluster.start("carol", "nodes=1:ppn=2", "-N", "requeued")
    held_running = cluster.start("carol", "nodes=1:ppn=2", "-N", "held_while_it_ran")
    cluster.run(["qhold", "-h", "o", held_running]).demand_success()
    for job_id, state in ((requeued, "Q"), (held_running, "H")):
        cluster.run(["qrerun", job_id]).demand_success()
        cluster.wait_for_state(job_id, state)
    for request, name in (("ncpus=4", "ncpus"), ("", "nothing"), ("nodes=1:ppn=3+1:fast:ppn=1", "sum")):
        cluster.qsub("dave", request, "-N", name)
    cluster.qsub("dave", "nodes=1:ppn=1", "-n", "-N", "exclusive")
    cluster.qsub("alice", "nodes=1", "-N", "user_hold", "-h")
    cluster.qsub("alice", "nodes=1", "-N", "later", "-a", "203001010000")
    cluster.qsub("alice", "nodes=1", "-N", "after", "-W", f"depend=afterok:{suspended}")
    cluster.qsub("bob", "nodes=1", "-N", "hostile", "-v", "B=c\x01<&>", "-A", "a\x02\x1b[31m")
    failed = cluster.qsub("bob", "nodes=1", "-N", "exit_3", script="exit 3\n")
    cluster.qrun(failed)
    deleted = cluster.start("bob", "nodes=1", "-N", "deleted")
    cluster.run(["qdel", deleted]).demand_success()
    for ended in (failed, deleted):
        cluster.wait_for_state(ended, "C")
    limited = cluster.qsub("dave", "nodes=1:ppn=1", "-N", "limited", "-t", "0-4%2")
    cluster.wait_until(lambda: limited.replace("[]", "[4]") in cluster.jobs(), "its subjobs")
    cluster.qrun(limited.replace("[]", "[0]"), f"{one}:ppn=1")
    cluster.wait_for_state(limited.replace("[]", "[0]"), "R")
    waiting = cluster.qsub("dave", "nodes=1:ppn=1", "-N", "waiting", "-t", "1-3,7")
    cluster.wait_until(lambda: waiting.replace("[]", "[7]") in cluster.jobs(), "its subjobs")
    cluster.run(["qhold", waiting.replace("[]", "[2]")], user="dave").demand_success()


def record(cluster: TorqueCluster) -> None:
    """Write the files."""
    programs = {
        "jobs.xml": ["qstat", "-x", "-t"],
        "nodes.xml": ["pbsnodes", "-x"],
        "queues.txt": ["qstat", "-Q", "-f"],
        "server.txt": ["qstat", "-B", "-f"],
    }
    for name, argv in programs.items():
        _write(name, cluster.run(argv).demand_success().stdout)
    library = f"{cluster.spec.pbs_exec}/lib/libtorque.so.2"
    read = cluster.run([sys.executable, "-c", _BY_LIBRARY, str(_ROOT), library]).demand_success().stdout
    _write("library.json", json.dumps(json.loads(read), indent=0, sort_keys=True) + "\n")


def _write(name: str, text: str) -> None:
    for pattern, instead in _OWN:
        text = pattern.sub(instead, text)
    (RECORDED / name).write_text(text, encoding="utf-8")


def main() -> None:
    spec = TestbedSpec(name="tq", moms=2, pbs_exec=find_torque_prefix(None), scheduler="torque")
    testbed, _ = testbeds.up(spec)
    try:
        cluster = TorqueCluster(testbed)
        make_jobs(cluster)
        record(cluster)
    finally:
        testbeds.down(spec.name)


if __name__ == "__main__":
    main()
