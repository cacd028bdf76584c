"""A queue whose Priority makes it an express queue of PBS's scheduler is driven on a real server, with a remark."""

from __future__ import annotations

from tests.hooks.deploy_on_testbed import LATE_S, deploy_and_drive, notes, quick_settings
from tests.pbs.cluster import PbsCluster

REMARK = "queue workq: its Priority 150 reaches preempt_queue_prio (150) of scheduler default"


def test_an_express_queue_is_driven_with_a_remark_that_a_lower_priority_ends(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq Priority = 150")
    deploy_and_drive(pbs, quick_settings())
    pbs.wait_until(lambda: REMARK in notes(pbs), LATE_S, "the remark")
    pbs.qmgr("set queue workq Priority = 149")
    pbs.wait_until(lambda: REMARK not in notes(pbs), LATE_S, "the end of the remark")
