"""While a queue is driven, what only PBS's scheduler does gets done in time, and nothing else takes what it needs."""

from __future__ import annotations

import time

import pytest

from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import LATE_S, deploy, last_pass, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import on_server
from tests.pbs.modes.compare_placement_with_pbs_sched import driven

RUNNING = 42


def reserve(pbs: PbsCluster, in_s: float, lasts_s: float, select: str = "1:ncpus=2") -> str:
    start, end = (time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + s)) for s in (in_s, in_s + lasts_s))
    done = pbs.run(["pbs_rsub", "-R", start, "-E", end, "-l", f"select={select}"], user="alice").demand_success()
    return done.stdout.split()[0]


def reservation(pbs: PbsCluster, name: str) -> dict[str, str]:
    lines = pbs.run(["pbs_rstat", "-f", name]).demand_success().stdout.splitlines()
    return {key.strip(): value.strip() for key, sep, value in (line.partition(" = ") for line in lines) if sep}


def wait_for_driving(pbs: PbsCluster) -> None:
    pbs.wait_until(lambda: "workq" in last_pass(pbs).get("acted", ()), 120.0, "the queue is driven again")


def test_a_reservation_that_starts_in_ten_seconds_is_confirmed_before(pbs: PbsCluster) -> None:
    """With the default interval. It may be the next one where a turn was a moment ago, or the machine is busy."""
    driven(pbs)
    deploy(pbs, Settings(schedule=ScheduleSettings()))
    for _ in range(4):
        wait_for_driving(pbs)
        name = reserve(pbs, 11, 300)
        due_s = time.monotonic() + 10
        while time.monotonic() < due_s and reservation(pbs, name)["reserve_state"] == "RESV_UNCONFIRMED":
            time.sleep(0.2)
        if reservation(pbs, name)["reserve_state"] != "RESV_UNCONFIRMED":
            wait_for_driving(pbs)
            job = pbs.qsub("bob")
            pbs.wait_for_state(job, "R")
            return
        pbs.run(["pbs_rdel", name])
    raise AssertionError("no reservation was confirmed before it was to start")


def test_a_job_of_a_short_reservation_starts_in_it(pbs: PbsCluster) -> None:
    """Its confirmation had a cycle a moment ago, and it is over before the next minute."""
    driven(pbs)
    wait_for_driving(pbs)
    name = reserve(pbs, 15, 35)
    pbs.wait_until(lambda: reservation(pbs, name)["reserve_state"] == "RESV_CONFIRMED", 20.0, "it is confirmed")
    job = pbs.qsub("alice", queue=name.partition(".")[0], walltime=None)
    pbs.wait_for_state(job, "R", 50.0)


@pytest.mark.takes(85)
def test_a_reservation_that_is_altered_is_confirmed_anew(pbs: PbsCluster) -> None:
    driven(pbs)
    name = reserve(pbs, 3600, 600)
    pbs.wait_until(lambda: reservation(pbs, name)["reserve_state"] == "RESV_CONFIRMED", LATE_S, "it is confirmed")
    wait_for_driving(pbs)
    pbs.run(["pbs_ralter", "-D", "1200", name], user="alice").demand_success()
    pbs.wait_until(
        lambda: (
            (reservation(pbs, name)["reserve_state"], reservation(pbs, name)["reserve_duration"])
            == ("RESV_CONFIRMED", "1200")
        ),
        60 + LATE_S,
        "the alteration is confirmed",
    )
    wait_for_driving(pbs)


