"""A promised start kept by cutting a backfilled job: the picture of P3, on a real server.

three vnodes of 8 cores, p = 0.2; B runs 50 s of its 60, C needs all vnodes

v1  B B B B B B B B B B .  C        E's estimate of 100 s would pass C's promise, 20 s do not: it is let in, and cut
v2  B B B B B B B B B B .  C        when the promise is due; D, which was let in likewise, has long ended by then
v3    D . E E E E E E E E  C  E E
"""

from __future__ import annotations

import pytest

from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.hooks.deploy_on_testbed import LATE_S, deploy_and_drive, last_pass, quick_settings, state_of
from tests.pbs.cluster import PbsCluster

SHRUNK = BackfillSettings(kind="checkpoint", shrink_factor=0.2, shrink_threshold_s=30)
CHEAP = CheckpointSettings(repeat_at_most_s=3600)
B_WALLTIME_S = 60
ONE, TWO, ALL = ("1:ncpus=8", "2:ncpus=8", "3:ncpus=8")


def sleep(seconds: int) -> tuple[str, str]:
    return "/bin/sleep", str(seconds)


def started_s(pbs: PbsCluster, job: str, code: str, index: int) -> float:
    """When the passes preempted or started the job for the ``index``-th time, by the journal."""
    passes = state_of(pbs).read_journal(1000)
    return [float(entry["time_s"]) for entry in passes if job in entry[code]][index]


@pytest.mark.takes(80)
def test_the_head_starts_at_its_promise_as_the_backfilled_job_is_cut(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings(backfill=SHRUNK, checkpoint=CHEAP))
    b = pbs.qsub("alice", sleep(50), select=TWO, walltime="00:01:00")
    pbs.wait_for_state(b, "R")
    c = pbs.qsub("bob", sleep(5), select=ALL, walltime="00:00:20")
    pbs.wait_until(lambda: [each["job"] for each in last_pass(pbs)["estimates"]] == [c], 120.0, "C is promised a start")
    (estimate,) = last_pass(pbs)["estimates"]
    d = pbs.qsub("carol", sleep(5), select=ONE, walltime="00:01:40")
    e = pbs.qsub("dave", sleep(90), select=ONE, walltime="00:01:40")
    pbs.wait_for_state(d, "F")
    pbs.wait_for_state(e, "R")

    pbs.wait_for_state(c, "F", 180.0)
    assert pbs.wait_for_state(e, "R")["run_count"] == 2

    cuts = [(each["job"], each["beneficiary"], each["code"]) for entry in state_of(pbs).read_journal(1000)
            for each in entry["preempts"] if not each["again"]]  # fmt: skip
    assert cuts == [(e, c, "cut-for-promise")]
    promised_s = estimate["promised_s"]
    assert promised_s <= started_s(pbs, b, "started", 0) + B_WALLTIME_S + LATE_S
    cut_s = started_s(pbs, e, "requeued", 0)
    assert promised_s <= cut_s <= promised_s + LATE_S
    assert cut_s <= started_s(pbs, c, "started", 0) <= started_s(pbs, e, "started", 1)
    assert [pbs.job(job)["run_count"] for job in (b, c, d)] == [1, 1, 1]
    assert [pbs.job(job)["Exit_status"] for job in (b, c, d)] == [0, 0, 0]
    assert last_pass(pbs)["failures"] == []


@pytest.mark.takes(100)
def test_a_save_is_requested_before_the_promised_time(
    pbs: PbsCluster,
) -> None:
    """B ends when its walltime is over, which is C's promise. E takes half of the grace to save and is asked a whole
    grace before, so that C starts at its time and not when E has saved after it."""
    grace_s = 40
    saving = CheckpointSettings(grace_s=grace_s, cost_s=0)
    deploy_and_drive(pbs, quick_settings(backfill=SHRUNK, checkpoint=saving))
    b = pbs.qsub("alice", sleep(88), select=TWO, walltime="00:01:30")
    pbs.wait_for_state(b, "R")
    c = pbs.qsub("bob", sleep(5), select=ALL, walltime="00:00:20")
    pbs.wait_until(lambda: [each["job"] for each in last_pass(pbs)["estimates"]] == [c], 120.0, "C is promised a start")
    (estimate,) = last_pass(pbs)["estimates"]
    slow = f"trap 'sleep {grace_s // 2}; exit 85' USR2\nfor n in $(seq 200); do sleep 1; done\n"
    e = pbs.qsub("dave", slow, select=ONE, walltime="00:03:20", options=("-l", "pbsteer_save=signal"))
    pbs.wait_for_state(e, "R")
    pbs.wait_for_state(c, "F", 240.0)

    promised_s = estimate["promised_s"]
    asked_s = started_s(pbs, e, "asked", 0)
    c_s = started_s(pbs, c, "started", 0)
    # Asked once B has ended, E would have been asked after the promised time, and C would start so much later.
    assert promised_s - grace_s <= asked_s < promised_s
    assert c_s <= promised_s + LATE_S
    assert pbs.job(b)["Exit_status"] == 0
