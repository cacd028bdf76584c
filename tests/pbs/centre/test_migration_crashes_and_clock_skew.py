"""Processes killed, a server crashed, a scheduler away, and clocks that differ: on PBS, at either end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from container import testbed as testbeds
from container.centre.server_crash import crash_server, start_crashed_server
from tests.pbs.centre.act_as_user_and_service import HOME, SiteUser
from tests.pbs.centre.install_programs_for_all_accounts import CLOCK_FILE

pytestmark = pytest.mark.centre_faults
_KILLED = "137"


def kill_when(user: SiteUser, letter: str, program: str, condition: str) -> str:
    """Start a pass, and end it with SIGKILL as soon as a condition of the shell holds; its exit status."""
    start = f'cd {HOME}; "$1" > /dev/null 2>&1 & pid=$!'
    script = f"{start}; until {condition}; do sleep 0.01; done; kill -9 $pid; wait $pid; echo $?"
    return user.sh(script, user.programs.path(program), letter=letter, user="mg").strip()


def test_mgsched_killed_between_its_file_and_the_offer(pbs_user: SiteUser) -> None:
    """Row: kill -9 of mgsched. The request is in sent.q, offered; whether b has it is found out."""
    folder = pbs_user.folder("killed-sched", "echo x >> runs; exit 3")
    ticket = pbs_user.submit(folder, "-t", "b")
    assert kill_when(pbs_user, "a", "mgsched", "grep -q state=Offered sent.q 2> /dev/null") == _KILLED
    assert "state=Offered" in pbs_user.sh(f"cat {HOME}/sent.q", user="mg")
    job = pbs_user.wait_for(ticket)
    assert (job["state"], job["exit"], job["dst"]) == ("End", "3", "b"), job
    assert pbs_user.read(f"{folder}/runs") == "x\n"


def test_mgsched_killed_as_it_takes_requests_in(pbs_user: SiteUser) -> None:
    """Row: kill -9 of mgsched."""
    tickets = [pbs_user.submit(pbs_user.folder(f"in-{number}", "exit 0"), "-t", "b") for number in range(3)]
    assert kill_when(pbs_user, "a", "mgsched", "[ -s request.q ]") == _KILLED
    jobs = [pbs_user.wait_for(ticket) for ticket in tickets]
    assert [job["state"] for job in jobs] == ["End"] * 3
    assert len({job["gid"] for job in jobs}) == 3


def test_mgrecv_killed_in_its_pass(pbs_user: SiteUser) -> None:
    """Row: kill -9 of mgrecv. What it has started goes on, and the next pass starts the rest."""
    folder = pbs_user.folder("killed-recv", "echo x >> runs; exit 3")
    gid = pbs_user.sent(pbs_user.submit(folder, "-t", "b"))
    pbs_user.there(f"rm -f {HOME}/slots/mgrecv.0")
    assert kill_when(pbs_user, "b", "mgrecv", "[ -e slots/mgrecv.0 ]") == _KILLED
    job = pbs_user.wait_for(gid)
    assert (job["state"], job["exit"]) == ("End", "3"), job
    assert pbs_user.read(f"{folder}/runs") == "x\n"


def test_mgdata_killed_while_it_sends_and_while_it_receives(pbs_user: SiteUser) -> None:
    """Row: kill -9 of mgdata, which runs at the source in both directions."""
    folder = pbs_user.folder("killed-data", "cp data result; exit 3")
    pbs_user.sh('head -c 4000000 /dev/urandom > "$1/data"', folder)
    kill = (
        'until pgrep -x -u alice rsync > /dev/null; do sleep 0.1; done; sleep 1; pkill -KILL -u mg -f "bin/mgdata $1 "'
    )
    with pbs_user.slow(4000):
        gid = pbs_user.sent(pbs_user.submit(folder, "-t", "b"))
        pbs_user.receive()
        pbs_user.sh(kill, gid, user="root")
        pbs_user.there(
            'until grep -Eq "Uploading: |-> Submitted" "$1"; do sleep 0.2; done', f"{HOME}/jobs/{gid}/upload.log"
        )
        pbs_user.try_now(gid)
        pbs_user.wait_there(gid, "Downloading")
        pbs_user.sh(kill, gid, user="root")
        pbs_user.there(
            'until grep -Eq "Downloading: |-> End" "$1"; do sleep 0.2; done', f"{HOME}/jobs/{gid}/upload.log"
        )
    pbs_user.try_now(gid)
    job = pbs_user.wait_for(gid)
    assert (job["state"], job["exit"], job["reason"]) == ("End", "3", ""), job
    assert pbs_user.sh('cd "$1"; cmp data result', folder) == ""


def test_a_hand_over_that_arrives_after_it_was_withdrawn_is_refused(pbs_user: SiteUser) -> None:
    """Row: late messages. Cluster b's program stands still between the offer's arrival and its answer."""
    folder = pbs_user.folder("late", "echo x >> runs; exit 3")
    with pbs_user.cluster_file("a", "$a[limits]\\nssh_timeout_s = 2"):
        ticket = pbs_user.submit(folder, "-t", "b")
        stop = "until pkill -STOP -u mg -f 'bin/mgserve'; do sleep 0.01; done"
        pbs_user.sh('setsid --fork sh -c "$1" > /dev/null 2>&1 < /dev/null', stop, letter="b", user="root")
        pbs_user.send()
        job = pbs_user.job(ticket)
        assert job["state"] == "Requested", job
        pbs_user.there("pgrep -u mg -f bin/mgserve", user="root")
    pbs_user.send()
    pbs_user.there("pkill -CONT -u mg -f bin/mgserve || true", user="root")
    job = pbs_user.wait_for(ticket)
    assert (job["state"], job["exit"]) == ("End", "3"), job
    assert pbs_user.read(f"{folder}/runs") == "x\n"


@pytest.mark.parametrize("letter", ["a", "b"])
def test_a_management_node_crashes_while_jobs_are_in_three_phases(pbs_user: SiteUser, letter: str) -> None:
    """Row: mgproc or node dies. Every process of the node ends, and the scheduler's too."""
    small = pbs_user.folder(f"crash-{letter}/runs", "echo x >> runs; until [ -e go ]; do sleep 0.2; done; exit 3")
    large = pbs_user.folder(f"crash-{letter}/large", "cksum < data")
    waits = pbs_user.submit(pbs_user.folder(f"crash-{letter}/waits", "exit 5"), "-t", "b", cores=100)
    pbs_user.sh('head -c 6000000 /dev/urandom > "$1/data"', large)
    runs = pbs_user.sent(pbs_user.submit(small, "-t", "b"))
    there = pbs_user.wait_there(runs, "Submitted", ran=1).dstdir
    with pbs_user.slow(4000):
        uploads = pbs_user.sent(pbs_user.submit(large, "-t", "b"))
        pbs_user.wait_there(uploads, "Uploading")
        pbs_user.there("until pgrep -x rsync; do sleep 0.1; done", user="root")
        testbed = pbs_user.centre.clusters[letter]
        crash_server(testbed)
        assert pbs_user.run("pgrep", "-x", "pbs_server.bin|sshd|rsync|postgres", letter=letter, user="root").status == 1
    start_crashed_server(testbed)
    if letter == "b":
        assert pbs_user.run("pgrep", "-u", "mg", letter="b", user="root").status == 1
    pbs_user.there('touch "$1/go"', there, user="alice")
    if letter == "a":
        pbs_user.there('until grep -q "Uploading: " "$1"; do sleep 0.5; done', f"{HOME}/jobs/{uploads}/upload.log")
    pbs_user.try_now(uploads)
    pbs_user.try_now(runs)
    assert pbs_user.wait_for(uploads)["exit"] == "0"
    pbs_user.try_now(runs)
    assert pbs_user.wait_for(runs)["exit"] == "3"
    assert pbs_user.read(f"{small}/runs") == "x\n"
    assert pbs_user.read(f"{large}/mg.{uploads}.out") == pbs_user.sh('cksum < "$1/data"', large)
    assert pbs_user.job(waits)["state"] == "Requested"


