"""What the views show beyond the picture, on a real server: jobs that have ended, and what a job has written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.pbs.cluster import PbsCluster

ROOT = Path(__file__).parents[3]

ENDED_BOTH_WAYS = """
import json, os, time
from tui.cli.open_backend import open_real
source = open_real(os.environ, "", None)
vnodes = source.poll().vnodes
by_reader, way = source.finished(3600), source.way
nothing = source.finished(-60)
source._reader.close(); source._reader = None
by_qstat = source.finished(3600)
since = {name: vnode.get("last_state_change_time", "") for name, vnode in source.poll().vnodes.items()}
print(json.dumps({"way": way, "reader": dict(by_reader), "qstat": dict(by_qstat), "nothing": dict(nothing),
                  "since": {name: vnode.get("last_state_change_time", "") for name, vnode in vnodes.items()},
                  "since_qstat": since}))
"""

TAIL = """
import json, os, sys
from tui.cli.open_backend import open_real
from tui.pages.job.collect_job_details import detail_of
detail = detail_of(open_real(os.environ, "", None), sys.argv[1])
print(json.dumps({"path": detail.tail.path, "lines": detail.tail.lines, "problem": detail.tail.problem,
                  "state": detail.attributes["job_state"], "about": detail.problem}))
"""


def json_printed_by(pbs: PbsCluster, program: str, *arguments: str) -> Any:
    environment = ["env", f"PYTHONPATH={ROOT}"]
    done = pbs.run([*environment, sys.executable, "-c", program, *arguments])
    return json.loads(done.demand_success().stdout)


def test_jobs_that_have_ended_are_reported_alike_by_reader_and_qstat(pbs: PbsCluster) -> None:
    pbs.qmgr("set server job_history_enable = True")
    ended = pbs.qsub("alice", select="1:ncpus=2", command=("/bin/true",))
    waiting = pbs.qsub("bob", select="1:ncpus=500")
    pbs.wait_for_state(ended, "F")
    found = json_printed_by(pbs, ENDED_BOTH_WAYS)
    assert found["way"] == "reader"
    assert ended in found["reader"]
    assert waiting not in found["reader"]
    assert found["nothing"] == {}
    shown = ("job_state", "euser", "queue", "Exit_status", "exec_vnode", "stime", "mtime")
    assert [found["reader"][ended].get(name) for name in shown] == [found["qstat"][ended].get(name) for name in shown]
    assert found["reader"][ended]["Exit_status"] == "0"
    assert found["since"] == found["since_qstat"]
    assert all(text.isdigit() for text in found["since"].values())


def test_what_an_ended_job_wrote_is_read_from_where_its_output_went(pbs: PbsCluster) -> None:
    pbs.qmgr("set server job_history_enable = True")
    job = pbs.qsub("alice", select="1:ncpus=1", command="echo one\necho two\n")
    pbs.wait_for_state(job, "F")
    found = json_printed_by(pbs, TAIL, job)
    assert found["state"] == "F"
    assert found["lines"] == ["one", "two"]