def test_a_reservation_that_lost_its_vnode_gets_another(pbs: PbsCluster) -> None:
    driven(pbs)
    pbs.qmgr("set server reserve_retry_time = 5")
    try:
        name = reserve(pbs, 3600, 600)
        pbs.wait_until(lambda: reservation(pbs, name)["reserve_state"] == "RESV_CONFIRMED", LATE_S, "it is confirmed")
        lost = reservation(pbs, name)["resv_nodes"].strip("(").partition(":")[0]
        pbs.run(["pbsnodes", "-o", lost]).demand_success()
        pbs.wait_until(
            lambda: (
                reservation(pbs, name)["reserve_state"] == "RESV_CONFIRMED"
                and lost not in reservation(pbs, name)["resv_nodes"]
            ),
            120 + LATE_S,
            "it is confirmed on another vnode",
        )
        wait_for_driving(pbs)
    finally:
        pbs.qmgr("unset server reserve_retry_time")


@pytest.mark.parametrize("interval", ["quick", "default"])
def test_what_a_suspended_job_needs_again_is_kept_for_it(pbs: PbsCluster, interval: str) -> None:
    """From the pass while it comes free bit by bit, and from PBS's scheduler in its turn."""
    first, cores = pbs.mom_names[0], pbs.spec.cores
    driven(pbs)
    if interval == "default":
        deploy(pbs, Settings(schedule=ScheduleSettings()))
        wait_for_driving(pbs)
    job_id = pbs.qsub("alice", select=f"1:ncpus={cores}:vnode={first}")
    pbs.wait_until(lambda: pbs.job(job_id)["substate"] == RUNNING, 120.0, f"{job_id} runs")
    pbs.run(["qsig", "-s", "suspend", job_id]).demand_success()
    pbs.wait_for_state(job_id, "S")
    beside = [pbs.qsub("bob", select=f"1:ncpus={cores // 2}:vnode={first}") for _ in range(2)]
    for each in beside:
        pbs.wait_for_state(each, "R")
    others = [pbs.qsub("bob", select=f"1:ncpus=1:vnode={first}") for _ in range(10)]
    pbs.run(["qsig", "-s", "resume", job_id]).demand_success()
    wait_for_pass(pbs)
    for each in beside:
        pbs.run(["qdel", each]).demand_success()
        wait_for_pass(pbs)
        assert [pbs.job_state(other) for other in others] == ["Q"] * len(others)
    pbs.wait_for_state(job_id, "R", 120.0 + LATE_S)
    assert [pbs.job_state(other) for other in others] == ["Q"] * len(others)
    wait_for_driving(pbs)


def test_a_scheduler_that_does_not_run_is_named_where_a_job_waits_for_it(pbs: PbsCluster) -> None:
    driven(pbs)
    wait_for_driving(pbs)
    job_id = pbs.qsub("alice", select=f"1:ncpus={pbs.spec.cores}")
    pbs.wait_until(lambda: pbs.job(job_id)["substate"] == RUNNING, 120.0, f"{job_id} runs")
    pbs.run(["qsig", "-s", "suspend", job_id]).demand_success()
    pbs.wait_for_state(job_id, "S")
    pbs.run(["pkill", "-x", "pbs_sched"]).demand_success()
    pbs.wait_until(lambda: pbs.run(["pgrep", "-x", "pbs_sched"]).status != 0, 60.0, "the scheduler's end")
    try:
        pbs.run(["qsig", "-s", "resume", job_id]).demand_success()
        named = f"scheduler default does not run, and only it can do this: job {job_id} waits to be resumed"
        pbs.wait_until(lambda: named in last_pass(pbs)["notes"], LATE_S, "the pass names the scheduler")
        health = on_server(pbs, "-m", "tui.cli.main", "hooks", "status")
        assert (health.status, named in health.stdout) == (1, True)
        doctor = on_server(pbs, "-m", "tui.cli.main", "doctor")
        words = "passes start the jobs, but reservations and suspended jobs would wait for it"
        assert f"scheduler default is down: {words}" in doctor.stdout
    finally:
        pbs.run([f"{pbs.spec.pbs_exec}/sbin/pbs_sched"]).demand_success()
    pbs.wait_for_state(job_id, "R", 120.0 + LATE_S)
    wait_for_driving(pbs)
