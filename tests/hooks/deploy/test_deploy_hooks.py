"""Deploying: what the plan shows is what is done, again is nothing, and what somebody changed is put right."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hooks.deploy.bundle_hook import EVENTS, build
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.hook_events_alarms_and_order import HOOK_EVENTS
from hooks.deploy.hook_names import HOOKS
from hooks.deploy.read_installed_server_state import DeployError, Reply, list_partitions
from hooks.deploy.steps_between_server_states import show_steps
from hooks.pbs.custom_resources import RESOURCES
from policy.settings.settings_of_server_and_passes import ServerSettings
from tests.hooks.admin_steps_for_deploy_tests import FAST, PART, SETTINGS, silent, snapshot, use_it
from tests.hooks.fake_qmgr import FakeQmgr


def test_the_hooks_are_there_with_their_files_intervals_and_resources(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(FAST, silent)
    assert {name: qmgr.hooks[name]["event"] for name in HOOKS} == HOOKS
    assert {qmgr.hooks[name]["enabled"] for name in HOOKS} == {"true"}
    assert (qmgr.hooks["pbsteer_periodic"]["freq"], qmgr.hooks["pbsteer_periodic"]["alarm"]) == ("5", "25")
    assert qmgr.hooks["pbsteer_exechost_periodic"]["freq"] == "60"
    assert {event: qmgr.hooks[f"pbsteer_{event}"]["order"] for event in ("queuejob", "runjob", "periodic")} == {
        "queuejob": "900", "runjob": "900", "periodic": "1",
    }  # fmt: skip
    assert (qmgr.files / "pbsteer_runjob.PY").read_text() == build("runjob")
    assert '"interval_s": 5' in (qmgr.files / "pbsteer_periodic.CF").read_text()
    assert qmgr.resources["pbsteer_mode"] == "type=string,flag=r"
    assert qmgr.resources["user_priority"] == "type=long,flag=i"
    assert qmgr.resources["pbsteer_deferrable"] == "type=boolean"
    assert set(RESOURCES) < set(qmgr.resources)


def test_a_hook_is_enabled_only_when_all_of_it_is_there(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(SETTINGS, silent)
    for name in HOOKS:
        mine = [line for line in qmgr.lines if f" {name} " in line]
        assert "enabled=false" in mine[0]
        assert mine[-1] == f"set hook {name} enabled = true"


def test_apply_does_what_the_plan_shows_and_nothing_else(deployment: Deployment, qmgr: FakeQmgr) -> None:
    planned = list(show_steps(deployment.plan_apply(SETTINGS)))
    assert qmgr.lines == []
    messages: list[str] = []
    deployment.apply(SETTINGS, messages.append)
    assert messages == planned
    assert [f'qmgr -c "{line}"' for line in qmgr.lines] == [line for line in planned if line.startswith("qmgr")]


def test_applying_again_does_nothing(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(SETTINGS, silent)
    qmgr.lines.clear()
    assert deployment.plan_apply(SETTINGS) == []
    deployment.apply(SETTINGS, silent)
    assert qmgr.lines == []


def test_other_settings_change_only_what_they_say(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(SETTINGS, silent)
    qmgr.lines.clear()
    deployment.apply(FAST, silent)
    imported = [line.split()[2] for line in qmgr.lines if line.startswith("import hook")]
    assert sorted(imported) == sorted(HOOKS)
    others = [line for line in qmgr.lines if not line.startswith("import hook")]
    assert others == ["set hook pbsteer_periodic alarm = 25", "set hook pbsteer_periodic freq = 5"]


@pytest.mark.parametrize(
    ("changed", "right"),
    [
        ("enabled = false", "enabled = true"),
        ("alarm = 3", "alarm = 10"),
        ("order = 7", "order = 900"),
        ("user = pbsuser", "user = pbsadmin"),
        ("fail_action = offline_vnodes", "fail_action = none"),
        ("debug = true", "debug = false"),
    ],
)
def test_what_somebody_changed_of_a_hook_is_put_right(
    deployment: Deployment, qmgr: FakeQmgr, changed: str, right: str
) -> None:
    deployment.apply(SETTINGS, silent)
    qmgr(f"set hook pbsteer_queuejob {changed}")
    assert [step.line for step in deployment.plan_apply(SETTINGS)] == [f"set hook pbsteer_queuejob {right}"]


def test_every_event_has_its_row_and_a_mom_s_hook_carries_no_engine() -> None:
    assert set(EVENTS) <= set(HOOK_EVENTS)
    for event in EVENTS:
        if HOOK_EVENTS[event].on_moms:
            assert "_SOURCES['policy.cycle.engine']" not in build(event)


def test_the_record_of_how_it_was_is_written_once(deployment: Deployment, qmgr: FakeQmgr) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    deployment.apply(FAST, silent)
    deployment.remove(silent)
    assert snapshot(qmgr) == before


def test_a_server_without_queues_and_vnodes_gets_and_loses_the_hooks_like_any(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    qmgr.objects = {"queue": [], "node": []}
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    assert deployment.plan_apply(SETTINGS) == []
    deployment.remove(silent)
    assert snapshot(qmgr) == before


@pytest.mark.parametrize("kind", ["queue", "node"])
def test_a_list_that_fails_for_another_cause_is_no_empty_one(kind: str) -> None:
    with pytest.raises(DeployError, match=f'qmgr -c "list {kind} @default partition": cannot connect to server s'):
        list_partitions(lambda _: Reply(1, "", "cannot connect to server s\n"), kind)


def test_a_path_that_qmgr_would_take_apart_is_refused(qmgr: FakeQmgr) -> None:
    with pytest.raises(DeployError, match="PBS_HOME '/var/my spool'"):
        Deployment("/var/my spool", qmgr)


def test_who_may_not_see_hooks_is_not_told_that_there_are_none(tmp_path: Path) -> None:
    def qmgr(line: str) -> Reply:
        assert line == "list hook @default"
        return Reply(0, "", "root@m1 is unauthorized to access hooks data from server s\n")

    with pytest.raises(
        DeployError, match=r"root@m1 is unauthorized .* server s: do this as root, on the server's host"
    ):
        Deployment(str(tmp_path), qmgr).plan_apply(SETTINGS)


def test_the_plan_is_in_groups_that_say_why(deployment: Deployment) -> None:
    steps = deployment.plan_apply(SETTINGS, PART)
    whys = [why for why, _ in itertools.groupby(step.why for step in steps)]
    assert len(whys) == len(set(whys)) == 3 + len(HOOKS)
    assert all(whys)
    shown = list(show_steps(steps))
    assert "\n".join(line for line in shown if line.startswith("#")).replace("\n#   ", " ").splitlines() == [
        f"# {why}" for why in whys
    ]
    assert all(len(line) < 80 for line in shown if line.startswith("#"))
    assert len([line for line in shown if not line.startswith("#")]) == len(steps)
    assert json.loads(json.dumps([step.to_data() for step in steps]))[0]["do"] == "write"


@pytest.mark.parametrize("name", ["pbsteer_runjob", "pbsteer_execjob_epilogue"])
def test_a_hook_that_passes_switch_stays_as_it_is(deployment: Deployment, qmgr: FakeQmgr, name: str) -> None:
    needed = replace(SETTINGS, server=ServerSettings(guard_starts="needed", end_hook="needed"))
    deployment.apply(needed, silent)
    assert qmgr.hooks[name]["enabled"] == "true"
    qmgr.hooks[name]["enabled"] = "false"
    assert deployment.plan_apply(needed) == []
    deployment.apply(replace(SETTINGS, server=ServerSettings(guard_starts="always", end_hook="always")), silent)
    assert qmgr.hooks[name]["enabled"] == "true"
