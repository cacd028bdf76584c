"""Comments on a real server: dated where ``qstat -s`` shows them, and renewed by the next pass when a quota changes."""

from __future__ import annotations

import re

from tests.hooks.deploy_on_testbed import LATE_S
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven


def test_a_changed_quota_is_in_the_comment_at_once_and_the_time_in_front(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=4]'")
    driven(pbs)
    pbs.wait_for_state(pbs.qsub("alice", select="1:ncpus=4", options=("-r", "n")), "R")
    waits = pbs.qsub("alice", select="1:ncpus=4", options=("-r", "n"))

    def has(words: str) -> bool:
        return words in pbs.job(waits).get("comment", "")

    pbs.wait_until(lambda: has("4 + 4 of a quota of 4"), LATE_S, "a comment")
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=6]'")
    pbs.wait_until(lambda: has("4 + 4 of a quota of 6"), LATE_S, "a comment with the new quota")
    shown = pbs.run(["qstat", "-s", waits]).demand_success().stdout
    assert re.search(r"^\s*[A-Z][a-z]{2} \d\d \d\d:\d\d: could not be preempted", shown, re.MULTILINE), shown
