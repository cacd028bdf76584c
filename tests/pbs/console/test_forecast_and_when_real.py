"""The published forecast and ``pbsteer when`` on a real server: learned from its accounting log, read by everybody."""

from __future__ import annotations

import json
from typing import Any

from hooks.forecast.past_runs import PastRuns
from hooks.forecast.published_forecast import PublishedForecast
from hooks.store.state_files import FORECAST, FORECAST_BEGUN, FORECAST_HISTORY
from policy.settings.settings_of_server_and_passes import ForecastSettings
from tests.hooks.deploy_on_testbed import (
    LATE_S,
    deploy,
    deploy_and_drive,
    make_deployment,
    quick_settings,
    state_of,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import on_server, pbsteer

OFTEN = ForecastSettings(interval_s=1)


AS_USER = """
import contextlib, io, os, pwd, sys
from tui.cli.main import main
name, *words = sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()):
    main(words, standalone_mode=False)  # loads all that an interpreter in root's home would not show this user
user = pwd.getpwnam(name)
os.initgroups(name, user.pw_gid)
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
os.environ["LOGNAME"] = name
main(words, standalone_mode=False)
"""


def published(pbs: PbsCluster) -> PublishedForecast | None:
    return PublishedForecast.from_data(state_of(pbs).read_published(FORECAST))


def knows(pbs: PbsCluster, job_id: str, runs: int = 0) -> bool:
    found = published(pbs)
    return found is not None and found.is_whole and job_id in found.jobs and found.runs >= runs


def fill(pbs: PbsCluster, user: str = "alice", walltime: str = "01:00:00") -> list[str]:
    jobs = [pbs.qsub(user, select=f"1:ncpus={pbs.spec.cores}", walltime=walltime) for _ in pbs.mom_names]
    for job_id in jobs:
        pbs.wait_for_state(job_id, "R")
    return jobs


def when(pbs: PbsCluster, *words: str, user: str = "") -> dict[str, Any]:
    """What ``pbsteer when --json`` tells root, or an ordinary user."""
    command = ("-c", AS_USER, user) if user else ("-m", "tui.cli.main")
    found = json.loads(on_server(pbs, *command, "when", "--json", *words).demand_success().stdout)
    assert isinstance(found, dict)
    return found


def test_passes_publish_what_the_accounting_log_tells_and_when_reads_it(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings(forecast=OFTEN))
    past = [pbs.qsub("alice", ("/bin/sleep", "1"), select="1:ncpus=1", walltime="01:00:00") for _ in range(3)]
    for job_id in past:
        pbs.wait_for_state(job_id, "F")
    running = fill(pbs)
    waits = pbs.qsub("bob", select=f"1:ncpus={pbs.spec.cores}", walltime="00:10:00")
    held = pbs.qsub("bob", select="1:ncpus=1", walltime="00:10:00")
    pbs.run(["qhold", held]).demand_success()
    pbs.wait_until(lambda: knows(pbs, waits, runs=3), LATE_S, "a forecast that knows the past runs and the job")

    path = state_of(pbs).path / FORECAST
    assert path.stat().st_mode & 0o777 == 0o600, "no group is named in the settings"
    runs = PastRuns.from_data(state_of(pbs).read_published(FORECAST_HISTORY)).runs
    assert len([run for run in runs if run.user == "alice" and run.end_s - run.start_s < 60]) >= 3

    answer = when(pbs, waits)
    assert answer["forecast"]["by"] == "the passes"
    assert answer["forecast"]["age_s"] < LATE_S
    assert answer["forecast"]["past_runs"] >= 3
    assert answer["starts_last_s"] >= answer["starts_half_s"]
    assert answer["after"] in [*running, ""]
    wait_for_pass(pbs)
    page = pbsteer(pbs, "when", waits)
    assert "by the passes" in page

    # The forecast that the log made possible comes true: the runs end, and the job starts.
    for job_id in running:
        pbs.run(["qdel", job_id]).demand_success()
    pbs.wait_for_state(waits, "RF")
    pbs.wait_until(lambda: not knows(pbs, waits), LATE_S, "a forecast without the job that has started")
    assert "failed" not in state_of(pbs).read_published(FORECAST_BEGUN)


def test_an_ordinary_user_asks_without_any_right_to_the_journal(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings(forecast=OFTEN))
    fill(pbs)
    waits = pbs.qsub("bob", select=f"1:ncpus={pbs.spec.cores}", walltime="00:10:00")
    pbs.wait_until(lambda: knows(pbs, waits), LATE_S, "a forecast that knows the job")
    answer = when(pbs, waits, user="carol")
    assert answer["forecast"]["by"] == "this command"
    assert answer["starts_last_s"] is not None
    asked = when(pbs, "-l", f"select=1:ncpus={pbs.spec.cores}", "-l", "walltime=00:10:00", "-q", "workq", user="carol")
    assert asked["user"] == "carol"
    assert asked["starts_last_s"] >= answer["starts_last_s"]
    assert asked["alternatives"][0]["name"].startswith("with half the walltime")


def test_what_this_server_would_refuse_is_said_of_a_job_that_is_not_submitted(pbs: PbsCluster) -> None:
    pbs.qmgr(
        "set queue workq resources_min.walltime = 00:10:00",
        "set queue workq acl_users = alice",
        "set queue workq acl_user_enable = True",
    )
    asked = ("-l", "select=1:ncpus=1", "-l", "walltime=00:05:00", "-q", "workq", "-u", "bob")
    assert when(pbs, *asked)["refused"] == [
        "queue workq does not take jobs of bob (acl_users)",
        "queue workq takes walltimes from 00:10:00 on",
    ]
    pbs.qmgr("unset queue workq acl_user_enable", "unset queue workq acl_users", "unset queue workq resources_min")
    assert when(pbs, *asked)["refused"] == []
    pbs.qmgr("set server acl_users = alice", "set server acl_user_enable = True")
    assert when(pbs, *asked)["refused"] == ["the server does not take jobs of bob (acl_users)"]


def test_a_removal_while_forecasts_are_made_leaves_nothing(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings(forecast=OFTEN))
    fill(pbs)
    waiting = [pbs.qsub("bob", select=f"1:ncpus={pbs.spec.cores}", walltime="00:10:00") for _ in range(20)]
    pbs.wait_until(lambda: published(pbs) is not None, LATE_S, "a forecast")
    make_deployment(pbs).remove(lambda _: None)
    assert not state_of(pbs).path.exists()
    for job_id in waiting:
        assert pbs.job_state(job_id) == "Q"