def test_a_scheduler_that_is_away_is_waited_for(pbs_user: SiteUser) -> None:
    """Row: scheduler away, at the target of a job that runs; then at a source, whose job goes elsewhere."""
    folder = pbs_user.folder("away", "until [ -e go ]; do sleep 0.2; done; exit 3")
    gid = pbs_user.sent(pbs_user.submit(folder, "-t", "b"))
    there = pbs_user.wait_there(gid, "Submitted", ran=1).dstdir
    target, source = pbs_user.centre.clusters["b"], pbs_user.centre.clusters["a"]
    testbeds.stop_server(target)
    try:
        pbs_user.there('touch "$1/go"', there, user="alice")
        time.sleep(2)
        for _ in range(2):
            pbs_user.receive()
            assert pbs_user.record(gid).state == "Submitted"
        late = pbs_user.submit(pbs_user.folder("away-new", "exit 0"), "-t", "b")
        pbs_user.send()
        assert pbs_user.job(late)["state"] == "Requested", pbs_user.job(late)
    finally:
        testbeds.start_server(target)
    assert pbs_user.wait_for(gid)["exit"] == "3"
    assert pbs_user.wait_for(late)["exit"] == "0"
    testbeds.stop_server(source)
    try:
        job = pbs_user.wait_for(pbs_user.submit(pbs_user.folder("away-source", "exit 6")))
    finally:
        testbeds.start_server(source)
    assert (job["exit"], job["dst"]) == ("6", "b"), job


