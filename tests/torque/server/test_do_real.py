"""What administrators do, on a real Torque server: each verb as ``pbsteer do``, and what must not happen by it."""

from __future__ import annotations

import sys
import time

from tests.torque.cluster import TorqueCluster
from tests.torque.server.pbsteer_on_torque import ROOT, audited, do, pbsteer, pbsteer_as

_SHORT = "[torque]\ntimeout_s = 4\n"


def short(job_id: str) -> str:
    return job_id.partition(".")[0]


def test_jobs_are_held_released_moved_given_a_priority_and_a_walltime(torque: TorqueCluster) -> None:
    torque.qmgr("create queue other queue_type = execution")
    job_id = torque.qsub("alice", "nodes=1:ppn=8")
    preview = pbsteer(torque, "do", "hold", job_id, "--preview").demand_success().stdout
    assert f"qhold -h o {job_id}" in preview
    assert "would no longer start" in preview
    assert torque.state_of(job_id) == "Q"
    assert "done, verified" in do(torque, "hold", job_id)
    assert (torque.state_of(job_id), torque.jobs()[job_id]["Hold_Types"]) == ("H", "o")
    do(torque, "release", short(job_id))
    assert (torque.state_of(job_id), torque.jobs()[job_id]["Hold_Types"]) == ("Q", "n")
    do(torque, "priority", "-5", job_id)
    do(torque, "walltime", "2h", job_id)
    do(torque, "comment", job_id, "text:see me")
    do(torque, "enable", "other")
    do(torque, "move", "other", job_id)
    job = torque.jobs()[job_id]
    assert (job["Priority"], job["Resource_List.walltime"], job["queue"]) == ("-5", "02:00:00", "other")
    assert job["comment"] == "see me"
    assert ("done", f"qmove other {job_id}") in audited(torque)
    pbsteer(torque, "do", "delete", job_id, "--confirm", short(job_id)).demand_success()
    torque.wait_until(lambda: torque.state_of(job_id) in {"", "C"}, "the job is deleted")


def test_a_run_is_started_suspended_resumed_and_requeued(torque: TorqueCluster) -> None:
    job_id = torque.qsub("bob", "nodes=2:ppn=2")
    do(torque, "run", job_id)
    torque.wait_for_state(job_id, "R")
    assert sorted(torque.jobs()[job_id]["exec_host"].split("+")) == [f"{name}/0-1" for name in torque.mom_names]
    do(torque, "suspend", job_id)
    assert torque.state_of(job_id) == "S"
    do(torque, "resume", job_id)
    assert torque.state_of(job_id) == "R"
    pbsteer(torque, "do", "requeue", job_id, "--confirm", short(job_id)).demand_success()
    assert torque.state_of(job_id) == "Q"


def test_the_walltime_of_a_running_job_is_set_although_torque_never_answers(torque: TorqueCluster) -> None:
    job_id = torque.start("bob")
    done = pbsteer(torque, "do", "walltime", "2h", job_id, "--yes", settings=_SHORT)
    assert "done, verified, though Torque said: qalter: the server did not answer within 4 s" in done.stdout
    assert torque.jobs()[job_id]["Resource_List.walltime"] == "02:00:00"


def test_a_job_that_has_ended_is_not_requeued_which_would_run_it_again(torque: TorqueCluster) -> None:
    failed = torque.qsub("bob", script="exit 3\n")
    torque.qrun(failed)
    torque.wait_for_state(failed, "C")
    assert pbsteer(torque, "do", "requeue", failed, "--confirm", short(failed)).status != 0
    # A job may end between the question and the answer, so the deed itself looks too.
    deleted = torque.start("bob")
    assert f"qrerun {deleted}" in pbsteer(torque, "do", "requeue", deleted, "--preview").demand_success().stdout
    torque.run(["qdel", deleted]).demand_success()
    torque.wait_for_state(deleted, "C")
    for job_id in (failed, deleted):
        assert "does not run, and Torque runs a job again" in rerun_by_backend(torque, job_id)
        assert (torque.state_of(job_id), torque.jobs()[job_id]["start_count"]) == ("C", "1")


def rerun_by_backend(torque: TorqueCluster, job_id: str) -> str:
    """What the backend says to a qrerun, without the checks of the command line before it."""
    program = (
        "import os, sys; from policy import Settings; from tui.backends.find_torque import find_torque;"
        "from tui.backends.torque.server import TorqueBackend;"
        "print(TorqueBackend(find_torque(os.environ), Settings()).run(('qrerun', sys.argv[1])))"
    )
    argv = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", program, job_id]
    return torque.run(argv).demand_success().stdout


