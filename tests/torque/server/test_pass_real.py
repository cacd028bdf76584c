"""Passes over a real Torque server: quotas with preemption and return, promises, and what goes wrong on the way."""

from __future__ import annotations

import time

from container import testbed as testbeds
from tests.torque.cluster import SLEEP, TorqueCluster
from tests.torque.server.pass_on_torque import BEGUN, DRIVE, SAVES, Passes, forget_passes, wait_until_begun

QUOTAS = "[[queue]]\nname = 'batch'\nquotas = '[u:alice=8],[u:bob=8]'\n"
NODE = "nodes=1:ppn=8"
SAVE = "[checkpoint]\ngrace_s = 8\n"
SIGNAL = ("-W", "x=pbsteer_save:signal")
DEAF = f"trap : USR2\n{BEGUN}while :; do sleep 1; done\n"


def test_one_pass_observes_and_another_drives(torque: TorqueCluster, passes: Passes) -> None:
    job_id = torque.qsub("alice", "nodes=2:ppn=3")
    passes.configure("")
    assert f"start {job_id} of alice on" in passes.once()
    assert torque.state_of(job_id) == "Q"
    passes.configure(DRIVE)
    assert "driven: batch" in passes.once()
    torque.wait_for_state(job_id, "R")
    first, second = torque.mom_names
    assert torque.jobs()[job_id]["exec_host"] == f"{first}/0-2+{second}/0-2"