@contextmanager
def clock_ahead(user: SiteUser, letter: str, seconds: int) -> Iterator[None]:
    """Migration's programs at one cluster have another clock."""
    testbed = user.centre.clusters[letter]
    path = testbed.folder / testbed.spec.server.name / CLOCK_FILE.relative_to("/")
    path.write_text(f"{seconds}\n")
    try:
        yield
    finally:
        path.unlink()


@pytest.mark.parametrize("seconds", [86_400, -86_400])
def test_clocks_that_differ_by_a_day_change_nothing(pbs_user: SiteUser, seconds: int) -> None:
    """Row: clock skew."""
    python, now = pbs_user.programs.path("python"), "import time; print(int(time.time()))"
    with clock_ahead(pbs_user, "b", seconds):
        clocks = [int(pbs_user.do(python, "-c", now, letter=letter)) for letter in "ab"]
        assert abs(clocks[1] - clocks[0] - seconds) < 300
        folder = pbs_user.folder(f"clock{seconds}", "sleep 3; echo result > result; exit 3")
        job = pbs_user.wait_for(pbs_user.submit(folder, "-t", "b"))
        assert (job["state"], job["exit"], job["reason"]) == ("End", "3", ""), job
        pbsteer = pbs_user.programs.path("pbsteer")
        checked = pbs_user.run(pbsteer, "migrate", "check", "--user", "alice", "--json", user="mg").stdout
        (clock,) = (one for one in json.loads(checked) if one["what"] == "clock" and one["cluster"] == "b")
        assert not clock["good"], clock
    assert pbs_user.read(f"{folder}/result") == "result\n"
    assert abs(job["since"] - time.time()) < 3_600


@pytest.mark.parametrize(("letter", "queue"), [("a", "sent.q"), ("b", "received.q")])
def test_a_queue_file_that_was_cut_off_loses_no_whole_line(pbs_user: SiteUser, letter: str, queue: str) -> None:
    """Row: queue file cut off. The broken line is kept in bad.q and said."""
    go = "until [ -e go ]; do sleep 0.2; done; exit 3"
    gids = [pbs_user.sent(pbs_user.submit(pbs_user.folder(f"{queue}/{name}", go), "-t", "b")) for name in "12"]
    there = [pbs_user.wait_there(gid, "Submitted", ran=1).dstdir for gid in gids]
    path = Path(HOME, queue)
    pbs_user.sh('truncate -s -40 "$1"; tail -c 1 "$1" | od -c', str(path), letter=letter, user="mg")
    for folder in there:
        pbs_user.there('touch "$1/go"', folder, user="alice")
    pbs_user.try_now(gids[0])
    job = pbs_user.wait_for(gids[0])
    assert (job["state"], job["exit"]) == ("End", "3"), job
    assert gids[1] in pbs_user.sh(f"cat {HOME}/bad.q", letter=letter, user="mg")
