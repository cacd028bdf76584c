"""The simulated server: a job's life, arrays, vnodes that fail, and what hooks refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.pbs_server.hook_calls_interface import HookRejection
from sim.pbs_server.objects import errors as pbs_error
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.objects.jobs import SimJob, read_indices, show_indices
from sim.pbs_server.requests.status_requests import stat_jobs, stat_queues, stat_vnodes
from sim.pbs_server.server import SimServer
from tests.sim.pbs_server.vnode_that_recovers import BEGIN_S, ONE_CORE, recover_vnode

TWO_CORES = {"Resource_List.select": "1:ncpus=2:mem=1gb", "Resource_List.walltime": "00:10:00"}


@pytest.fixture
def server() -> SimServer:
    """Two vnodes of four cores, one queue."""
    made = SimServer("sim", Clock(BEGIN_S))
    made.add_queue("workq")
    for name in ("v1", "v2"):
        made.add_vnode(name, {"ncpus": "4", "mem": "16gb"})
    return made


def texts(server: SimServer, job_id: str) -> dict[str, str]:
    return dict(stat_jobs(server, job_id, "x")[0][1])


def wait(server: SimServer, seconds: float) -> None:
    server.clock.run_until(server.clock.now_s + seconds)


def vnode(server: SimServer, name: str) -> dict[str, str]:
    return dict(stat_vnodes(server, name)[0][1])


def refusal(error: pytest.ExceptionInfo[PbsError]) -> int:
    return error.value.code


def test_a_job_waits_runs_its_true_time_and_is_remembered(server: SimServer) -> None:
    job = server.submit("alice", "chem", TWO_CORES, run_s=60.0)
    assert texts(server, job)["job_state"] == "Q"
    server.run_job(job, "(v1:ncpus=2:mem=1048576kb)")
    assert texts(server, job)["job_state"] == "R"
    assert vnode(server, "v1")["resources_assigned.ncpus"] == "2"
    wait(server, 59)
    assert texts(server, job)["job_state"] == "R"
    wait(server, 1)
    ended = texts(server, job)
    assert (ended["job_state"], ended["Exit_status"]) == ("F", "0")
    assert vnode(server, "v1")["resources_assigned.ncpus"] == "0"
    assert stat_jobs(server) == []


def test_the_request_is_worked_out_as_pbs_does(server: SimServer) -> None:
    job = texts(server, server.submit("a", "g", {"Resource_List.select": "2:ncpus=3:mem=1gb+mem=2gb"}, 1.0))
    assert job["schedselect"] == "2:ncpus=3:mem=1gb+1:mem=2gb:ncpus=1"
    assert job["Resource_List.ncpus"] == "7"
    assert job["Resource_List.nodect"] == "3"
    assert job["Resource_List.mem"] == f"{4 << 20}kb"
    assert job["Resource_List.place"] == "free"


def test_a_job_without_select_gets_one(server: SimServer) -> None:
    job = texts(server, server.submit("a", "g", {"Resource_List.ncpus": "2"}, 1.0))
    assert (job["Resource_List.select"], job["Resource_List.place"]) == ("1:ncpus=2", "pack")


def test_a_job_is_killed_at_its_walltime(server: SimServer) -> None:
    job = server.submit("alice", "chem", TWO_CORES, run_s=3600.0)
    server.run_job(job, "(v1:ncpus=2)")
    wait(server, 600)
    ended = texts(server, job)
    assert (ended["job_state"], ended["Exit_status"]) == ("F", "-29")
    assert ended["comment"].endswith(" and exceeded resource walltime")


def test_a_requeued_job_keeps_its_age_and_begins_anew(server: SimServer) -> None:
    job = server.submit("alice", "chem", TWO_CORES, run_s=300.0)
    before = texts(server, job)
    server.run_job(job, "(v1:ncpus=2)")
    wait(server, 200)
    server.rerun_job(job)
    requeued = texts(server, job)
    assert requeued["job_state"] == "Q"
    assert (requeued["qtime"], requeued["etime"], requeued["run_count"]) == (before["qtime"], before["etime"], "1")
    assert not {"exec_vnode", "exec_host", "stime"} & requeued.keys()
    assert vnode(server, "v1")["state"] == "free"
    server.run_job(job, "(v2:ncpus=2)")
    wait(server, 299)
    assert texts(server, job)["job_state"] == "R"
    wait(server, 1)
    assert texts(server, job)["job_state"] == "F"


def test_a_job_that_may_not_be_rerun_is_not(server: SimServer) -> None:
    job = server.submit("alice", "chem", {**TWO_CORES, "Rerunable": "n"}, 60.0)
    server.run_job(job, "(v1:ncpus=2)")
    with pytest.raises(PbsError) as error:
        server.rerun_job(job)
    assert refusal(error) == pbs_error.NOT_RERUNNABLE
    assert texts(server, job)["job_state"] == "R"


def test_nothing_is_checked_when_a_job_is_started(server: SimServer) -> None:
    for _ in range(3):
        server.run_job(server.submit("alice", "chem", TWO_CORES, 60.0), "(v1:ncpus=2)")
    assert vnode(server, "v1")["resources_assigned.ncpus"] == "6"
    assert vnode(server, "v1")["state"] == "job-busy"


def test_a_chunk_over_several_vnodes_is_counted_on_each(server: SimServer) -> None:
    job = server.submit("alice", "chem", {"Resource_List.select": "1:ncpus=6"}, 60.0)
    server.run_job(job, "(v1:ncpus=4+v2:ncpus=2)")
    assert texts(server, job)["exec_vnode"] == "(v1:ncpus=4+v2:ncpus=2)"
    assert [vnode(server, name)["resources_assigned.ncpus"] for name in ("v1", "v2")] == ["4", "2"]
    wait(server, 61)
    assert [vnode(server, name)["resources_assigned.ncpus"] for name in ("v1", "v2")] == ["0", "0"]


def test_a_vnode_that_is_named_without_resources_is_held_alone_too(server: SimServer) -> None:
    alone = {"Resource_List.select": "1:ncpus=1", "Resource_List.place": "free:exclhost"}
    server.run_job(server.submit("alice", "chem", alone, 60.0), "(v1:ncpus=1)+(v2)")
    assert [vnode(server, name)["state"] for name in ("v1", "v2")] == ["job-exclusive", "job-exclusive"]


def test_an_exclusive_job_shows_on_its_vnode(server: SimServer) -> None:
    job = server.submit("alice", "chem", {**ONE_CORE, "Resource_List.place": "free:excl"}, 60.0)
    server.run_job(job, "(v1:ncpus=1)")
    assert vnode(server, "v1")["state"] == "job-exclusive"


def test_a_held_job_waits_until_it_is_released(server: SimServer) -> None:
    job = server.submit("alice", "chem", {**ONE_CORE, "Hold_Types": "u"}, 60.0)
    server.hold_job(job, "s")
    server.release_job(job, "u")
    assert texts(server, job)["job_state"] == "H"
    server.release_job(job, "s")
    assert (texts(server, job)["job_state"], texts(server, job)["Hold_Types"]) == ("Q", "n")


def test_a_job_with_a_start_time_waits_for_it(server: SimServer) -> None:
    job = server.submit("alice", "chem", {**ONE_CORE, "Execution_Time": str(int(BEGIN_S + 100))}, 60.0)
    wait(server, 99)
    assert texts(server, job)["job_state"] == "W"
    wait(server, 1)
    assert texts(server, job)["job_state"] == "Q"


@pytest.mark.parametrize(("exit_status", "state"), [(0, "Q"), (1, "F")])
def test_a_job_that_needs_anothers_success(server: SimServer, exit_status: int, state: str) -> None:
    first = server.submit("alice", "chem", ONE_CORE, 60.0, exit_status)
    then = server.submit("alice", "chem", {**ONE_CORE, "depend": f"afterok:{first}"}, 60.0)
    assert texts(server, then)["job_state"] == "H"
    server.run_job(first, "(v1:ncpus=1)")
    wait(server, 60)
    assert texts(server, then)["job_state"] == state


def test_a_moved_job_is_the_youngest_where_it_comes(server: SimServer) -> None:
    server.add_queue("other")
    job = server.submit("alice", "chem", ONE_CORE, 60.0)
    wait(server, 50)
    server.move_job(job, "other")
    moved = texts(server, job)
    assert (moved["queue"], moved["qtime"], moved["etime"]) == ("other", str(int(BEGIN_S + 50)), str(int(BEGIN_S)))
    assert dict(stat_queues(server, "workq")[0][1])["total_jobs"] == "0"


def test_subjobs_of_an_array_run_one_by_one(server: SimServer) -> None:
    array = server.submit("alice", "chem", {**ONE_CORE, "array_indices_submitted": "1-4"}, 60.0)
    server.run_job(array.replace("[]", "[2]"), "(v1:ncpus=1)")
    parent = texts(server, array)
    assert (parent["job_state"], parent["array_indices_remaining"]) == ("B", "1,3-4")
    names = [name for name, _ in stat_jobs(server, extend="t")]
    assert names == ["0[].sim", "0[1].sim", "0[2].sim", "0[3].sim", "0[4].sim"]
    server.rerun_job("0[2].sim")
    assert texts(server, array)["array_indices_remaining"] == "1-4"
    for index in (1, 2, 3, 4):
        server.run_job(f"0[{index}].sim", "(v1:ncpus=1)")
    wait(server, 60)
    assert texts(server, array)["job_state"] == "F"
    assert texts(server, array)["array_indices_remaining"] == "-"


@pytest.mark.parametrize(
    ("walltime", "exit_status", "deleted", "expected"),
    [
        ("00:10:00", 0, None, ("0", "92", "finished", "Q")),
        ("00:10:00", 3, None, ("1", "93", "failed", "F")),
        ("00:00:50", 0, None, ("2", "93", "failed", "F")),
        ("00:10:00", 0, 1, ("0", "91", "terminated", "Q")),  # the last one ended with 0
        ("00:10:00", 0, 2, ("1", "91", "terminated", "F")),
    ],
)
def test_an_array_ends_as_its_last_subjob_does_and_so_do_jobs_behind_it(
    server: SimServer, walltime: str, exit_status: int, deleted: int | None, expected: tuple[str, ...]
) -> None:
    """A substate of 91 is deleted, 92 finished, 93 failed: that of the first subjob that did not finish."""
    asked = {**ONE_CORE, "Resource_List.walltime": walltime, "array_indices_submitted": "1-2"}
    array = server.submit("alice", "chem", asked, 60.0, exit_status=exit_status)
    behind = server.submit("alice", "chem", {**ONE_CORE, "depend": f"afterok:{array}"}, 60.0)
    for index in (1, 2):
        subjob = array.replace("[]", f"[{index}]")
        server.run_job(subjob, "(v1:ncpus=1)")
        if index == deleted:
            server.delete_job(subjob)
        wait(server, 61)
    ended = texts(server, array)
    assert ended["job_state"] == "F"
    found = (ended["Exit_status"], ended["substate"], ended["comment"].rpartition(" ")[2])
    assert (*found, texts(server, behind)["job_state"]) == expected


def test_an_array_is_deleted_with_its_subjobs(server: SimServer) -> None:
    array = server.submit("alice", "chem", {**ONE_CORE, "array_indices_submitted": "1-4"}, 60.0)
    server.run_job("0[1].sim", "(v1:ncpus=1)")
    server.delete_job(array)
    assert texts(server, array)["job_state"] == "F"
    assert vnode(server, "v1")["resources_assigned.ncpus"] == "0"


def test_the_jobs_of_a_vnode_that_stays_down_are_requeued(server: SimServer) -> None:
    job = server.submit("alice", "chem", TWO_CORES, 5000.0)
    server.run_job(job, "(v1:ncpus=1)+(v2:ncpus=1)")
    server.fail_vnode("v2")
    assert vnode(server, "v2")["state"] == "down"
    wait(server, 309)
    assert texts(server, job)["job_state"] == "R"
    wait(server, 1)
    assert texts(server, job)["job_state"] == "Q"
    assert vnode(server, "v1")["resources_assigned.ncpus"] == "0"


def test_the_jobs_of_a_vnode_that_comes_back_run_on(server: SimServer) -> None:
    job = server.submit("alice", "chem", ONE_CORE, 5000.0)
    server.run_job(job, "(v2:ncpus=1)")
    server.fail_vnode("v2")
    wait(server, 100)
    recover_vnode(server, "v2")
    wait(server, 300)
    assert texts(server, job)["job_state"] == "R"


def test_a_vnode_that_failed_again_gets_its_whole_time_again(server: SimServer) -> None:
    job = server.submit("alice", "chem", ONE_CORE, 5000.0)
    server.run_job(job, "(v2:ncpus=1)")
    server.fail_vnode("v2")
    wait(server, 200)
    recover_vnode(server, "v2")
    server.fail_vnode("v2")
    wait(server, 200)
    assert texts(server, job)["job_state"] == "R"
    wait(server, 110)
    assert texts(server, job)["job_state"] == "Q"


def test_ended_jobs_are_forgotten_after_the_history_duration(server: SimServer) -> None:
    server.texts["job_history_duration"] = "01:00:00"
    first = server.submit("alice", "chem", ONE_CORE, 60.0)
    server.delete_job(first)
    wait(server, 3601)
    server.delete_job(server.submit("alice", "chem", ONE_CORE, 60.0))
    with pytest.raises(PbsError) as error:
        stat_jobs(server, first, "x")
    assert refusal(error) == pbs_error.UNKNOWN_JOB


REFUSED = [
    ({"queue": "nosuch"}, "Unknown queue"),
    ({"queue": "closed"}, "Queue is not enabled"),
    ({"Resource_List.select": "1:nosuch=1"}, "Unknown resource: nosuch"),
    ({"Resource_List.nosuch": "1"}, "Unknown resource Resource_List.nosuch"),
    ({"Resource_List.select": "1:ncpus=x"}, "Illegal attribute or resource value select.ncpus"),
    ({"Resource_List.walltime": "x"}, "Illegal attribute or resource value Resource_List.walltime"),
    ({"Resource_List.place": "x"}, "Illegal attribute or resource value Resource_List.place"),
    ({"nosuch": "1"}, "Undefined attribute "),
    ({"array_indices_submitted": "5-1"}, "Illegal attribute or resource value array_indices_submitted"),
    ({"array_indices_submitted": "7"}, "Illegal attribute or resource value array_indices_submitted"),
    ({"array_indices_submitted": "1-5:0"}, "Illegal attribute or resource value array_indices_submitted"),
    ({"array_indices_submitted": "1-3,7-9"}, "Illegal attribute or resource value array_indices_submitted"),
    ({"array_indices_submitted": "1-5%2"}, "Illegal attribute or resource value array_indices_submitted"),
]


@pytest.mark.parametrize(("asked", "words"), REFUSED)
def test_what_pbs_refuses_is_refused_in_its_words(server: SimServer, asked: dict[str, str], words: str) -> None:
    server.add_queue("closed", enabled="False")
    with pytest.raises(PbsError) as error:
        server.submit("alice", "chem", asked, 60.0)
    assert error.value.text == words
    assert server.jobs == {}


class Refusing:
    """Hooks that refuse everything, and remember what they saw."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def queuejob(self, user: str, attributes: dict[str, str]) -> None:
        self.seen.append(user)
        if attributes["Job_Name"] == "unwanted":
            raise HookRejection("we do not want it")
        attributes["Resource_List.soft_walltime"] = "60"

    def modifyjob(self, user: str, job: SimJob, changes: dict[str, str]) -> None:
        raise HookRejection("not altered")

    def runjob(self, job: SimJob, exec_vnode: str) -> None:
        self.seen.append(exec_vnode)
        raise HookRejection("no room")