def test_alice_gets_her_quota_back_and_bobs_job_returns(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure(DRIVE + QUOTAS)
    passes.start()
    bobs = [torque.qsub("bob", NODE) for _ in range(2)]
    for job_id in bobs:
        torque.wait_for_state(job_id, "R")
    mine = torque.qsub("alice", NODE, script="sleep 5\n")
    torque.wait_for_state(mine, "R", 30)
    (victim,) = passes.all_of("requeued")
    assert victim in bobs
    assert torque.state_of(victim) == "Q"
    torque.wait_for_state(victim, "R", 60)
    assert torque.state_of(mine) == "C"
    assert len(passes.all_of("requeued")) == 1


def test_a_job_that_saves_on_the_signal_is_queued_again_by_the_server(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure(DRIVE + QUOTAS + SAVE)
    passes.start()
    bobs = [torque.qsub("bob", NODE, *SIGNAL, script=SAVES) for _ in range(2)]
    wait_until_begun(torque, "bob", bobs)
    mine = torque.qsub("alice", NODE)
    torque.wait_for_state(mine, "R", 30)
    (asked,) = passes.all_of("asked")
    assert torque.jobs()[asked]["sched_hint"].startswith(f"pbsteer for={mine} how=signal")
    assert torque.state_of(asked) == "Q"
    assert passes.all_of("requeued") == []


def test_a_backfilled_job_is_cut_at_the_promised_time(torque: TorqueCluster, passes: Passes) -> None:
    """m1: first (25 s)     | head
    m2: backfilled, cut --->| head"""
    passes.configure(
        DRIVE + "[backfill]\nkind = 'checkpoint'\nshrink_factor = 0.01\nshrink_threshold_s = 10\n"
        "[checkpoint]\nsaves = true\ncost_s = 0\n[schedule]\ninterval_s = 5\n"
    )
    first = torque.run(["qsub", "-l", f"{NODE},walltime=00:00:25"], user="bob", stdin="sleep 24\n").stdout.strip()
    passes.start()
    torque.wait_for_state(first, "R")
    begun_s = time.time()
    head = torque.qsub("alice", "nodes=2:ppn=8")
    torque.wait_until(lambda: bool(passes.journal()[-1]["estimates"]), "a promise")
    promised_s = passes.journal()[-1]["estimates"][0]["promised_s"]
    long = torque.qsub("bob", NODE)
    torque.wait_for_state(long, "R", 20)
    torque.wait_for_state(head, "R", 60)
    started_s = int(torque.jobs()[head]["start_time"])
    assert torque.state_of(long) == "Q"
    assert passes.all_of("preempted") == [long]
    assert begun_s + 15 < started_s <= promised_s + 6


def test_hostile_names_variables_and_accounts_start_like_others(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure(DRIVE)
    passes.start()
    hostile = torque.qsub("alice", "nodes=1:ppn=2", "-N", "a<b>&[red]", "-v", "B=c\x01d", "-A", "x\x02\x1b[31m")
    plain = torque.qsub("bob", "nodes=1:ppn=2", "-v", "C='$(touch /tmp/owned)`id`")
    for job_id in (hostile, plain):
        torque.wait_for_state(job_id, "R", 30)
    waits = torque.qsub("alice", "nodes=2:ppn=8", "-N", "w<i>de")
    torque.wait_until(lambda: "comment" in torque.jobs()[waits], "a comment", 40)
    assert not passes.all_of("failures")


def test_held_and_dependent_jobs_are_left_alone(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure(DRIVE)
    held = torque.qsub("alice", "nodes=1", "-h")
    passes.start()
    first = torque.qsub("bob", "nodes=1", script="sleep 3\n")
    after = torque.qsub("bob", "nodes=1", "-W", f"depend=afterok:{first}")
    torque.wait_for_state(first, "R")
    assert (torque.state_of(held), torque.state_of(after)) == ("H", "H")
    torque.wait_for_state(after, "R", 30)
    torque.run(["qrls", held], user="alice").demand_success()
    torque.wait_for_state(held, "R", 30)


def test_arrays_run_as_far_as_their_limit(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure(DRIVE)
    passes.start()
    torque.qsub("alice", "nodes=1", "-t", "0-3%2", script="sleep 4\n")

    def in_state(state: str) -> int:
        return sum(texts["job_state"] == state for texts in torque.jobs().values())

    torque.wait_until(lambda: in_state("R") == 2, "two run", 30)
    torque.wait_until(lambda: in_state("C") == 4, "all have ended", 60)
    assert not passes.all_of("failures")


def test_a_restart_of_server_and_pass_in_the_middle_of_a_preemption_loses_nothing(
    torque: TorqueCluster, passes: Passes
) -> None:
    passes.configure(DRIVE + QUOTAS + SAVE)
    passes.start()
    bobs = [torque.qsub("bob", NODE, *SIGNAL, script=DEAF) for _ in range(2)]
    wait_until_begun(torque, "bob", bobs)
    mine = torque.qsub("alice", NODE)
    torque.wait_until(lambda: bool(passes.all_of("asked")), "a victim is asked", 30)
    passes.stop("KILL")
    testbeds.stop_server(torque.testbed)
    torque.restart_server()
    passes.start()
    torque.wait_for_state(mine, "R", 60)
    (victim,) = passes.all_of("requeued")
    assert [victim] == passes.all_of("asked")
    assert sorted(torque.state_of(job_id) for job_id in bobs) == ["Q", "R"]


def test_a_silent_mom_holds_nobody_up(torque: TorqueCluster, passes: Passes) -> None:
    """alice's job waits for bob's on the silent host; a job for the other host starts meanwhile."""
    passes.configure(DRIVE + QUOTAS.replace("bob=8", "bob=0") + "[torque]\ntimeout_s = 5\n")
    passes.start()
    first, second = torque.mom_names
    victim = torque.qsub("bob", f"nodes={first}:ppn=8")
    torque.wait_for_state(victim, "R")
    other = torque.qsub("bob", f"nodes={second}:ppn=4")
    torque.wait_for_state(other, "R")
    torque.run(["pkill", "-STOP", "-x", "pbs_mom"], host="m1").demand_success()
    try:
        mine = torque.qsub("alice", f"nodes={first}:ppn=8")
        time.sleep(2)
        begun_s = time.monotonic()
        small = torque.qsub("bob", f"nodes={second}:ppn=2")
        torque.wait_for_state(small, "R", 30)
        took_s = time.monotonic() - begun_s
    finally:
        torque.run(["pkill", "-CONT", "-x", "pbs_mom"], host="m1").demand_success()
    assert took_s < 16
    torque.wait_for_state(mine, "R", 90)
    torque.wait_for_state(victim, "Q")


def test_a_job_that_ended_is_not_run_again(torque: TorqueCluster, passes: Passes) -> None:
    """Many victims end by themselves about when they are to be requeued."""
    passes.configure(DRIVE + QUOTAS)
    passes.start()
    bobs = [torque.qsub("bob", "nodes=1:ppn=1", script="sleep 4\n") for _ in range(16)]
    torque.wait_until(lambda: all(torque.state_of(job_id) == "R" for job_id in bobs), "bob's run", 30)
    time.sleep(2.5)
    mine = torque.qsub("alice", NODE, script="sleep 1\n")
    torque.wait_for_state(mine, "C", 60)
    torque.wait_until(lambda: all(torque.state_of(job_id) == "C" for job_id in bobs), "bob's end", 90)
    requeued = set(passes.all_of("requeued"))
    jobs = torque.jobs()
    assert all(job_id in requeued for job_id in bobs if jobs[job_id]["start_count"] != "1")


def test_it_refuses_to_drive_beside_pbs_sched_naming_it(torque: TorqueCluster) -> None:
    forget_passes(torque)
    passes = Passes(torque)
    passes.configure(DRIVE)
    job_id = torque.qsub("alice", "nodes=1")
    assert "nothing is driven: pbs_sched (process " in passes.once()
    assert torque.state_of(job_id) == "Q"


def test_a_second_process_is_refused(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure("")
    passes.start()
    second = torque.run([*passes.command(), "--once"])
    assert second.status != 0
    assert "another pass is writing here" in second.stderr


def test_the_console_changes_quota_and_mode_and_the_next_pass_has_them(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure("")
    passes.start()
    job_id = torque.qsub("alice", "nodes=1", script=SLEEP)
    torque.run(passes.command("quota", "set", "batch", "alice", "8", "--yes")).demand_success()
    assert "[u:alice=8]" in passes.file.read_text()
    torque.run(passes.command("do", "mode", "batch", "drive", "--yes")).demand_success()
    torque.wait_for_state(job_id, "R", 40)
