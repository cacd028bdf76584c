"""What ``explain``, ``when``, ``status`` and ``do`` say on a real server of jobs that no plan starts: of a reservation,
of an array at its limit, and ended ones."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import on_server, pbsteer
from tests.pbs.job_kinds.test_reservations_dedicated_time import reserve, state_of

AHEAD_S = 60


def said(pbs: PbsCluster, *arguments: str) -> str:
    return " ".join(pbsteer(pbs, *arguments).split())


def refused(pbs: PbsCluster, *arguments: str) -> str:
    done: Any = on_server(pbs, "-m", "tui.cli.main", *arguments)
    assert done.status == 1, done
    return " ".join(str(done.stderr).split())


def test_a_job_in_a_reservation_is_started_by_pbs_when_that_begins(pbs: PbsCluster) -> None:
    queue = reserve(pbs, time.time() + AHEAD_S, 600, "1:ncpus=2").split(".")[0]
    job = pbs.qsub("alice", select="1:ncpus=1", walltime="00:05:00", queue=queue)
    about = f"it is in reservation {queue} of alice, which begins at "
    explained = said(pbs, "explain", job)
    assert about in explained
    assert "PBS's scheduler starts its jobs" in explained
    assert "unknown" not in explained
    assert f"starts by PBS's scheduler: {about}" in said(pbs, "when", job)
    assert f"queue {queue} is stopped" not in said(pbs, "status")
    of_reservation = f"queue {queue} is that of reservation {queue} of alice"
    assert f"start: {of_reservation}" in refused(pbs, "do", "start", queue, "--yes")
    assert pbs.job_state(job) == "Q"

    pbs.wait_until(lambda: "= 5" in state_of(pbs, queue), AHEAD_S + 30.0, "the reservation runs")
    pbs.wait_for_state(job, "R")
    assert f"it is in reservation {queue} of alice, which runs until " in said(pbs, "explain", job)
    assert f"stop: {of_reservation}" in refused(pbs, "do", "stop", queue, "--yes")


def test_a_reservation_that_runs_without_its_vnode_needs_attention(pbs: PbsCluster) -> None:
    vnode = pbs.mom_names[0]
    name = reserve(pbs, time.time() + AHEAD_S / 2, 600, f"1:ncpus=2:vnode={vnode}").split(".")[0]
    pbs.wait_until(lambda: "= 5" in state_of(pbs, name), AHEAD_S, "the reservation runs")
    assert "degraded" not in said(pbs, "status")
    pbs.run(["pkill", "-KILL", "-x", "pbs_mom"], host=vnode).demand_success()
    try:
        degraded = f"reservation {name} runs degraded, without {vnode}"
        pbs.wait_until(lambda: degraded in said(pbs, "status"), 120.0, "status names the reservation")
    finally:
        pbs.run([f"{pbs.spec.pbs_exec}/sbin/pbs_mom", "-p"], host=vnode).demand_success()


def test_an_array_at_its_limit_goes_on_when_a_subjob_ends(pbs: PbsCluster) -> None:
    array = pbs.qsub("alice", select="1:ncpus=1", walltime="01:00:00", options=["-J", "1-6%3"])
    running = [array.replace("[]", f"[{index}]") for index in (1, 2, 3)]
    for subjob in running:
        pbs.wait_for_state(subjob, "R")
    text = said(pbs, "when", array)
    assert "starts when one of its 3 running subjobs ends, expected by " in text
    assert "not by itself" not in text
    assert json.loads(pbsteer(pbs, "when", "--json", array))["after_subjobs"] == running
    pbs.run(["qdel", running[0]]).demand_success()
    pbs.wait_for_state(array.replace("[]", "[4]"), "R")


def test_a_job_that_has_ended_is_said_to_have_by_the_servers_history(pbs: PbsCluster) -> None:
    pbs.qmgr("set server job_history_enable = True")
    failed = pbs.qsub("alice", select="1:ncpus=1", command=("/bin/false",))
    deleted = pbs.qsub("alice", select="1:ncpus=500")
    array = pbs.qsub("alice", select="1:ncpus=1", command=("/bin/true",), options=["-J", "1-2"])
    pbs.run(["qdel", deleted]).demand_success()
    for job in (failed, deleted, array):
        pbs.wait_for_state(job, "F")
    short, server = failed.split(".")
    subjob = array.replace("[]", "[2]")
    for command in ("explain", "when"):
        for name in (short, failed):
            assert re.search(
                rf"^Error: job '{name}' is no longer on {server}: ended \d\d:\d\d, exit 1 on ",
                refused(pbs, command, name),
            )
        assert f"job '{deleted}' is no longer on {server}: deleted " in refused(pbs, command, deleted)
        assert re.search(rf"no longer on {server}: ended .*, exit 0", refused(pbs, command, subjob))
        assert refused(pbs, command, "99999") == f"Error: job '99999' is not on {server}"
    pbs.qmgr("set server job_history_enable = False")
    assert refused(pbs, "explain", short) == f"Error: job '{short}' is not on {server}"