def test_hooks_may_refuse_and_change(server: SimServer) -> None:
    server.hooks = hooks = Refusing()
    with pytest.raises(PbsError, match="we do not want it"):
        server.submit("alice", "chem", {"Job_Name": "unwanted"}, 60.0)
    job = server.submit("bob", "bio", ONE_CORE, 60.0)
    assert texts(server, job)["Resource_List.soft_walltime"] == "00:01:00"
    before = texts(server, job)
    with pytest.raises(PbsError, match="no room"):
        server.run_job(job, "(v1:ncpus=1)")
    assert texts(server, job) == before
    assert hooks.seen == ["alice", "bob", "(v1:ncpus=1)"]


def test_a_subjob_whose_start_was_refused_still_waits(server: SimServer) -> None:
    array = server.submit("alice", "chem", {**ONE_CORE, "array_indices_submitted": "1-2"}, 60.0)
    server.hooks = Refusing()
    with pytest.raises(PbsError, match="no room"):
        server.run_job("0[1].sim", "(v1:ncpus=1)")
    assert (texts(server, array)["job_state"], texts(server, array)["array_indices_remaining"]) == ("Q", "1-2")


def test_an_alteration_that_is_refused_changes_nothing(server: SimServer) -> None:
    job = server.submit("alice", "chem", ONE_CORE, 60.0)
    before = texts(server, job)
    with pytest.raises(PbsError) as error:
        server.alter_job(job, {"comment": "new", "nosuch": "1"})
    assert refusal(error) == pbs_error.UNDEFINED_ATTRIBUTE
    assert texts(server, job) == before


def test_status_read_before_a_change_stays_as_it_was(server: SimServer) -> None:
    job = server.submit("alice", "chem", ONE_CORE, 60.0)
    given_before = stat_jobs(server, job)[0][1]
    server.run_job(job, "(v1:ncpus=1)")
    assert given_before["job_state"] == "Q"


@given(st.sets(st.integers(0, 50), min_size=1), st.integers(1, 4))
def test_indices_read_back_are_those_shown(indices: set[int], step: int) -> None:
    shown = show_indices(indices, step)
    assert {index for part in shown.split(",") for index in _read_part(part)} == indices


def _read_part(part: str) -> tuple[int, ...]:
    return read_indices(part) if "-" in part else (int(part),)
