"""What the console looks up of a job on a real server: what it uses, its script, and its lines in the logs."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.pbs.cluster import PbsCluster
from tests.pbs.idle_machine_deadline import Deadline

ROOT = Path(__file__).parents[3]
LONGEST_S = 240.0
"""PBS's MoMs report what jobs use every two minutes unless they are told otherwise."""

LOOK = """
import json, os, sys
from tui.cli.open_backend import open_real
from tui.cli.shared_options import poll_cluster_view
source = open_real(os.environ, "", None)
job = sys.argv[1]
cluster = poll_cluster_view(source)
shares = cluster.shares(job)
print(json.dumps({"used": dict(source.used()).get(job, {}), "cpu": shares.cpu, "script": source.script(job),
                  "log": list(source.log_lines(job, 1))}))
"""


def job_as_console_reads(pbs: PbsCluster, job: str) -> Any:
    done = pbs.run(["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", LOOK, job])
    return json.loads(done.demand_success().stdout)


def test_the_use_of_a_job_its_script_and_its_log_are_read(pbs: PbsCluster) -> None:
    job = pbs.qsub("alice", select="1:ncpus=2", command="#PBS -N busy\nexec sh -c 'while :; do :; done'\n")
    pbs.wait_for_state(job, "R")
    deadline = Deadline(LONGEST_S)
    found = job_as_console_reads(pbs, job)
    while not found["cpu"] and not deadline.has_passed():
        time.sleep(5)
        found = job_as_console_reads(pbs, job)
    assert found["cpu"] is not None and 0 < found["cpu"] <= 0.6, "one of its two cores is busy at most"
    assert set(found["used"]) >= {"resources_used.cput", "resources_used.walltime", "resources_used.mem"}
    assert "while :; do :; done" in found["script"]
    assert any("Job Queued" in line for line in found["log"])
    pbs.run(["qdel", job])
