"""``guard_starts = "needed"`` on a real server: the hook of starts is off while passes alone start jobs, and a job that
its owner alters starts as it was decided on, or not yet."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from container import testbed as testbeds
from hooks.audit.shared_audit_file import CHANGES
from hooks.pbs.own_switch_values import START_HOOK
from hooks.store.event_hook_summary import SUMMARY
from policy.settings.settings_of_server_and_passes import ServerSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import deploy, deploy_and_drive, quick_settings, state_of, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.job_kinds.test_work_only_pbs_scheduler_does_in_drive import reservation, reserve
from tests.pbs.modes import keep_altering_jobs
from tests.pbs.modes.compare_placement_with_pbs_sched import driven
from tests.pbs.submission.test_altered_planned_start import between_passes


def needed() -> Settings:
    return replace(quick_settings(), server=ServerSettings(guard_starts="needed"))


def is_guarded(pbs: PbsCluster) -> bool:
    return "enabled = true" in pbs.qmgr(f"list hook {START_HOOK} enabled")


def has_cycle(pbs: PbsCluster) -> bool:
    """Whether PBS's scheduler has a cycle for work that passes leave to it, as the last pass has written."""
    return bool(state_of(pbs).read_published(SUMMARY).get("in_cycle"))


def test_the_hook_is_off_while_passes_alone_start_jobs(pbs: PbsCluster) -> None:
    deployment = deploy_and_drive(pbs, needed())
    assert is_guarded(pbs), "a pass that starts nothing leaves it on"
    job = pbs.qsub("alice")
    pbs.wait_for_state(job, "R")
    assert not is_guarded(pbs)
    assert deployment.plan_apply(needed()) == []
    shown = (state_of(pbs).path / CHANGES).read_text() if (state_of(pbs).path / CHANGES).exists() else ""
    assert f"{START_HOOK} enabled" not in shown, "a pass's own switch is no administrator's change"
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = advise")
    wait_for_pass(pbs)
    assert is_guarded(pbs), "PBS's scheduler starts jobs"


def test_the_hook_is_off_as_long_as_every_queue_is_in_observe(pbs: PbsCluster) -> None:
    deploy(pbs, needed())
    pbs.wait_until(lambda: not is_guarded(pbs), 60.0, "a pass that found all queues in observe")
    pbs.wait_for_state(pbs.qsub("alice"), "R")
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = advise")
    wait_for_pass(pbs)
    assert is_guarded(pbs)
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = observe")
    wait_for_pass(pbs)
    assert not is_guarded(pbs)


@pytest.mark.takes(60)
def test_the_hook_is_on_while_the_scheduler_has_a_cycle_for_a_reservation(pbs: PbsCluster) -> None:
    driven(pbs)
    deploy(pbs, needed())
    pbs.wait_for_state(pbs.qsub("alice"), "R")
    pbs.wait_until(lambda: not is_guarded(pbs), 60.0, "passes start jobs alone")
    name = reserve(pbs, 3600, 600)
    # A cycle may be over within a second: only the file is read until it is seen.
    until_s = time.monotonic() + 120
    while not has_cycle(pbs):
        assert time.monotonic() < until_s, "the cycle was not seen"
        time.sleep(0.01)
    # The summary is on disk a moment before the hook is on; then the reservation's own queue keeps it on.
    pbs.wait_until(lambda: is_guarded(pbs), 5.0, "it is on")
    pbs.wait_until(lambda: reservation(pbs, name)["reserve_state"] == "RESV_CONFIRMED", 120.0, "it is confirmed")
    pbs.wait_for_state(pbs.qsub("bob"), "R")
    assert is_guarded(pbs), "a reservation has an execution queue of its own"
    pbs.run(["pbs_rdel", name]).demand_success()
    wait_for_pass(pbs)
    pbs.wait_for_state(pbs.qsub("bob"), "R")
    pbs.wait_until(lambda: not is_guarded(pbs), 60.0, "passes start jobs alone again")


