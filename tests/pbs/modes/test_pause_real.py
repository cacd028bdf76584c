"""A pause on a real server: nothing is started while it lasts, whoever began it, and then everything again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from policy.settings.settings_of_server_and_passes import ScheduleSettings, ServerSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import LATE_S, deploy, is_scheduling, last_pass, make_deployment, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven

PBSTEER = str(Path(sys.executable).with_name("pbsteer"))
STOPPED = "set server scheduling = False"
UP = {"free", "job-busy"}


def demand_pause(pbs: PbsCluster, words: str) -> str:
    """A job that is submitted once a pass has seen the pause waits."""
    pbs.wait_until(lambda: words in last_pass(pbs).get("paused", ""), LATE_S, "a pass that sees the pause")
    job = pbs.qsub("alice")
    for _ in range(2):
        wait_for_pass(pbs)
    assert pbs.job_state(job) == "Q"
    assert last_pass(pbs)["acted"] == []
    assert any(words in note for note in last_pass(pbs)["notes"])
    comment = pbs.job(job)["comment"]
    assert f": would start now, but pbsteer is paused {words}" in comment.replace("(", "").replace("by ", "")
    answer = json.loads(pbs.run([PBSTEER, "explain", job, "--json"]).demand_success().stdout)
    assert (answer["state"], answer["reason"]["code"]) == ("waiting", "left-undone")
    assert words in answer["reason"]["sentence"]
    return job


def test_the_servers_own_switch_pauses_what_is_driven(pbs: PbsCluster) -> None:
    """Every site's emergency stop. While pbsteer drives, its own switch cannot be taken for that."""
    driven(pbs)
    assert "scheduling = False" not in pbs.qmgr("list server scheduling")
    assert not is_scheduling(pbs)
    pbs.qmgr(STOPPED)
    job = demand_pause(pbs, STOPPED)
    pbs.qmgr("set server scheduling = True")
    pbs.wait_for_state(job, "R", 60.0 + LATE_S)
    pbs.wait_until(lambda: last_pass(pbs)["acted"] == ["workq"], LATE_S, "the queue is driven again")
    assert not is_scheduling(pbs)


def test_a_stop_right_after_the_scheduler_was_switched_off_holds(pbs: PbsCluster) -> None:
    schedule = ScheduleSettings(interval_s=5, budget_s=2, look_s=0)
    deploy(pbs, Settings(schedule=schedule, server=ServerSettings(mode="drive")))
    pbs.wait_until(lambda: last_pass(pbs)["acted"] == ["workq"], 2 * LATE_S, "the queue is driven")
    pbs.qmgr("set server scheduling = True")
    pbs.wait_until(lambda: not is_scheduling(pbs), LATE_S, "the scheduler is switched off again")
    pbs.qmgr(STOPPED)
    demand_pause(pbs, STOPPED)


def test_a_stop_outlasts_a_restart_of_the_server_and_driving_is_none_after_one(pbs: PbsCluster) -> None:
    driven(pbs)
    pbs.stop_server()
    pbs.start_server()
    pbs.wait_for_state(pbs.qsub("alice"), "R", 60.0 + LATE_S)
    assert not last_pass(pbs)["paused"]
    pbs.qmgr(STOPPED)
    demand_pause(pbs, STOPPED)
    pbs.stop_server()
    pbs.start_server()
    # A job for which no vnode is up yet would not start now.
    pbs.wait_until(lambda: {each["state"] for each in pbs.pbsnodes().values()} <= UP, LATE_S, "all vnodes are up")
    demand_pause(pbs, STOPPED)


@pytest.mark.parametrize("reason", ["water in row 4"])
def test_a_pause_by_name(pbs: PbsCluster, reason: str) -> None:
    driven(pbs)
    pbs.run([PBSTEER, "pause", "--reason", reason, "--yes"]).demand_success()
    job = demand_pause(pbs, reason)
    assert reason in pbs.run([PBSTEER, "status"]).demand_success().stdout
    pbs.run([PBSTEER, "resume", "--yes"]).demand_success()
    pbs.wait_for_state(job, "R", 60.0 + LATE_S)


@pytest.mark.takes(60)
def test_a_stop_outlasts_failing_passes_the_way_out_of_drive_and_the_removal(pbs: PbsCluster) -> None:
    """Whoever stopped everything has to end that: no hand-back to PBS's scheduler does."""
    driven(pbs)
    pbs.qmgr(STOPPED)
    job = demand_pause(pbs, STOPPED)
    config = pbs.server_home / "server_priv" / "hooks" / "pbsteer_periodic.CF"
    text = config.read_text()
    config.write_text("{ cut o")
    record = pbs.server_home / "pbsteer" / "passes.json"
    failed = lambda: json.loads(record.read_text())["unfinished"] >= 5
    pbs.wait_until(failed, 2 * LATE_S, "five passes in a row that fail")
    assert (pbs.job_state(job), is_scheduling(pbs)) == ("Q", False)
    config.write_text(text)
    wait_for_pass(pbs)
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = observe")
    for _ in range(3):
        wait_for_pass(pbs)
    assert (pbs.job_state(job), is_scheduling(pbs)) == ("Q", False)
    make_deployment(pbs).remove(lambda _: None)
    assert (pbs.job_state(job), is_scheduling(pbs)) == ("Q", False)
    pbs.qmgr("set server scheduling = True")
    pbs.wait_for_state(job, "R", 60.0 + LATE_S)
