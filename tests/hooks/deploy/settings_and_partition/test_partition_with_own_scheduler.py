"""A part of the cluster: its partition is made with a scheduler, and taken back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.hook_names import HOOKS
from hooks.deploy.read_installed_server_state import DeployError
from hooks.deploy.settings_and_partition.partition_with_own_scheduler import Part
from tests.hooks.admin_steps_for_deploy_tests import PART, SETTINGS, silent, snapshot
from tests.hooks.fake_qmgr import FakeQmgr


def test_a_partition_is_made_with_a_scheduler_and_taken_back(deployment: Deployment, qmgr: FakeQmgr) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent, PART)
    assert qmgr.scheduling == {"default": "True", "big": "True"}
    parts = {"sched big": "big", "queue gpu": "big", "node n1": "big", "node n2": "big"}
    assert qmgr.partitions == {"sched default": "pbs-default", **parts}
    assert deployment.plan_apply(SETTINGS, PART) == []
    assert deployment.plan_apply(SETTINGS) == []
    deployment.remove(silent)
    assert snapshot(qmgr) == before


@pytest.mark.parametrize("serves", ["big", "small,big"])
@pytest.mark.parametrize("has_vnode", [True, False])
def test_a_partition_that_has_a_scheduler_is_used_as_it_is(
    deployment: Deployment, qmgr: FakeQmgr, serves: str, has_vnode: bool
) -> None:
    qmgr("create sched other")
    qmgr(f"set sched other partition = {serves}")
    if has_vnode:
        qmgr("set node n1 partition = big")
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent, PART)
    assert set(qmgr.scheduling) == {"default", "other"}
    deployment.remove(silent)
    assert snapshot(qmgr) == before


def test_an_object_goes_back_to_its_partition_unless_moved_since(deployment: Deployment, qmgr: FakeQmgr) -> None:
    qmgr("set node n1 partition = old")
    deployment.apply(SETTINGS, silent, PART)
    deployment.apply(SETTINGS, silent, Part("bigger", ("gpu",), ("n1",)))
    qmgr("set node n2 partition = elsewhere")
    deployment.remove(silent)
    assert qmgr.partitions == {"sched default": "pbs-default", "node n1": "old", "node n2": "elsewhere"}
    assert set(qmgr.scheduling) == {"default"}


def test_vnodes_with_jobs_stand_in_the_way_of_a_partition_before_anything_is_changed(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    qmgr.jobs = {"n2": "7.s/0, 7.s/1, 12[3].s/2"}
    before = snapshot(qmgr)
    with pytest.raises(DeployError, match=r"these have some: n2 \(12\[3\]\.s, 7\.s\): take them offline"):
        deployment.apply(SETTINGS, silent, PART)
    assert snapshot(qmgr) == before


def test_a_plan_is_whole_under_jobs_and_what_stands_in_its_way_is_another_question(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    idle = deployment.plan_apply(SETTINGS, PART)
    assert deployment.find_obstacle(idle) == ""
    qmgr.jobs = {"n2": "7.s/0, 7.s/1, 12[3].s/2"}
    assert deployment.plan_apply(SETTINGS, PART) == idle
    assert "these have some: n2 (12[3].s, 7.s): take them offline" in deployment.find_obstacle(idle)
    assert deployment.find_obstacle(deployment.plan_apply(SETTINGS)) == ""


def test_a_planned_removal_is_whole_under_jobs(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(SETTINGS, silent, PART)
    idle = deployment.plan_remove()
    qmgr.jobs = {"n1": "7.s/0"}
    assert deployment.plan_remove() == idle
    assert "n1 (7.s)" in deployment.find_obstacle(idle)
    assert deployment.find_obstacle(deployment.plan_remove(keep_partition=True)) == ""


def test_removing_under_jobs_is_refused_beforehand_and_can_leave_the_partition(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    deployment.apply(SETTINGS, silent, PART)
    qmgr.jobs = {"n1": "7.s/0"}
    lines = list(qmgr.lines)
    with pytest.raises(DeployError, match=r"n1 \(7\.s\)"):
        deployment.remove(silent)
    assert qmgr.lines == lines
    deployment.remove(silent, keep_partition=True)
    assert not set(HOOKS) & set(qmgr.hooks)
    assert qmgr.partitions["node n1"] == "big"
    assert not (tmp_path / "pbsteer").exists()


def test_a_scheduler_of_the_partition_s_name_that_serves_another_is_reported(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    qmgr("create sched big")
    with pytest.raises(DeployError, match="big is the name of one that serves none: qmgr -c"):
        deployment.plan_apply(SETTINGS, PART)


@pytest.mark.parametrize("word", ["", "a b", "x;y", "-x", "a,b", "a=b", "@default", "x\n"])
def test_a_name_that_qmgr_would_take_apart_is_refused(word: str) -> None:
    for part in ((word, (), ()), ("p", (word,), ()), ("p", (), (word,))):
        with pytest.raises(DeployError, match="allowed in the name"):
            Part(*part)


def test_whichever_step_of_a_partition_fails_the_server_is_as_it_was(tmp_path: Path) -> None:
    planned = Deployment(str(tmp_path / "plan"), FakeQmgr(tmp_path / "plan")).plan_apply(SETTINGS, PART)
    lines = [step.line for step in planned if "partition" in step.line or "sched" in step.line]
    assert len(lines) == 6
    for number, line in enumerate(lines):
        home = tmp_path / str(number)
        qmgr = FakeQmgr(home)
        before = snapshot(qmgr)
        qmgr.refuse = f"^{re.escape(line)}$"
        with pytest.raises(DeployError, match="the server is as it was before"):
            Deployment(str(home), qmgr).apply(SETTINGS, silent, PART)
        assert snapshot(qmgr) == before, line