@pytest.mark.takes(40)
def test_the_hook_is_on_where_jobs_could_change_queues_between_decision_and_start(pbs: PbsCluster) -> None:
    """By ``qorder``, for which PBS runs no hook: with a second queue, or a reservation, which has one of its own."""
    deploy_and_drive(pbs, needed())
    pbs.wait_for_state(pbs.qsub("alice"), "R")
    assert not is_guarded(pbs)
    pbs.qmgr("create queue other queue_type=execution,enabled=True,started=True,resources_available.pbsteer_mode=drive")
    wait_for_pass(pbs)
    pbs.wait_for_state(pbs.qsub("alice"), "R")
    assert is_guarded(pbs)
    pbs.qmgr(
        "delete queue other", "create queue way_in queue_type=route,route_destinations=workq,enabled=True,started=True"
    )
    wait_for_pass(pbs)
    pbs.wait_for_state(pbs.qsub("alice"), "R")
    assert not is_guarded(pbs)


@contextlib.contextmanager
def altering(pbs: PbsCluster, jobs: Sequence[str]) -> Iterator[None]:
    """The jobs' owner makes them one core wide and two cores wide in turns, as fast as the server takes it."""
    argv = ["/usr/bin/python3", "-I", str(Path(keep_altering_jobs.__file__).resolve()), pbs.spec.pbs_exec, *jobs]
    words, environment = testbeds.build_command(pbs.testbed, "server", argv, user="alice", cwd=Path("/"))
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        yield
        told = json.loads(program.communicate(timeout=60)[0])
    assert told["taken"] > len(jobs), told


def test_a_job_that_its_owner_keeps_altering_never_runs_on_other_cores_than_it_asks_for(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, needed())
    pbs.wait_for_state(pbs.qsub("alice"), "R")
    assert not is_guarded(pbs)
    jobs = [pbs.qsub("alice", select="1:ncpus=1", options=("-h",)) for _ in range(8)]
    with altering(pbs, jobs):
        for job in jobs:
            pbs.run(["qrls", job], user="alice").demand_success()
        until_s = time.monotonic() + 15
        while time.monotonic() < until_s and any(pbs.job_state(job) != "R" for job in jobs):
            time.sleep(0.5)
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in jobs), 120.0, "all run")
    for job in jobs:
        found = pbs.job(job)
        assert f"ncpus={found['Resource_List']['ncpus']})" in found["exec_vnode"], found


def test_what_a_start_was_decided_on_is_not_altered_by_the_owner_before_it(pbs: PbsCluster) -> None:
    pbs.qmgr("create resource lic type=long,flag=q", "set server resources_available.lic = 4")
    deploy_and_drive(pbs, needed())
    job, state = pbs.qsub("alice", options=("-h",), select="1:ncpus=1"), state_of(pbs)
    group = pbs.run(["id", "-gn", "alice"]).stdout.strip()
    changes = (
        ("-l", "select=1:ncpus=2"), ("-l", "walltime=00:20:00"), ("-l", "lic=3"), ("-P", "other"), ("-r", "n"),
        ("-c", "n"), ("-W", f"group_list={group}"),
    )  # fmt: skip
    with between_passes(state):
        planned = {**state.read_published(SUMMARY), "planned": {job: "digest"}, "unguarded": True}
        state.publish(SUMMARY, {**planned, "planned_s": time.time()}, shared=False)
        for change in changes:
            assert "about to start" in pbs.run(["qalter", *change, job], user="alice").stderr, change
        pbs.run(["qalter", "-N", "renamed", job], user="alice").demand_success()
        pbs.run(["qalter", *changes[1], job]).demand_success()
        state.publish(SUMMARY, {**planned, "unguarded": False}, shared=False)
        for change in changes:
            pbs.run(["qalter", *change, job], user="alice").demand_success()
