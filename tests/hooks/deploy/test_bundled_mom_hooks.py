"""The bundled hooks of MoMs: ends that were asked for, and what a host reports."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hooks.telemetry.host_reading_format import parse_reading
from hooks.telemetry.host_sensors import load_counts
from tests.hooks.run_bundled_hook import Hook
from tests.hooks.sample_server_statuses import running, server_status


@pytest.mark.parametrize(
    ("exit_status", "wish", "method", "calls"),
    [
        (0, "", "requeue", False),
        (0, "requeue", "signal", False),
        (0, "", "signal", True),
        (0, "signal", "requeue", True),
        (85, "", "requeue", True),
        (256 + 12, "", "requeue", True),
        (256 + 15, "signal", "signal", False),
    ],
)
def test_an_end_asks_the_server_only_where_the_job_may_have_been_asked(
    hook: Hook, exit_status: int, wish: str, method: str, calls: bool
) -> None:
    event = {"id": "1.s", "Exit_status": exit_status, "Resource_List": {"pbsteer_save": wish} if wish else {}}
    settings = {"checkpoint": {"method": method, "exit_status": 85}}
    answer = hook.run("execjob_epilogue", events=[event], settings=settings)
    assert [verdict for verdict in answer["verdicts"] if verdict] == []
    loaded = {name.partition(".")[2] for name in answer["modules"]}
    assert ("hooks.pbs.pbs_ifl_client" in loaded) is calls
    light = {
        "policy.model.job_preferences",
        "hooks.pbs.custom_resources",
        "hooks.store.settings_for_host_hooks",
        "hooks.checkpoint.skip_server_query_at_job_end",
        "hooks.checkpoint.save_methods",
        "hooks.checkpoint.read_saved_task_notes",
        "hooks.entries.execjob_epilogue",
    }
    assert (loaded == light) is not calls


def test_an_end_that_was_asked_for_is_brought_back_and_no_other(hook: Hook) -> None:
    mark = f"pbsteer for=9.s how=signal asked={int(time.time()) - 5} until={int(time.time()) + 60}"
    jobs = {"1.s": running(stime="900") | {"estimated.site": mark}, "2.s": running(stime="900")}
    events = [
        {"id": job_id, "Exit_status": 0, "Resource_List": {"pbsteer_save": "signal"}}
        for job_id in ("1.s", "2.s", "1.s")
    ]
    answer = hook.run("execjob_epilogue", events=events, cluster=server_status(jobs).to_data())
    assert [event["is requeued"] for event in answer["events"]] == [True, False, True]


def test_a_mom_s_run_reports_this_host_once_and_keeps_its_counts_where_pbs_clears_up(hook: Hook) -> None:
    (hook.home / "tmp").mkdir()
    vnodes: dict[str, Any] = {name: {"resources_available": {}, "resources_assigned": {}} for name in ("v1", "v2")}
    answer = hook.run("exechost_periodic", events=[{}, {}], vnodes=vnodes)
    assert (answer["verdicts"], answer["logged"]) == ([None, None], [])
    assert answer["vnodes"]["v2"] == {}
    (text,) = answer["vnodes"]["v1"].values()
    reading = parse_reading(text)
    assert reading is not None
    assert abs(reading.time_s - time.time()) < 60
    assert reading.memory_mib is not None
    assert load_counts(hook.home / "tmp" / "pbsteer_counts.json") is not None


def test_a_mom_s_run_that_cannot_keep_its_counts_reports_what_needs_none(hook: Hook) -> None:
    answer = hook.run("exechost_periodic", vnodes={"v1": {"resources_available": {}, "resources_assigned": {}}})
    assert ";mem=" in answer["vnodes"]["v1"]["pbsteer_reading"]
    assert "load and network are not reported" in "".join(answer["logged"])


def test_a_mom_s_run_before_pbs_has_told_of_the_resource_says_nothing(hook: Hook) -> None:
    vnode = {"resources_available": {}, "resources_assigned": {}, "undefined": True}
    answer = hook.run("exechost_periodic", vnodes={"v1": vnode})
    assert (answer["vnodes"], answer["verdicts"]) == ({"v1": {}}, [None])
    assert "Traceback" not in "".join(answer["logged"])


def test_a_mom_s_run_for_a_host_that_has_no_vnode_of_its_name_does_nothing(hook: Hook) -> None:
    answer = hook.run("exechost_periodic", vnodes={"v2": {"resources_available": {}, "resources_assigned": {}}})
    assert (answer["vnodes"], answer["logged"], answer["verdicts"]) == ({"v2": {}}, [], [None])


def test_a_host_that_is_being_taken_out_reports_nothing(hook: Hook) -> None:
    """PBS removes a hook's settings from a host before its last run is over."""
    (hook.home / "tmp").mkdir()
    vnodes: dict[str, Any] = {"v1": {"resources_available": {}, "resources_assigned": {}}}
    answer = hook.run("exechost_periodic", vnodes=vnodes, config=str(hook.home / "gone.json"))
    assert (answer["verdicts"], answer["logged"]) == ([None], [])
