"""No room at either end, a target that refuses, no account there, and a folder that goes: on PBS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.pbs.centre.act_as_user_and_service import HOME, SiteUser

pytestmark = pytest.mark.centre_faults


@contextmanager
def small_disk(user: SiteUser, letter: str, folder: str, owner: str, mib: int) -> Iterator[None]:
    """A folder on a disk of its own with so many MiB, on the cluster's server."""
    uid, gid = user.do("sh", "-c", f"id -u {owner}; id -g {owner}", letter=letter).split()
    mode = "1777" if owner == "root" else "0755"
    options = f"size={mib}m,uid={uid},gid={gid},mode={mode}"
    user.do("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder, letter=letter, user="root")
    try:
        yield
    finally:
        user.do("umount", "-l", folder, letter=letter, user="root")


@contextmanager
def queue_setting(user: SiteUser, name: str, value: str) -> Iterator[None]:
    """A setting of the target's landing queue, for a while."""
    user.do("qmgr", "-c", f"set queue global {name} = {value}", letter="b", user="root")
    try:
        yield
    finally:
        user.do("qmgr", "-c", f"unset queue global {name}", letter="b", user="root")


def test_a_target_without_room_gives_the_job_back_and_is_left_out_for_this_user(pbs_user: SiteUser) -> None:
    """Rows: no space at the target, found before anything is copied; and found by rsync as another job fills it."""
    landing = str(pbs_user.centre.clusters["b"].folder / "landing")
    large, two = pbs_user.folder("large", "exit 0"), pbs_user.folder("two", "exit 0")
    pbs_user.sh('head -c 9000000 /dev/urandom > "$1/data"', large)
    with small_disk(pbs_user, "b", landing, "root", 4):
        gid = pbs_user.sent(pbs_user.submit(large, "-t", "b"))
        job = pbs_user.wait_for(gid, "Requested")
        assert "no space" in pbs_user.record(gid).reason
        assert job["attempt"] == 2, job
        ticket = pbs_user.submit(two, "-t", "b")
        pbs_user.send()
        assert "b: has no space for this user" in pbs_user.job(ticket)["reason"], pbs_user.job(ticket)
        assert pbs_user.there('find "$1" -name data', landing, user="root") == ""
    # As after an hour: the source no longer knows.
    pbs_user.sh(f"rm {HOME}/source.json", user="mg")
    assert pbs_user.wait_for(gid)["exit"] == "0"
    assert pbs_user.wait_for(ticket)["exit"] == "0"


def test_a_disk_that_fills_up_during_the_upload_gives_the_job_back(pbs_user: SiteUser) -> None:
    """Row: no space at the target, found by rsync."""
    landing = str(pbs_user.centre.clusters["b"].folder / "landing")
    folder = pbs_user.folder("filling", "exit 0")
    pbs_user.sh('head -c 5000000 /dev/urandom > "$1/data"', folder)
    with small_disk(pbs_user, "b", landing, "root", 8), pbs_user.slow(4000):
        gid = pbs_user.sent(pbs_user.submit(folder, "-t", "b"))
        pbs_user.wait_there(gid, "Uploading")
        pbs_user.there("until pgrep -x rsync > /dev/null; do sleep 0.1; done", user="root")
        pbs_user.there('head -c 9000000 /dev/zero > "$1/filler" || true', landing, user="root")
        job = pbs_user.wait_for(gid, "Requested")
        assert "No space left on device" in pbs_user.record(gid).reason
    assert job["attempt"] == 2, job
    pbs_user.do(pbs_user.programs.path("mgstop"), gid)
    assert pbs_user.wait_for(gid)["state"] == "Stopped"


def test_results_wait_until_the_source_has_room(pbs_user: SiteUser) -> None:
    """Row: source has no room. Nothing is deleted at the target before all is proven to be back."""
    folder = pbs_user.folder("no-room", "")
    with small_disk(pbs_user, "a", folder, "alice", 2):
        pbs_user.folder("no-room", "head -c 6000000 /dev/urandom > data; exit 3")
        gid = pbs_user.sent(pbs_user.submit(folder, "-t", "b"))
        record = pbs_user.wait_there(gid, "Downloading", tries=1)
        assert "No space left on device" in record.reason, record
        assert pbs_user.there('stat -c %s "$1/data"', record.dstdir, user="alice") == "6000000\n"
        pbs_user.do("mount", "-o", "remount,size=20m", folder, user="root")
        pbs_user.try_now(gid)
        job = pbs_user.wait_for(gid)
        assert (job["state"], job["exit"], job["reason"]) == ("End", "3", ""), job
        sums = [pbs_user.sh('cksum < "$1/data"', folder)]
        sums.append(pbs_user.there('cksum < "$1/data"', record.dstdir, user="alice"))
        assert sums[0] == sums[1]


def test_a_lasting_refusal_of_the_only_candidate_aborts_with_its_answer(pbs_user: SiteUser) -> None:
    """Row: submission refused, lasting."""
    with queue_setting(pbs_user, "acl_user_enable", "True"):
        gid = pbs_user.sent(pbs_user.submit(pbs_user.folder("refused", "exit 0"), "-t", "b"))
        job = pbs_user.wait_for(gid)
    assert job["state"] == "Aborted", job
    assert "b: refused: " in job["reason"]
    assert "Unauthorized Request" in job["reason"]


def test_a_lasting_refusal_leaves_the_other_candidates(pbs_user: SiteUser) -> None:
    """Row: submission refused, lasting; the cluster is excluded for this job, which then runs at home."""
    with queue_setting(pbs_user, "acl_user_enable", "True"):
        with pbs_user.full():
            gid = pbs_user.sent(pbs_user.submit(pbs_user.folder("refused-any", "exit 4")))
            job = pbs_user.wait_for(gid, "Requested")
            assert job["attempt"] == 2, job
        job = pbs_user.wait_for(gid)
    assert (job["state"], job["exit"], job["dst"]) == ("End", "4", "a"), job


def test_a_busy_scheduler_is_tried_again(pbs_user: SiteUser) -> None:
    """Row: submission refused, busy."""
    gid = pbs_user.sent(pbs_user.submit(pbs_user.folder("busy", "exit 4"), "-t", "b"))
    with queue_setting(pbs_user, "max_queued", '"[u:PBS_GENERIC=0]"'):
        record = pbs_user.wait_there(gid, "Submitted", tries=1)
        assert "tried again: busy: " in record.reason
        assert record.localid == ""
    pbs_user.try_now(gid)
    job = pbs_user.wait_for(gid)
    assert (job["state"], job["exit"], job["reason"]) == ("End", "4", ""), job


def test_a_user_without_an_account_there_is_told_so_and_the_job_stays(pbs_user: SiteUser) -> None:
    """Row: user unknown."""
    with pbs_user.cluster_file("b", '$a[here.users.a]\\nalice = ""'):
        ticket = pbs_user.submit(pbs_user.folder("no-account", "exit 0"), "-t", "b")
        pbs_user.send()
        job = pbs_user.job(ticket)
        assert (job["state"], job["reason"]) == ("Aborted", "b: no account"), job


def test_a_job_is_another_users_there(pbs_user: SiteUser) -> None:
    """Accounts of other names: alice is bob there, and her results are hers again."""
    folder = pbs_user.folder("as-bob", "id -un > who")
    with pbs_user.cluster_file("b", '$a[here.users.a]\\nalice = "bob"'):
        job = pbs_user.wait_for(pbs_user.submit(folder, "-t", "b"))
    assert (job["state"], job["exit"]) == ("End", "0"), job
    assert pbs_user.read(f"{folder}/who") == "bob\n"
    assert pbs_user.sh('stat -c %U "$1/who"', folder) == "alice\n"


def test_a_folder_that_is_gone_before_the_upload_aborts(pbs_user: SiteUser) -> None:
    """Row: upload breaks, source directory gone."""
    folder = pbs_user.folder("gone", "exit 0")
    gid = pbs_user.sent(pbs_user.submit(folder, "-t", "b"))
    pbs_user.sh('rm -r "$1"', folder)
    job = pbs_user.wait_for(gid)
    assert job["state"] == "Aborted", job
    assert folder in job["reason"], job


def test_an_upload_that_takes_too_long_is_given_back(pbs_user: SiteUser) -> None:
    """Row: upload breaks, until upload_timeout_s."""
    folder = pbs_user.folder("too-long", "exit 0")
    pbs_user.sh('head -c 6000000 /dev/urandom > "$1/data"', folder)
    with pbs_user.cluster_file("b", "$a[limits]\\nupload_timeout_s = 5"), pbs_user.slow(2000):
        gid = pbs_user.sent(pbs_user.submit(folder, "-t", "b"))
        record = pbs_user.wait_there(gid, "Uploading", tries=1)
        assert "killed after" in record.reason, record
        pbs_user.try_now(gid)
        # The pass that hears of it may hand it over again at once: its user has named the target.
        pbs_user.wait_for(gid, "Requested", "Waiting", "Uploading", attempt=2)
        log = pbs_user.there('cat "$1"', f"{HOME}/jobs/{gid}/upload.log")
        assert "Uploading -> Requested: not uploaded within 5 s" in log
    assert pbs_user.wait_for(gid)["exit"] == "0"
