"""Advice to a real pbs_sched, which starts the jobs: it is told of classes, and of beneficiaries."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.hooks.deploy_on_testbed import (
    deploy,
    drive,
    last_pass,
    notes,
    quick_settings,
    set_mode,
    settle,
    state_of,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.cycles_of_pbs_sched import hang_up
from tests.pbs.run_until_told import run_until_told
from tests.pbs.saving.checkpointing_test_jobs import passes_with

BY_PRIORITY = 'job_sort_key: "job_priority HIGH"\tALL\n'
TOP = 1023


@pytest.fixture
def by_priority(pbs: PbsCluster) -> Iterator[PbsCluster]:
    """A server whose pbs_sched goes by priority."""
    path = pbs.server_home / "sched_priv" / "sched_config"
    before = path.read_text()
    try:
        path.write_text(before + BY_PRIORITY)
        hang_up(pbs)
        yield pbs
    finally:
        path.write_text(before)
        hang_up(pbs)


def fill(pbs: PbsCluster, user: str) -> list[str]:
    """A job on each vnode."""
    jobs = [pbs.qsub(user, select=f"1:ncpus={pbs.spec.cores}") for _ in pbs.mom_names]
    for job_id in jobs:
        pbs.wait_for_state(job_id, "R")
    return jobs


def started_s(pbs: PbsCluster, job_id: str) -> float:
    return time.mktime(time.strptime(pbs.job(job_id)["stime"]))


def requeued(pbs: PbsCluster) -> set[str]:
    """The jobs that passes have requeued, as their journal tells."""
    return {job for entry in state_of(pbs).read_journal(1000) for job in entry["requeued"]}


def priority_of(pbs: PbsCluster, job_id: str) -> int:
    return int(pbs.job(job_id)["Priority"])


@pytest.mark.takes(150)
def test_a_victim_is_held_until_its_beneficiary_has_run_into_its_place(by_priority: PbsCluster) -> None:
    """Carol has waited longer, and would get the cores from pbs_sched by its own rules.

    v1  alice 8 | bob 8         | alice 8 again
    v2  alice 8
    v3  alice 8                    (carol's 8 wait all along)
    """
    pbs, cores = by_priority, by_priority.spec.cores
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '[u:alice={cores}],[u:bob={cores}]'")
    deploy(pbs, quick_settings("advise"))
    alices = fill(pbs, "alice")
    carols = pbs.qsub("carol", select=f"1:ncpus={cores}")
    # Bob's job ends only after the victim's hold is released: before that carol's job would get the cores.
    command, end_bobs = run_until_told(pbs, "bob")
    bobs = pbs.qsub("bob", command, select=f"1:ncpus={cores}")
    seen_held: set[str] = set()

    def look(job_id: str, state: str) -> bool:
        jobs = pbs.qstat_json()
        seen_held.update(job for job in alices if jobs[job]["job_state"] == "H")
        return str(jobs[job_id]["job_state"]) == state

    pbs.wait_until(lambda: look(bobs, "R"), 120.0, "bob's job runs")
    assert pbs.job_state(carols) == "Q"
    # PBS's scheduler may start bob's job before the pass that has requeued the victim is in the journal.
    pbs.wait_until(lambda: requeued(pbs), 120.0, "the pass that preempted is in the journal")
    (victim,) = requeued(pbs)
    # On a busy machine the hold may come and go between two looks; the passes tell when it was taken off.
    assert seen_held <= {victim}
    pbs.wait_until(lambda: passes_with(pbs, "released", victim), 120.0, "the victim's hold is taken off")
    (released_s,) = passes_with(pbs, "released", victim)
    assert released_s >= started_s(pbs, bobs)
    assert pbs.job_state(carols) == "Q"
    end_bobs()
    pbs.wait_for_state(victim, "R")
    assert started_s(pbs, victim) >= int(released_s)
    pbs.wait_for_state(bobs, "F")
    assert pbs.job(bobs)["Exit_status"] == 0
    assert {job: pbs.job(job)["run_count"] for job in [*alices, bobs]} == {
        **dict.fromkeys([*alices, bobs], 1), victim: 2,
    }  # fmt: skip
    entries = state_of(pbs).read_journal(1000)
    assert [job for entry in entries for job in entry["started"]] == []
    assert requeued(pbs) == {victim}
    assert [failure for entry in entries for failure in entry["failures"]] == []


@pytest.mark.takes(90)
def test_a_victim_that_a_manager_holds_stays_held(by_priority: PbsCluster) -> None:
    """Its hold is the manager's before and after its beneficiary runs."""
    pbs, cores = by_priority, by_priority.spec.cores
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '[u:alice={cores}],[u:bob={cores}]'")
    deploy(pbs, quick_settings("advise"))
    alices = fill(pbs, "alice")
    for job in alices:
        pbs.run(["qhold", "-h", "s", job]).demand_success()
    bobs = pbs.qsub("bob", select=f"1:ncpus={cores}")
    pbs.wait_for_state(bobs, "R")
    pbs.wait_until(lambda: requeued(pbs), 120.0, "the pass that preempted is in the journal")
    (victim,) = requeued(pbs)
    wait_for_pass(pbs)
    assert [pbs.job(job)["Hold_Types"] for job in alices] == ["s"] * len(alices)
    assert (pbs.job_state(victim), passes_with(pbs, "released", victim)) == ("H", [])


@pytest.mark.takes(150)
def test_the_highest_priority_of_an_older_job_gets_no_victims_cores(by_priority: PbsCluster) -> None:
    """Carol has waited longer, at PBS's highest priority as far as users come, and raises her job again and again."""
    pbs, cores = by_priority, by_priority.spec.cores
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '[u:alice={cores}],[u:bob={cores}]'")
    early = fill(pbs, "alice")
    submitted_before = pbs.qsub("carol", select=f"1:ncpus={cores}", options=["-p", str(TOP)])
    deploy(pbs, quick_settings("advise"))
    settle(pbs)
    carols = pbs.qsub("carol", select=f"1:ncpus={cores}", options=["-p", f"+{TOP}"])
    assert priority_of(pbs, carols) < TOP
    pbs.wait_until(lambda: priority_of(pbs, submitted_before) == 0, 120.0, "a pass gives it its level")
    bobs = pbs.qsub("bob", select=f"1:ncpus={cores}")

    def raise_and_look() -> bool:
        for job_id in (submitted_before, carols):
            pbs.run(["qalter", "-p", str(TOP), job_id], user="carol")
        return pbs.job_state(bobs) == "R"

    pbs.wait_until(raise_and_look, 120.0, "bob's job runs")
    pbs.wait_until(lambda: requeued(pbs), 120.0, "the pass that preempted is in the journal")
    assert {pbs.job_state(job_id) for job_id in (submitted_before, carols)} == {"Q"}
    assert len(requeued(pbs)) == 1
    assert sum(pbs.job_state(job_id) == "R" for job_id in early) == len(early) - 1
    # In drive the same line of sched_config orders all users' jobs, which passes say.
    assert "orders by job_priority" not in notes(pbs)
    drive(pbs)
    wait_for_pass(pbs)
    assert "the job_sort_key in its sched_config of scheduler default orders by job_priority" in notes(pbs)


def test_priorities_follow_the_classes_and_are_put_back(by_priority: PbsCluster) -> None:
    pbs = by_priority
    deploy(pbs, quick_settings())
    pbs.qmgr(
        "set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=8]'",
        "set queue workq max_run_res_soft.user_priority = '[u:alice=1],[u:bob=9]'",
    )
    running = [pbs.qsub("dave", select=f"1:ncpus={pbs.spec.cores}", options=["-r", "n"]) for _ in pbs.mom_names]
    for job_id in running:
        pbs.wait_for_state(job_id, "R")
    waiting = {
        name: pbs.qsub(name.partition("-")[0], ("/bin/sleep", "2"), select="1:ncpus=8", options=["-p", own])
        for name, own in (("carol", "5"), ("alice", "-7"), ("bob", "0"), ("bob-beyond", "-3"))
    }
    own = {name: priority_of(pbs, job_id) for name, job_id in waiting.items()}
    set_mode(pbs, "advise")
    settle(pbs)
    told = {name: priority_of(pbs, job_id) for name, job_id in waiting.items()}
    assert TOP > told["bob"] > told["alice"] > max(told["carol"], told["bob-beyond"])
    set_mode(pbs, "observe")
    settle(pbs)
    assert {name: priority_of(pbs, job_id) for name, job_id in waiting.items()} == own

    set_mode(pbs, "advise")
    settle(pbs)
    pbs.run(["qdel", running[0]]).demand_success()
    order: list[str] = []
    deadline_s = time.monotonic() + 180
    while len(order) < 2 and time.monotonic() < deadline_s:
        jobs = pbs.qstat_json()
        order += [name for name, job_id in waiting.items() if jobs[job_id]["job_state"] == "R" and name not in order]
    assert order[0] == "bob"


def test_jobs_that_wait_already_get_the_shrunk_estimate(pbs: PbsCluster) -> None:
    shrunk = BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=3600)
    deploy(pbs, quick_settings(backfill=shrunk, checkpoint=CheckpointSettings(saves=True)))
    fill(pbs, "alice")
    jobs = [pbs.qsub("bob", walltime=walltime) for walltime in ("10:00:00", "01:00:00", None)]
    jobs.append(pbs.qsub("bob", walltime="10:00:00", options=("-r", "n")))
    assert "soft_walltime" not in pbs.job(jobs[0])["Resource_List"]
    set_mode(pbs, "advise")
    settle(pbs)
    assert [pbs.job(job_id)["Resource_List"].get("soft_walltime") for job_id in jobs] == [
        "05:00:00", None, None, None,
    ]  # fmt: skip
    assert last_pass(pbs)["failures"] == []


def test_no_run_is_preempted_where_pbs_sched_does_not_go_by_priority(pbs: PbsCluster) -> None:
    cores = pbs.spec.cores
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '[u:alice={cores}],[u:bob={cores}]'")
    deploy(pbs, quick_settings("advise"))
    alices = fill(pbs, "alice")
    bobs = pbs.qsub("bob", select=f"1:ncpus={cores}")
    for _ in range(2):
        wait_for_pass(pbs)
    assert (priority_of(pbs, bobs), {pbs.job(job)["run_count"] for job in alices}) == (0, {1})
    assert "scheduler default does not sort jobs by priority" in notes(pbs)
    assert last_pass(pbs)["would"]["preempts"] == 1
    drive(pbs)
    pbs.wait_for_state(bobs, "R")
