"""A local job that has ended before its id was noted does not run again.

The process that had submitted it was killed, or the reply was lost: what is left is a record without a local id.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.pbs.centre.act_as_user_and_service import HOME, WITHIN_S, SiteUser
from tests.pbs.idle_machine_deadline import Deadline

RUNS = 'echo x >> "$PWD/runs"; until [ -e go ]; do sleep 0.2; done; exit 3'


@pytest.fixture(params=["slurm_user", "pbs_user"])
def user(request: pytest.FixtureRequest) -> SiteUser:
    found: SiteUser = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def without_history(pbs_user: SiteUser) -> Iterator[SiteUser]:
    """Cluster b of PBS forgets each job at its end."""
    was_on = "job_history_enable = True" in pbs_user.there("qmgr -c 'list server'", user="root")
    switch = 'qmgr -c "set server job_history_enable = $1"'
    pbs_user.there(switch, "False", user="root")
    try:
        yield pbs_user
    finally:
        pbs_user.there(switch, str(was_on), user="root")


def run_there(user: SiteUser, name: str) -> tuple[str, str, str]:
    """A job whose program runs at b, whose id b has not noted: its id, its folder at either end."""
    folder = user.folder(name, RUNS)
    gid = user.sent(user.submit(folder, "-t", "b"))
    record = user.wait_there(gid, "Submitted", ran=1)
    user.there('until [ -s "$1/runs" ]; do sleep 0.1; done', record.dstdir, user="alice")
    forget_local_id(user, "b", "received.q")
    assert user.record(gid).localid == ""
    return gid, folder, record.dstdir


def forget_local_id(user: SiteUser, letter: str, queue: str) -> None:
    script = 'until flock -n "$1/lock" sed -i "s/\\tlocalid=[^\\t]*//" "$1/$2"; do sleep 0.1; done'
    user.sh(script, HOME, queue, letter=letter, user="mg")


def wait_until_gone(user: SiteUser, letter: str, name: str) -> None:
    deadline = Deadline(WITHIN_S)
    while name in user.local_jobs(letter):
        assert not deadline.has_passed()
        time.sleep(0.3)


def check_one_run(user: SiteUser, name: str) -> None:
    gid, folder, there = run_there(user, name)
    user.there('touch "$1/go"', there, user="alice")
    wait_until_gone(user, "b", f"mg_{gid}_1")
    job = user.wait_for(gid)
    assert (job["state"], job["exit"], job["reason"]) == ("End", "3", ""), job
    assert user.read(f"{folder}/runs") == "x\n"


def test_a_guest_that_ended_by_itself_has_its_exit_status_and_one_run(user: SiteUser) -> None:
    check_one_run(user, "ended-unnoted")


def test_a_guest_that_was_killed_has_one_run(user: SiteUser) -> None:
    gid, folder, _ = run_there(user, "killed-unnoted")
    kill = 'qsig -s KILL $(qselect -N "$1")' if user.has_pbs("b") else 'scancel --full -s KILL --name "$1"'
    user.there(kill, f"mg_{gid}_1", user="root")
    wait_until_gone(user, "b", f"mg_{gid}_1")
    job = user.wait_for(gid)
    # The script may still note how its program ended, or is killed before; Slurm begins with SIGTERM.
    exits = ("signal 9", "137") if user.has_pbs("b") else ("CANCELLED", "143")
    assert job["state"] == "End", job
    assert job["exit"] in exits, job
    assert user.read(f"{folder}/runs") == "x\n"


@pytest.mark.slow
def test_a_guest_at_a_pbs_without_job_history_has_one_run(without_history: SiteUser) -> None:
    check_one_run(without_history, "ended-unnoted-and-forgotten")


@pytest.mark.slow
def test_a_job_in_place_has_one_run(slurm_user: SiteUser) -> None:
    folder = slurm_user.folder("in-place-unnoted", RUNS)
    ticket = slurm_user.submit(folder, "-t", "local")
    gid = slurm_user.wait_for(ticket, "Submitted")["gid"]
    slurm_user.sh('until [ -s "$1/runs" ]; do sleep 0.1; done', folder)
    forget_local_id(slurm_user, "a", "sent.q")
    slurm_user.sh('touch "$1/go"', folder)
    wait_until_gone(slurm_user, "a", f"mg_{gid}_1")
    job = slurm_user.wait_for(gid)
    assert (job["state"], job["exit"]) == ("End", "3"), job
    assert slurm_user.read(f"{folder}/runs") == "x\n"
