"""Local jobs that are cancelled at a real Slurm, which gives a job that never ran a start and the exit code 0: at the
target, at the source, and while a program runs.
"""

from __future__ import annotations

import time

import pytest

from tests.pbs.centre.act_as_user_and_service import WITHIN_S, SiteUser
from tests.pbs.idle_machine_deadline import Deadline


def wait_in_queue(user: SiteUser, letter: str, name: str, state: str) -> str:
    """The id of the local job once it is in this state, Q or R."""
    deadline = Deadline(WITHIN_S)
    while user.local_jobs(letter).get(name) != state:
        assert not deadline.has_passed(), user.local_jobs(letter)
        if letter == user.target:
            user.receive()
        time.sleep(0.5)
    return user.do("squeue", "-h", "-n", name, "-o", "%i", letter=letter).strip()


def test_a_guest_that_is_cancelled_while_it_waits_is_aborted(slurm_user: SiteUser) -> None:
    gid = slurm_user.sent(slurm_user.submit(slurm_user.folder("cancelled", "exit 0"), "-t", "b"))
    with slurm_user.full("b"):
        local = wait_in_queue(slurm_user, "b", f"mg_{gid}_1", "Q")
        slurm_user.delete_local("b", local)
        job = slurm_user.wait_for(gid)
    assert (job["state"], job["exit"]) == ("Aborted", ""), job
    assert f"the local job {local} was deleted before it ran" in job["reason"]


def test_a_guest_that_is_cancelled_while_it_runs_has_ended_by_that(slurm_user: SiteUser) -> None:
    folder = slurm_user.folder("cancelled-run", "echo begun > begun; exec sleep 900")
    gid = slurm_user.sent(slurm_user.submit(folder, "-t", "b"))
    local = wait_in_queue(slurm_user, "b", f"mg_{gid}_1", "R")
    there = slurm_user.record(gid).dstdir
    slurm_user.there('until [ -s "$1/begun" ]; do sleep 0.1; done', there, user="alice")
    slurm_user.delete_local("b", local)
    job = slurm_user.wait_for(gid)
    assert (job["state"], job["exit"], job["reason"]) == ("End", "CANCELLED", "ended by CANCELLED"), job
    assert slurm_user.read(f"{folder}/begun") == "begun\n"


@pytest.mark.slow
def test_a_request_whose_local_job_is_cancelled_while_it_waits_stays(slurm_user: SiteUser) -> None:
    with slurm_user.cluster_file("a", "$a[limits]\\nfallback_s = 0"), slurm_user.full("a"), slurm_user.full("b"):
        ticket = slurm_user.submit(slurm_user.folder("also-cancelled", "exit 4"))
        slurm_user.send()
        job = slurm_user.job(ticket)
        local = job["fallback"]
        assert local, job
        slurm_user.delete_local("a", local)
        slurm_user.send()
        job = slurm_user.job(ticket)
        assert (job["state"], job["dst"]) == ("Requested", ""), job
        assert job["fallback"] not in ("", local), "submitted once more"
    job = slurm_user.wait_for(ticket)
    assert (job["state"], job["exit"]) == ("End", "4"), job
