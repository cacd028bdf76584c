"""Files that their user has closed, and processes that their user stops: what they cost the others, on PBS."""

from __future__ import annotations

import pytest

from tests.pbs.centre.act_as_user_and_service import SiteUser

pytestmark = pytest.mark.centre_faults


def test_a_closed_file_aborts_its_job_and_keeps_no_core_from_others(pbs_user: SiteUser) -> None:
    closed, open_ = pbs_user.folder("closed", "exit 0"), pbs_user.folder("open", "exit 0")
    pbs_user.sh('echo x > "$1/shut"; chmod 000 "$1/shut"', closed)
    gid = pbs_user.sent(pbs_user.submit(closed, "-t", "b", cores=pbs_user.cores("b")))
    job = pbs_user.wait_for(gid, "Aborted")
    assert job["reason"] == "shut: cannot be opened by its user"
    assert pbs_user.wait_for(pbs_user.submit(open_, "-t", "b", cores=pbs_user.cores("b")))["exit"] == "0"


def test_an_upload_that_is_tried_again_keeps_no_core_from_others(pbs_user: SiteUser) -> None:
    """The file is closed after the folder was looked through, so that rsync fails."""
    first, other = pbs_user.folder("first", "exit 0"), pbs_user.folder("other", "exit 0")
    pbs_user.sh('head -c 3000000 /dev/urandom > "$1/a"; cp "$1/a" "$1/z"', first)
    gid = pbs_user.sent(pbs_user.submit(first, "-t", "b", cores=pbs_user.cores("b")))
    with pbs_user.slow(2000):
        pbs_user.receive()
        landing = str(pbs_user.centre.clusters["b"].folder / "landing")
        pbs_user.wait_until_silent("b", f'find {landing} -name ".a.*" | grep -q . || echo nothing', user="root")
        pbs_user.sh('chmod 000 "$1/z"', first)
        record = pbs_user.wait_there(gid, "Uploading", tries=1)
    assert "Permission denied" in record.reason
    assert pbs_user.wait_for(pbs_user.submit(other, "-t", "b", cores=pbs_user.cores("b")))["exit"] == "0"
    pbs_user.try_now(gid)
    assert pbs_user.wait_for(gid, "Aborted")["reason"] == "z: cannot be opened by its user"


_STOPS = """
import os, signal, sys, time
seen, until = set(), time.monotonic() + 240
def find_host(pid):
    return os.readlink(f"/proc/{pid}/ns/net")
while time.monotonic() < until and not os.path.exists(sys.argv[1]):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if pid in seen or int(pid) == os.getpid() or find_host(pid) != find_host("self"):
                continue
            if b"qsub" in open(f"/proc/{pid}/cmdline", "rb").read():
                seen.add(pid)
                os.kill(int(pid), signal.SIGSTOP)
                time.sleep(9)
                os.kill(int(pid), signal.SIGCONT)
        except OSError:
            pass
    time.sleep(0.002)
"""
"""Stops each ``qsub`` of its user's on its host for nine seconds, less than it may take, until there is the file that
it is given."""


def _count_left_out(pbs_user: SiteUser) -> int:
    return sum("tried again in some minutes" in job["reason"] for job in pbs_user.jobs())


def test_a_user_who_holds_requests_to_pbs_costs_a_pass_a_share_of_its_time(pbs_user: SiteUser) -> None:
    """Each of six requests takes nine seconds: after two of them the user's share is used up."""
    folder, other = pbs_user.folder("held", "exit 0"), pbs_user.folder("other", "exit 0")
    pbs_user.do("sh", "-c", 'setsid python3 -c "$1" "$2" >/dev/null 2>&1 &', "sh", _STOPS, f"{folder}/end")
    for _ in range(6):
        pbs_user.submit(folder, "-t", "local")
    pbs_user.send()
    assert 3 <= _count_left_out(pbs_user) <= 5
    pbs_user.submit(other, "-t", "local")
    before = _count_left_out(pbs_user)
    pbs_user.send()
    assert _count_left_out(pbs_user) == before + 1, "left out of the next pass too"
    pbs_user.do("touch", f"{folder}/end")


def test_folders_and_files_that_a_job_closes_keep_no_result_back(pbs_user: SiteUser) -> None:
    script = "mkdir ro; echo r > ro/r.txt; chmod 555 ro; echo s > shut; chmod 000 shut; echo o > other"
    folder = pbs_user.folder("closes", script)
    job = pbs_user.wait_for(pbs_user.submit(folder, "-t", "b"))
    assert (job["state"], job["exit"]) == ("End", "0")
    assert job["reason"] == "left at b, since the job has closed them to its user: shut"
    shown = 'cd "$1"; cat ro/r.txt other; stat -c %a ro; ls -A'
    assert pbs_user.sh(shown, folder).split()[:3] == ["r", "o", "555"]
    assert "shut" not in pbs_user.sh(shown, folder)


def test_a_user_at_max_queued_is_tried_once_a_pass(pbs_user: SiteUser) -> None:
    folder = pbs_user.folder("queued", "sleep 600")
    limit = "set queue workq max_queued = [u:alice=1]"
    pbs_user.do("qmgr", "-c", limit, user="root")
    try:
        for _ in range(8):
            pbs_user.submit(folder, "-t", "local")
        passes = [pbs_user.send() for _ in range(2)]
    finally:
        pbs_user.do("qmgr", "-c", "unset queue workq max_queued", user="root")
    assert [said.count("Requested again") for said in passes] == [1, 1], passes
    assert [job["state"] for job in pbs_user.jobs()].count("Submitted") == 1
