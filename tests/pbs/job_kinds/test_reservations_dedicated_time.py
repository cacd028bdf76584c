"""Reservations, dedicated time, and jobs that PBS's own checkpoint keeps to their vnodes, on a real server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from tests.hooks.deploy_on_testbed import (
    deploy,
    deploy_and_drive,
    drive,
    last_pass,
    quick_settings,
    set_mode,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import pbsteer

AHEAD_S, LASTS_S = 35, 20
RUNNING = 42
CHECKPOINT = """#!/bin/sh
# The session, the task and the path where a real checkpoint would go are given as well.
pkill -KILL -s "$2"
exit 0
"""
RESTART = """#!/bin/sh
exec sleep 600
"""


def reserve(pbs: PbsCluster, start_s: float, lasts_s: int, select: str, *more: str) -> str:
    """A reservation of alice's from then on, confirmed; returns its id."""
    start = datetime.fromtimestamp(start_s).astimezone().strftime("%Y%m%d%H%M.%S")
    done = pbs.run(["pbs_rsub", "-R", start, "-D", str(lasts_s), "-l", f"select={select}", *more], user="alice")
    reservation = done.demand_success().stdout.split()[0]
    pbs.wait_until(lambda: "= 2" in state_of(pbs, reservation), 120.0, f"{reservation} is confirmed")
    return reservation


def state_of(pbs: PbsCluster, reservation: str) -> str:
    lines = pbs.run(["pbs_rstat", "-F", reservation]).stdout.splitlines()
    text = next((line for line in lines if "reserve_state" in line), "")
    return text.replace("RESV_CONFIRMED", "2").replace("RESV_RUNNING", "5")


def wait_for_comment(pbs: PbsCluster, job_id: str, words: str) -> None:
    def says() -> bool:
        return words in str(pbs.job(job_id).get("comment", ""))

    pbs.wait_until(says, 120.0, f"{job_id} says {words!r}, not {pbs.job(job_id).get('comment')!r}")


def test_jobs_keep_clear_of_reservations(pbs: PbsCluster) -> None:
    """All of the first vnode is reserved for a while from soon on, and two cores of the second.

    Who ends before runs there, who does not waits or goes elsewhere; when it is over, all is as before.
    """
    first, second, third = pbs.mom_names
    cores = pbs.spec.cores
    deploy(pbs, quick_settings())
    begins_s = time.time() + AHEAD_S
    whole = reserve(pbs, begins_s, LASTS_S, f"1:ncpus={cores}:vnode={first}")
    part = reserve(pbs, begins_s, LASTS_S, f"1:ncpus=2:vnode={second}")
    drive(pbs)

    long = pbs.qsub("bob", select=f"1:ncpus={cores}:vnode={first}")
    wait_for_comment(pbs, long, f"when reservation {whole.split('.')[0]} is over")
    short = pbs.qsub("bob", ("/bin/sleep", "3"), select=f"1:ncpus={cores}:vnode={first}", walltime="00:00:05")
    anywhere = pbs.qsub("carol", select=f"1:ncpus={cores}")
    beside = pbs.qsub("carol", select=f"1:ncpus={cores - 2}:vnode={second}")
    too_much = pbs.qsub("carol", select=f"1:ncpus=1:vnode={second}")
    for job_id in (short, anywhere, beside):
        pbs.wait_for_state(job_id, "RF")
    assert pbs.job(anywhere)["exec_vnode"] == f"({third}:ncpus={cores})"
    wait_for_comment(pbs, too_much, f"would run into reservation {part.split('.')[0]}, which begins at")

    inside = pbs.qsub("alice", ("/bin/sleep", "3"), select="1:ncpus=1", walltime="00:00:05", queue=whole.split(".")[0])
    pbs.wait_until(lambda: "= 5" in state_of(pbs, whole), AHEAD_S + 10.0, "the reservation runs")
    wait_for_pass(pbs)
    assert pbs.job_state(long) + pbs.job_state(too_much) == "QQ"
    # What a reservation that runs keeps is not idle.
    wait_for_comment(pbs, too_much, "0 are idle; reservation ")
    pbs.wait_for_state(long, "R", LASTS_S + 30.0)
    pbs.wait_for_state(too_much, "R")
    assert time.time() >= begins_s + LASTS_S
    assert pbs.job_state(inside) == "F"
    assert pbs.job(inside)["exec_vnode"] == f"({first}:ncpus=1)"
    assert last_pass(pbs)["failures"] == []


@contextmanager
def dedicated_time_file(pbs: PbsCluster) -> Iterator[Path]:
    path = pbs.server_home / "sched_priv" / "dedicated_time"
    before = path.read_text()
    try:
        yield path
    finally:
        path.write_text(before)


def minutes_from_now(*minutes: int) -> tuple[str, float]:
    """A line of the file, whose minutes are whole ones, and when its last minute begins."""
    moments = [datetime.now().replace(second=0, microsecond=0) + timedelta(minutes=each) for each in minutes]  # noqa: DTZ005 - the file has local times
    return " ".join(moment.strftime("%m/%d/%Y %H:%M") for moment in moments) + "\n", moments[-1].timestamp()


