"""What a target counts as free for the jobs of its landing queue, on a real server: the vnodes on which PBS's own
scheduler would start them, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migration.programs.run_external_program_with_limits import Finished
from migration.schedulers.pbs import PbsScheduler
from tests.pbs.cluster import PbsCluster


def count_idle(pbs: PbsCluster) -> int:
    def run(argv: Sequence[str], **_: Any) -> Finished:
        done = pbs.run(argv)
        return Finished(done.status, done.stdout.encode(), done.stderr.encode())

    return PbsScheduler(run, "global").free().idle


def test_vnodes_that_the_queue_cannot_use_are_not_free(pbs: PbsCluster) -> None:
    one, two, three = pbs.mom_names
    pbs.qmgr("create queue global queue_type=execution,enabled=True,started=True")
    assert count_idle(pbs) == 24
    pbs.qmgr(f"set node {one} partition=p2")
    assert count_idle(pbs) == 16
    pbs.qmgr(
        "create resource Qlist type=string_array,flag=h",
        f"set node {two} resources_available.Qlist=workq",
        f"set node {three} resources_available.Qlist='global,workq'",
        "set queue global default_chunk.Qlist=global",
    )
    assert count_idle(pbs) == 8
    pbs.qmgr("unset queue global default_chunk.Qlist", f"set node {two} queue=global")
    assert count_idle(pbs) == 8
    held = pbs.qsub("alice", queue="global", select="8:ncpus=1")
    assert str(pbs.wait_for_state(held, "R")["exec_vnode"]).count(two) == 8
    waiting = pbs.qsub("bob", queue="global", select="1:ncpus=1")
    pbs.wait_until(lambda: "comment" in pbs.job(waiting), 60, "the scheduler has looked at the second job")
    assert pbs.job_state(waiting) == "Q", "though another vnode without a queue is idle"
    assert count_idle(pbs) == 0
