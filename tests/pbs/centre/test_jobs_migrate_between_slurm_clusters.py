"""Users' jobs leave a full cluster, run on another, and come back; and what happens when the link between is cut."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from container.centre import centre as centres
from tests.pbs.centre.act_as_user_and_service import HOME, SiteUser


def limits(user: SiteUser, line: str) -> AbstractContextManager[None]:
    """Another limit in the cluster file of a, for a while."""
    return user.cluster_file("a", f"$a[limits]\\n{line}")


@pytest.fixture
def user(slurm_user: SiteUser) -> Iterator[SiteUser]:
    """Cluster a is full with a job of its own."""
    with slurm_user.full("a"):
        yield slurm_user


def test_jobs_go_out_and_come_back_with_their_exit_statuses(user: SiteUser) -> None:
    folders = {
        "0": user.folder("batch/0", "cat input.txt > result.txt; echo done"),
        "3": user.folder("batch/3", "echo wrong >&2; exit 3"),
        "137": user.folder("batch/killed", "kill -9 $$"),
    }
    user.do("sh", "-c", 'echo input > "$1/input.txt"', "sh", folders["0"])
    tickets = {status: user.submit(folder, "-t", "b") for status, folder in folders.items()}
    for status, ticket in tickets.items():
        job = user.wait_for(ticket, "End", "Aborted", "Stopped")
        assert (job["state"], job["exit"], job["dst"]) == ("End", status, "b"), job
        assert job["uploaded_bytes"] > 0
    gids = {status: user.jobs(ticket)[0]["gid"] for status, ticket in tickets.items()}
    assert user.do("cat", f"{folders['0']}/result.txt") == "input\n"
    assert user.do("cat", f"{folders['0']}/mg.{gids['0']}.out") == "done\n"
    assert user.do("cat", f"{folders['3']}/mg.{gids['3']}.err") == "wrong\n"
    assert user.run(user.programs.path("mgstat"), *gids.values()).status == 0


def test_a_job_that_this_cluster_can_start_runs_where_it_is(slurm_user: SiteUser) -> None:
    folder = slurm_user.folder("home", "pwd; exit 5")
    ticket = slurm_user.submit(folder, "-t", "local", "-b", "echo building")
    job = slurm_user.wait_for(ticket, "End", "Aborted")
    assert (job["state"], job["exit"], job["dst"]) == ("End", "5", "a"), job
    assert slurm_user.do("cat", f"{folder}/mg.{job['gid']}.out") == f"{folder}\n"
    assert slurm_user.do("cat", f"{folder}/mg-build.log") == "building\n"
    files = {"mg-build.log", f"mg.{job['gid']}.err", f"mg.{job['gid']}.out", "run.sh"}
    assert set(slurm_user.do("ls", "-A", folder).split()) == files


@pytest.mark.slow
def test_stop_of_a_request_of_a_job_that_waits_and_of_one_that_runs(user: SiteUser) -> None:
    mgstop = user.programs.path("mgstop")
    wide = user.submit(user.folder("wide", "true"), cores=1000)
    request = user.wait_for(wide, "Requested")["gid"]
    waiting = user.jobs(_sent(user, user.submit(user.folder("waits", "true"), "-t", "b")))[0]
    assert waiting["state"] == "Waiting", waiting
    user.do(mgstop, request, waiting["gid"])
    user.send()
    assert [job["state"] for job in user.jobs(request, waiting["gid"])] == ["Stopped", "Stopped"]
    running = user.submit(user.folder("runs", "echo begun > begun; sleep 600"), "-t", "b")
    job = user.wait_for(running, "Submitted")
    while user.local_jobs("b").get(f"mg_{job['gid']}_1") != "R":
        time.sleep(0.5)
        user.receive()
    user.do(mgstop, job["gid"])
    assert user.wait_for(job["gid"], "Stopped", "End", "Aborted")["state"] == "Stopped"
    assert f"mg_{job['gid']}_1" not in user.local_jobs("b")
    assert user.do("cat", f"{job['dir']}/begun") == "begun\n"
    user.wait_until_empty("b", "received.q")


def _sent(user: SiteUser, ticket: str) -> str:
    user.send()
    return ticket


@pytest.mark.slow
def test_a_hand_over_that_the_cable_cuts_is_settled_when_it_is_back(user: SiteUser) -> None:
    folder = user.folder("cut", "exit 0")
    centres.cut_link(user.centre, "a", "b")
    try:
        ticket = _sent(user, user.submit(folder, "-t", "b"))
        (job,) = user.jobs(ticket)
        assert job["state"] == "Requested"
        assert "b: unreachable" in job["reason"], job
    finally:
        centres.restore_link(user.centre, "a", "b")
    job = user.wait_for(ticket, "Waiting", "Uploading", "Submitted")
    centres.cut_link(user.centre, "a", "b")
    try:
        user.send()
        (job,) = user.jobs(ticket)
        assert "b unreachable, as of " in job["reason"], job
    finally:
        centres.restore_link(user.centre, "a", "b")
    assert user.wait_for(ticket, "End", "Aborted")["exit"] == "0"


@pytest.mark.slow
def test_a_hand_over_without_an_answer_stays_unconfirmed_and_is_settled(user: SiteUser) -> None:
    """Cluster b takes the job after a has given up: its files were locked."""
    locked = f"setsid --fork flock {HOME}/lock sleep 25 > /dev/null 2>&1 < /dev/null"
    ticket = user.submit(user.folder("unconfirmed", "exit 0"), "-t", "b")
    user.do("sh", "-c", locked, letter="b", user="mg")
    with limits(user, "ssh_timeout_s = 5"):
        user.send()
        (job,) = user.jobs(ticket)
        assert (job["state"], job["dst"]) == ("Requested", "b"), job
        assert "hand-over to b unconfirmed" in job["reason"]
        centres.cut_link(user.centre, "a", "b")
        try:
            user.send()
            (job,) = user.jobs(ticket)
            assert (job["state"], job["dst"]) == ("Requested", "b"), job
        finally:
            centres.restore_link(user.centre, "a", "b")
    job = user.wait_for(ticket, "End", "Aborted")
    assert (job["exit"], job["dst"]) == ("0", "b"), job


@pytest.mark.slow
def test_a_request_that_waits_is_also_local_and_runs_in_one_place(slurm_user: SiteUser) -> None:
    with limits(slurm_user, "fallback_s = 0"):
        with slurm_user.full("a"):
            with slurm_user.full("b"):
                ticket = _sent(slurm_user, slurm_user.submit(slurm_user.folder("also", "exit 4")))
                (job,) = slurm_user.jobs(ticket)
                assert (job["state"], bool(job["fallback"])) == ("Requested", True), job
                assert slurm_user.local_jobs("a")[f"mg_{job['gid']}_0"] == "Q"
            slurm_user.wait_for(ticket, "Waiting", "Uploading", "Submitted")
            why = slurm_user.do("squeue", "--noheader", "--format=%r", "--jobs", job["fallback"]).strip()
            assert why == "JobHeldUser"
            job = slurm_user.wait_for(ticket, "End", "Aborted")
            assert (job["exit"], job["dst"], job["fallback"]) == ("4", "b", ""), job
            assert not any(name.startswith("mg_") for name in slurm_user.local_jobs("a"))
            with slurm_user.full("b"):
                ticket = _sent(slurm_user, slurm_user.submit(slurm_user.folder("also too", "exit 6")))
                (job,) = slurm_user.jobs(ticket)
                assert job["fallback"], job
        job = slurm_user.wait_for(ticket, "End", "Aborted")
        assert (job["exit"], job["dst"]) == ("6", "a"), job


def test_the_administrators_look_at_the_pair(user: SiteUser) -> None:
    pbsteer = user.programs.path("pbsteer")
    checked = user.run(pbsteer, "migrate", "check", "--user", "alice", "--json", user="mg")
    found = {(one["cluster"], one["what"]): one for one in json.loads(checked.stdout)}
    assert checked.status == 0, found
    assert found["b", "answers"]["good"]
    assert found["a", "landing folder"]["good"]
    user.submit(user.folder("planned", "true"), "-t", "b")
    user.submit(user.folder("planned too", "true"), cores=1000)
    user.send()
    plan = json.loads(user.do(pbsteer, "migrate", "plan", "--json", user="mg"))
    assert any("short by" in one["why"] for one in plan), plan


def pause(user: SiteUser, letter: str, line: str) -> AbstractContextManager[None]:
    """A pause in a cluster file, for a while."""
    return user.cluster_file(letter, f'/^.here.$/a {line} = ["any"]')


@pytest.mark.slow
def test_a_target_that_is_paused_ends_its_guests_and_takes_no_more(user: SiteUser) -> None:
    guest = user.submit(user.folder("guest", "while [ ! -e go ]; do sleep 0.2; done; exit 5"), "-t", "b")
    dstdir = user.wait_for(guest, "Submitted")["dstdir"]
    with pause(user, "b", "pause_taking_from"):
        (late,) = user.jobs(_sent(user, user.submit(user.folder("late", "true"), "-t", "b")))
        assert (late["state"], late["dst"]) == ("Requested", ""), late
        assert late["reason"] == "b: takes no jobs of this cluster at the moment (its pause_taking_from)"
        assert "pause_taking_from" in user.do(user.programs.path("mgstat"), "--queues")
        user.there('touch "$1/go"', dstdir, user="alice")
        assert user.wait_for(guest, "End", "Aborted")["exit"] == "5"
        user.wait_until_empty("b", "received.q")
        assert "takes no jobs of other clusters" in user.there('"$1"', user.programs.path("findavl"))
    assert user.wait_for(late["gid"], "End", "Aborted")["dst"] == "b"


@pytest.mark.slow
def test_a_cluster_that_leaves_has_nothing_under_way_in_the_end(slurm_user: SiteUser) -> None:
    filler = slurm_user.start_local("a", slurm_user.cores("a"))
    try:
        away = slurm_user.submit(slurm_user.folder("away", "sleep 3; exit 3"), "-t", "b")
        slurm_user.wait_for(away, "Submitted")
        with slurm_user.cluster_file("a", '/^.here.$/a pause_sending_to = ["any"]\n$a[limits]\\nfallback_s = 0'):
            (waits,) = slurm_user.jobs(_sent(slurm_user, slurm_user.submit(slurm_user.folder("waits here", "exit 4"))))
            assert (waits["state"], bool(waits["fallback"])) == ("Requested", True), waits
            assert "b: sending there is paused (pause_sending_to)" in waits["reason"]
            assert slurm_user.wait_for(away, "End", "Aborted")["exit"] == "3"
            slurm_user.delete_local("a", filler)
            job = slurm_user.wait_for(waits["gid"], "End", "Aborted")
            assert (job["exit"], job["dst"]) == ("4", "a"), job
            slurm_user.wait_until_empty("a", "request.q", "sent.q", "received.q")
    finally:
        slurm_user.delete_local("a", filler)