def test_a_silent_mom_blocks_nobody_for_longer_than_the_setting(torque: TorqueCluster) -> None:
    job_id = torque.start("bob", "nodes=1", where=f"{torque.mom_names[0]}:ppn=1")
    torque.run(["pkill", "-STOP", "-x", "pbs_mom"], host="m1").demand_success()
    try:
        began_s = time.monotonic()
        done = pbsteer(torque, "do", "requeue", job_id, "--confirm", short(job_id), settings=_SHORT)
        took_s = time.monotonic() - began_s
        status = pbsteer(torque, "status", settings=_SHORT)
        both_took_s = time.monotonic() - began_s
    finally:
        torque.run(["pkill", "-CONT", "-x", "pbs_mom"], host="m1").demand_success()
    assert done.status == 1
    assert "sent, but not confirmed: qrerun" in done.stdout + done.stderr
    # Torque's own qrerun waits for five minutes.
    assert took_s < 60.0
    assert both_took_s < 120.0
    # The server polls the MoMs of running jobs, and now and then answers no request while it waits for this one.
    assert status.status == 0 or "does not answer" in status.stderr, status
    assert audited(torque)[-1] == ("unconfirmed", f"qrerun {job_id}")


def test_arrays_are_held_released_and_deleted_as_one(torque: TorqueCluster) -> None:
    array = torque.qsub("dave", "nodes=1", "-t", "0-3%2")
    subjobs = [array.replace("[]", f"[{index}]") for index in range(4)]
    torque.wait_until(lambda: set(subjobs) <= torque.jobs().keys(), "the subjobs")
    do(torque, "hold", array)
    assert all("o" in torque.jobs()[job_id]["Hold_Types"] for job_id in subjobs)
    do(torque, "release", array)
    assert [torque.state_of(job_id) for job_id in subjobs] == ["Q", "Q", "H", "H"]
    pbsteer(torque, "do", "delete", array, "--confirm", short(array)).demand_success()
    torque.wait_until(lambda: all(torque.state_of(job_id) in {"", "C"} for job_id in subjobs), "the array is deleted")


def test_a_dependency_is_not_released(torque: TorqueCluster) -> None:
    first = torque.start("alice")
    second = torque.qsub("alice", "nodes=1", "-W", f"depend=afterok:{first}")
    done = pbsteer(torque, "do", "release", second, "--yes")
    assert done.status != 0
    assert "waits for another job (afterok " in done.stderr
    done = pbsteer(torque, "do", "run", second, "--yes")
    assert done.status != 0
    assert torque.state_of(second) == "H"


def test_nodes_go_offline_and_back_and_queues_stop_and_start(torque: TorqueCluster) -> None:
    node = torque.mom_names[1]
    torque.start("alice", where=f"{node}:ppn=1")
    do(torque, "offline", node, "reason:disk is broken")
    output = torque.run(["pbsnodes", "-x", node]).stdout
    assert "offline" in output
    assert "disk is broken</note>" in output
    do(torque, "clear", node)
    assert "offline" not in torque.run(["pbsnodes", "-x", node]).stdout
    for verb, attribute, value in (
        ("stop", "started", "False"), ("start", "started", "True"),
        ("disable", "enabled", "False"), ("enable", "enabled", "True"),
    ):  # fmt: skip
        do(torque, verb, "batch")
        assert f"{attribute} = {value}" in torque.run(["qstat", "-Q", "-f", "batch"]).stdout


def test_a_drain_takes_a_node_out_of_use_and_its_jobs_are_waited_for_or_requeued(torque: TorqueCluster) -> None:
    first, second = torque.mom_names
    jobs = [torque.start("bob", where=f"{name}:ppn=1") for name in (first, second)]
    assert "1 job there" in do(torque, "drain", "wait", first)
    done = pbsteer(torque, "do", "drain", "requeue", second, "--confirm", "2")
    done.demand_success()
    states = [torque.run(["pbsnodes", "-x", name]).stdout for name in (first, second)]
    assert all("offline" in each and "pbsteer drain by root" in each for each in states)
    assert [torque.state_of(job_id) for job_id in jobs] == ["R", "Q"]
    for name in (first, second):
        do(torque, "clear", name)
    assert "offline" not in torque.run(["pbsnodes", "-x"]).stdout


def test_a_user_is_refused_by_torque_and_told_so(torque: TorqueCluster) -> None:
    job_id = torque.start("alice")
    node = torque.mom_names[0]
    for arguments in (
        ["do", "hold", torque.qsub("alice"), "--yes"],
        ["do", "requeue", job_id, "--confirm", short(job_id)],
        ["do", "offline", node, "--yes"],
        ["do", "stop", "batch", "--yes"],
    ):
        done = pbsteer_as(torque, "bob", arguments)
        assert done.status == 1, arguments
        assert "Torque refused" in done.stdout + done.stderr
        assert "Unauthorized Request" in done.stdout + done.stderr
    assert torque.state_of(job_id) == "R"
    assert "offline" not in torque.run(["pbsnodes", "-x", node]).stdout