def test_dedicated_time_is_kept_by_both_kinds_of_queues(pbs: PbsCluster) -> None:
    with dedicated_time_file(pbs) as dedicated_time:
        pbs.qmgr("create queue dedwork queue_type=execution,enabled=True,started=True")
        deploy(pbs, quick_settings())
        set_mode(pbs, "drive", "dedwork")
        dedicated_time.write_text(minutes_from_now(-10, 30)[0])
        drive(pbs, "workq", "dedwork")
        ordinary = pbs.qsub("alice")
        inside = pbs.qsub("bob", queue="dedwork", walltime="00:05:00")
        too_long = pbs.qsub("bob", queue="dedwork", walltime="02:00:00")
        pbs.wait_for_state(inside, "R")
        wait_for_comment(pbs, ordinary, "queue workq starts no jobs now, in dedicated time")
        wait_for_comment(pbs, too_long, "time that is not dedicated")

        line, ends_s = minutes_from_now(30, 60)
        dedicated_time.write_text(line)
        later = pbs.qsub("carol", walltime="02:00:00")
        pbs.wait_for_state(ordinary, "R")
        wait_for_comment(pbs, later, "when dedicated time is over")
        wait_for_comment(pbs, too_long, "queue dedwork starts no jobs now, in time that is not dedicated")
        # The console's own plan and forecast agree with the pass.
        found = json.loads(pbsteer(pbs, "when", later, "--fresh", "--json"))
        assert found["starts_half_s"] >= ends_s
        explained = json.loads(pbsteer(pbs, "explain", later, "--json"))
        assert (explained["state"], explained["agree"]) == ("waiting", True)
        assert later not in json.loads(pbsteer(pbs, "status", "--json"))["plan"]["starts"]

        dedicated_time.write_text("# none\n")
        pbs.wait_for_state(later, "R")
        assert pbs.job_state(too_long) == "Q"


def test_a_job_checkpointed_by_pbs_waits_for_its_vnodes(pbs: PbsCluster) -> None:
    first = pbs.mom_names[0]
    cores = pbs.spec.cores
    with own_checkpoint(pbs, first):
        deploy_and_drive(pbs, quick_settings())
        kept = pbs.qsub("alice", select=f"1:ncpus={cores}", options=("-l", "place=pack"))
        # A job that is just being started would be held, but not checkpointed.
        pbs.wait_until(lambda: pbs.job(kept)["substate"] == RUNNING, 120.0, f"{kept} runs")
        assert pbs.job(kept)["exec_vnode"] == f"({first}:ncpus={cores})"
        pbs.run(["qhold", kept]).demand_success()
        pbs.wait_for_state(kept, "H")
        assert pbs.job(kept)["exec_vnode"] == f"({first}:ncpus={cores})"
        other = pbs.qsub("bob", select=f"1:ncpus={cores}:vnode={first}", walltime="00:05:00")
        pbs.wait_for_state(other, "R")
        pbs.run(["qrls", kept]).demand_success()
        wait_for_comment(pbs, kept, "first in line")
        assert {pbs.pbsnodes()[name]["state"] for name in pbs.mom_names[1:]} == {"free"}
        pbs.run(["qdel", other]).demand_success()
        pbs.wait_for_state(kept, "R")
        assert pbs.job(kept)["exec_vnode"] == f"({first}:ncpus={cores})"


@contextmanager
def own_checkpoint(pbs: PbsCluster, mom: str) -> Iterator[None]:
    """Let a MoM checkpoint by a script that ends the job, and restart by one that sleeps."""
    host = next(each for each in pbs.spec.mom_hosts if each.name == mom)
    config = pbs.testbed.pbs_home(host) / "mom_priv" / "config"
    before = config.read_text()
    scripts = {"checkpoint_abort": CHECKPOINT, "restart": RESTART}
    lines = []
    for action, text in scripts.items():
        path = config.parent / f"{action}.sh"
        path.write_text(text)
        path.chmod(0o755)
        arguments = "%jobid %sid %taskid %path" if action == "checkpoint_abort" else "%jobid %path"
        lines.append(f"$action {action} 30 !{path} {arguments}\n")
    try:
        config.write_text(before + "".join(lines))
        hang_up(pbs, mom)
        yield
    finally:
        config.write_text(before)
        hang_up(pbs, mom)
        for action in scripts:
            (config.parent / f"{action}.sh").unlink()


def hang_up(pbs: PbsCluster, mom: str) -> None:
    """Have a MoM read its configuration again."""
    index = pbs.mom_names.index(mom) + 1
    lock = pbs.testbed.pbs_home(pbs.spec.mom_hosts[index - 1]) / "mom_priv" / "mom.lock"
    pbs.run(["kill", "-HUP", lock.read_text().strip()], host=f"m{index}").demand_success()
