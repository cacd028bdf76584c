"""What is counted from a picture: every job once, arrays by their subjobs, vnodes by what they are."""

from __future__ import annotations

from hooks.pbs.job_attributes.job_ids_and_states import is_subjob
from tests.tui.scripted_server import a_job, a_server_status, running, with_job
from tui.model.status_counts import count, folded
from tui.model.typed_attributes import soft_limits, subjobs_waiting, vnode_state, vnodes_of


def test_jobs_are_counted_by_state_with_arrays_by_their_waiting_subjobs() -> None:
    server_status = with_job(a_server_status(), "16[3].hpc1", running("dave", 1, "v2"))
    counts = count(server_status.jobs, server_status.vnodes, "ncpus")
    assert counts.states == {"R": 3, "Q": 2 + 10, "H": 1}
    assert counts.subjobs_running == {"16[].hpc1": 1}
    assert folded(server_status.jobs) == (["11.hpc1", "12.hpc1"], ["13.hpc1", "14.hpc1", "16[].hpc1"], ["15.hpc1"])


def test_use_is_counted_for_each_user_in_each_queue() -> None:
    server_status = with_job(a_server_status(), "20.hpc1", running("alice", 2, "v2", queue="gpu"))
    users = count(server_status.jobs, server_status.vnodes, "ncpus").users
    assert (users["workq", "alice"].cores, users["gpu", "alice"].cores) == (12, 2)
    assert (users["workq", "carol"].waiting, users["workq", "carol"].waiting_cores) == (2, 66)


def test_a_suspended_job_uses_no_cores() -> None:
    server_status = with_job(a_server_status(), "12.hpc1", {**a_server_status().jobs["12.hpc1"], "job_state": "S"})
    counts = count(server_status.jobs, server_status.vnodes, "ncpus")
    assert (counts.users["workq", "alice"].cores, counts.users["workq", "alice"].running) == (8, 2)


def test_cores_are_counted_on_vnodes_that_are_up() -> None:
    server_status = a_server_status()
    vnodes = count(server_status.jobs, server_status.vnodes, "ncpus").vnodes
    assert (vnodes.used, vnodes.total, vnodes.busy, vnodes.free) == (12, 16, 2, 0)
    assert vnodes.not_up == {"offline": ["v3"]}


def test_cores_of_jobs_on_vnodes_that_are_not_up_are_counted_apart() -> None:
    server_status = a_server_status()
    off = {**server_status.vnodes, "v2": {**server_status.vnodes["v2"], "state": "offline,job-busy"}}
    vnodes = count(server_status.jobs, off, "ncpus").vnodes
    assert (vnodes.used, vnodes.total, vnodes.used_not_up) == (8, 8, 4)


def test_a_vnode_says_its_state_in_a_letter_and_in_words() -> None:
    letters = {
        "free": "",
        "job-busy": "",
        "job-exclusive": "x",
        "offline": "o",
        "down,offline": "d",
        "state-unknown,down": "d",
        "state-unknown": "?",
        "Stale": "d",
        "": "?",
        "resv-exclusive": "r",
        "wondrous": "?",
    }
    assert {state: vnode_state({"state": state}).letter for state in letters} == letters
    assert not vnode_state({"state": "wondrous"}).up


def test_subjobs_that_wait_are_counted_from_ranges() -> None:
    waiting = {"0-9": 10, "3": 1, "0-8:2,11": 6, "": 0, "nonsense": 0}
    assert {text: subjobs_waiting({"array_indices_remaining": text}) for text in waiting} == waiting


def test_only_a_numbered_index_is_a_subjob() -> None:
    assert [is_subjob(job_id) for job_id in ("12[3].s", "12[].s", "12.s")] == [True, False, False]


def test_vnodes_are_read_from_exec_vnode_each_once() -> None:
    assert vnodes_of("(v1:ncpus=2+v2:ncpus=1)+(v1:ncpus=2)") == ("v1", "v2")


def test_an_unreadable_quota_counts_as_none() -> None:
    assert not soft_limits({"max_run_res_soft.ncpus": "[alice:lots]"}, "ncpus")


def test_a_job_of_which_nothing_is_known_is_counted_and_does_not_break_the_count() -> None:
    server_status = with_job(a_server_status(), "99.hpc1", {"queue": "workq", "Resource_List.ncpus": "many"})
    assert count(server_status.jobs, server_status.vnodes, "ncpus").states["?"] == 1


def test_the_counts_agree_with_one_another() -> None:
    server_status = with_job(a_server_status(), "20.hpc1", a_job("erin", 3, "W"))
    counts = count(server_status.jobs, server_status.vnodes, "ncpus")
    waiting = sum(use.waiting for use in counts.users.values())
    assert waiting == sum(counts.states[state] for state in "QHW")
    assert sum(use.cores for use in counts.users.values()) == sum(use.cores for use in counts.groups.values())
