"""The bundled hooks of MoMs: ends that were asked for, and what a host reports."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.deploy.bundle_hook import build
from hooks.store.hook_settings import show_config
from hooks.telemetry.host_reading_format import parse_reading
from hooks.telemetry.host_sensors import load_counts
from policy.settings.site_settings import Settings
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
    assert ("hooks.pbs.client.pbs_ifl_client" in loaded) is calls
    light = {
        "policy.model.save_method_names",
        "hooks.pbs.custom_resources_on_hosts",
        "hooks.store.bounded_json",
        "hooks.store.settings_for_host_hooks",
        "hooks.checkpoint.on_job_host.skip_server_query_at_job_end",
        "hooks.checkpoint.save_method.read_save_method_job_asked_for",
        "hooks.checkpoint.on_job_host.read_saved_task_notes",
        "hooks.entries.execjob_epilogue",
    }
    assert (loaded == light) is not calls


_GOOD_END = """
import sys, types
pbs = sys.modules["pbs"] = types.ModuleType("pbs")
job = types.SimpleNamespace(
    id="1.s", Exit_status=0, Resource_List={"pbsteer_save": None}, session_id=5, in_ms_mom=lambda: True
)
event = types.SimpleNamespace(job=job, accept=lambda: None, reject=lambda text: sys.exit(text))
pbs.event, pbs.pbs_conf, pbs.hook_config_filename = (lambda: event), {"PBS_HOME": sys.argv[2]}, sys.argv[3]
with open(sys.argv[1]) as file:
    hook = compile(file.read(), "hook", "exec")
before = set(sys.modules)
exec(hook, {})
print(*sorted({name.partition(".")[0] for name in sys.modules if name not in before and name[:8] != "pbsteer_"}))
"""


def test_a_usual_end_loads_next_to_nothing_of_the_standard_library(tmp_path: Path) -> None:
    """PBS's Python has ``os`` and what that needs already, and nothing else."""
    hook, config = tmp_path / "hook.py", tmp_path / "config.json"
    hook.write_text(build("execjob_epilogue"), encoding="utf-8")
    config.write_text(show_config(Settings()), encoding="utf-8")
    (tmp_path / "mom_priv").mkdir()
    program = [sys.executable, "-I", "-S", "-c", _GOOD_END, str(hook), str(tmp_path), str(config)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert set(done.stdout.split()) <= {
        "__future__",
        "os",
        "posixpath",
        "genericpath",
        "stat",
        "_stat",
        "_collections_abc",
    }


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


def test_a_mom_s_run_reports_the_site_s_own_sensors_in_place_of_the_host_s(hook: Hook) -> None:
    for folder in ("tmp", "mom_priv"):
        (hook.home / folder).mkdir()
    sensors = hook.home / "mom_priv/pbsteer_sensors"
    sensors.write_text("idle=0.25;mem=1024/2048;temp=81/90;gpu=1\n")
    sensors.chmod(0o600)
    vnodes: dict[str, Any] = {"v1": {"resources_available": {}, "resources_assigned": {}}}
    answer = hook.run("exechost_periodic", vnodes=vnodes)
    text = answer["vnodes"]["v1"]["pbsteer_reading"]
    assert ";idle=0.25;mem=1024/2048;" in text
    assert text.endswith("temp=81/90")
    assert "cannot be read: gpu='1'" in "".join(answer["logged"])


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
