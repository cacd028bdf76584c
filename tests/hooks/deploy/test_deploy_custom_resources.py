"""Resources in deploying: what others had made stays theirs, and flags and busy ones are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.hook_names import HOOKS
from hooks.deploy.read_installed_server_state import DeployError, Reply
from hooks.pbs.custom_resources import MODE, PRIORITY, RESOURCES, Resource
from tests.hooks.admin_steps_for_deploy_tests import FAST, SETTINGS, silent, snapshot, use_it
from tests.hooks.fake_qmgr import FakeQmgr


def test_a_resource_that_was_there_before_stays_with_what_uses_it(deployment: Deployment, qmgr: FakeQmgr) -> None:
    qmgr("create resource user_priority type=long,flag=i")
    qmgr("set queue workq max_run_res_soft.user_priority = [u:alice=10]")
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    deployment.remove(silent)
    assert snapshot(qmgr) == before


@pytest.mark.parametrize("name", sorted(RESOURCES))
def test_a_resource_of_another_type_stands_in_the_way_and_nothing_is_changed(
    deployment: Deployment, qmgr: FakeQmgr, name: str
) -> None:
    qmgr(f"create resource {name} type=string_array,flag=h")
    before = snapshot(qmgr)
    attempts: list[Callable[[], object]] = [
        lambda: deployment.plan_apply(SETTINGS),
        lambda: deployment.apply(SETTINGS, silent),
    ]
    for attempt in attempts:
        with pytest.raises(DeployError, match=f"resource {name} is there already, of type string_array"):
            attempt()
    assert snapshot(qmgr) == before


def test_flags_that_an_earlier_version_did_not_set_are_set(deployment: Deployment, qmgr: FakeQmgr) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    qmgr.resources["pbsteer_save"] = "type=string"
    qmgr.resources["pbsteer_app"] = "type=string,flag=r"
    lines = [step.line for step in deployment.plan_apply(SETTINGS)]
    assert lines == ["set resource pbsteer_app flag = ''", "set resource pbsteer_save flag = m"]
    deployment.apply(SETTINGS, silent)
    assert (qmgr.resources["pbsteer_save"], qmgr.resources["pbsteer_app"]) == ("type=string,flag=m", "type=string")
    assert deployment.plan_apply(SETTINGS) == []
    deployment.remove(silent)
    assert snapshot(qmgr) == before


def test_the_same_flags_in_another_order_are_right(deployment: Deployment, qmgr: FakeQmgr, monkeypatch: Any) -> None:
    deployment.apply(SETTINGS, silent)
    monkeypatch.setitem(RESOURCES, "pbsteer_save", Resource("string", "mr"))
    qmgr.resources["pbsteer_save"] = "type=string,flag=rm"
    assert deployment.plan_apply(SETTINGS) == []


def test_flags_of_a_resource_that_somebody_else_made_are_put_back(deployment: Deployment, qmgr: FakeQmgr) -> None:
    qmgr("create resource pbsteer_save type=string,flag=r")
    qmgr("create resource user_priority type=long")
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    deployment.apply(FAST, silent)
    assert (qmgr.resources["pbsteer_save"], qmgr.resources["user_priority"]) == (
        "type=string,flag=m", "type=long,flag=i",
    )  # fmt: skip
    deployment.remove(silent)
    assert snapshot(qmgr) == before
    deployment.apply(SETTINGS, silent)
    qmgr("set resource pbsteer_save flag = h")
    deployment.remove(silent)
    assert (qmgr.resources["pbsteer_save"], qmgr.resources["user_priority"]) == ("type=string,flag=h", "type=long")


def test_flags_that_cannot_be_changed_under_jobs_stop_an_apply_and_are_left_by_a_removal(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    qmgr("create resource pbsteer_save type=string,flag=h")
    before = snapshot(qmgr)
    qmgr.busy = {"pbsteer_save"}
    with pytest.raises(
        DeployError,
        match=r'"set resource pbsteer_save flag = m": .*15174.*: PBS refuses this while a job, a queue or a vnode has'
        r" pbsteer_save, ended jobs of the history too; the server is as it was before",
    ):
        deployment.apply(SETTINGS, silent)
    assert snapshot(qmgr) == before
    qmgr.busy = set()
    deployment.apply(SETTINGS, silent)
    qmgr.busy = {"pbsteer_save"}
    assert deployment.remove(silent).left == ["pbsteer_save"]
    qmgr.busy = set()
    assert deployment.remove(silent).left == []
    assert snapshot(qmgr) == before


def test_a_resource_that_somebody_made_between_two_versions_of_ours_stays(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    """An earlier version made two resources; the later one makes the others, but for one that is there already."""
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    for name in RESOURCES.keys() - {MODE, PRIORITY}:
        qmgr(f"delete resource {name}")
    (tmp_path / "pbsteer" / "installed.json").write_text(json.dumps({"made": [MODE, PRIORITY]}))
    qmgr("create resource pbsteer_app type=string")
    deployment.apply(SETTINGS, silent)
    assert set(RESOURCES) < set(qmgr.resources)
    deployment.remove(silent)
    assert set(qmgr.resources) == {"licences", "pbsteer_app"}
    qmgr("delete resource pbsteer_app")
    assert snapshot(qmgr) == before


def test_a_resource_that_jobs_ask_for_stays_until_they_are_gone(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    qmgr("create resource user_priority type=long,flag=i")
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    qmgr.busy = {"pbsteer_app", "pbsteer_width"}
    assert deployment.remove(silent).left == ["pbsteer_app", "pbsteer_width"]
    assert not set(HOOKS) & set(qmgr.hooks)
    assert qmgr.scheduling == {"default": "True"}
    assert set(qmgr.resources) == {"licences", "user_priority", *qmgr.busy}
    qmgr.busy = set()
    assert deployment.remove(silent).left == []
    qmgr.settings = [line for line in qmgr.settings if "user_priority" not in line]
    assert snapshot(qmgr) == before
    assert not (tmp_path / "pbsteer").exists()


def test_a_removal_leaves_resources_that_limits_name_and_says_what_to_unset(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    limits = [
        "set queue workq max_run_res_soft.user_priority = [u:alice=10]",
        "set queue workq max_run_res_soft.user_priority += [u:bob=5]",
        "set server max_run_res_soft.user_priority = [g:chem=3]",
    ]
    for line in limits:
        qmgr(line)
    removed = deployment.remove(silent)
    unset = ["unset queue workq max_run_res_soft.user_priority", "unset server max_run_res_soft.user_priority"]
    assert (removed.left, removed.limited) == (["user_priority"], {"user_priority": unset})
    assert set(qmgr.resources) == {"licences", "user_priority"}
    assert [line for line in qmgr.settings if "user_priority" in line] == limits
    assert (tmp_path / "pbsteer" / "installed.json").exists()
    for line in unset:
        qmgr(line)
    removed = deployment.remove(silent)
    assert (removed.left, snapshot(qmgr)) == ([], before)
    assert not (tmp_path / "pbsteer").exists()


def test_limits_are_set_again_after_resources_are_deleted_since_pbs_forgets_them(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    limits = [
        "set queue workq max_run = [u:alice=7]",
        "set queue workq max_run = [u:bob=8]",
        "set queue workq max_run_res_soft.ncpus = [u:alice=128]",
        "set queue workq max_run_res_soft.ncpus += [g:chem=512]",
        "set queue workq max_run_res_soft.mem = [u:alice=1gb]",
        "set server max_array_size = 10000",
        "set server queued_jobs_threshold = [o:PBS_ALL=70]",
    ]
    qmgr.settings += limits
    deployment.apply(SETTINGS, silent)
    qmgr.lines.clear()
    deployment.remove(silent)
    deleted = [number for number, line in enumerate(qmgr.lines) if line.startswith("delete resource")]
    again = [
        "set queue workq max_run += [u:alice=7]",
        "set queue workq max_run_res_soft.ncpus += [u:alice=128]",
        "set server queued_jobs_threshold += [o:PBS_ALL=70]",
    ]
    assert qmgr.lines[deleted[-1] + 1 : deleted[-1] + 4] == again


def test_a_resource_that_a_host_reports_meanwhile_gets_its_flags_and_goes_with_the_others(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    before = snapshot(qmgr)
    qmgr.reported = {"pbsteer_reading"}
    deployment.apply(SETTINGS, silent)
    assert qmgr.resources["pbsteer_reading"] == "type=string,flag=r"
    assert deployment.plan_apply(SETTINGS) == []
    deployment.remove(silent)
    assert snapshot(qmgr) == before


def test_a_resource_that_a_host_reports_after_its_deletion_is_deleted_again(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    qmgr("set server max_run = [u:alice=10]")
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    qmgr.reported = {"pbsteer_reading"}
    removed = deployment.remove(silent)
    lines = [step.line for step in removed.steps]
    assert lines.count("delete resource pbsteer_reading") == 2
    assert lines[-1] == "set server max_run += [u:alice=10]"
    assert (removed.left, snapshot(qmgr)) == ([], before)


def test_a_resource_that_pbs_always_says_is_there_ends_the_apply(deployment: Deployment, qmgr: FakeQmgr) -> None:
    def refuse(line: str) -> Reply:
        if line.startswith("create resource pbsteer_reading "):
            return Reply(70, "", "qmgr obj=x svr=default: Duplicate entry in list \nqmgr: Error (15055) returned\n")
        return qmgr(line)

    before = snapshot(qmgr)
    refused = Deployment(str(qmgr.files.parents[1]), refuse)
    with pytest.raises(DeployError, match=r"pbsteer_reading .*Duplicate entry.*the server is as it was before"):
        refused.apply(SETTINGS, silent)
    assert snapshot(qmgr) == before
