"""Deploying: what the plan shows is what is done, again is nothing, and whatever fails leaves the server as it was."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from hooks.bundle import build
from hooks.deploy import HOOKS, DeployError, Deployment
from hooks.resources import MODE, PRIORITY, RESOURCES
from policy.settings import PassSettings, Settings
from tests.hooks.fake_qmgr import FakeQmgr

SETTINGS = Settings()
FAST = Settings(schedule=PassSettings(interval_s=5, budget_s=2))


@pytest.fixture
def qmgr(tmp_path: Path) -> FakeQmgr:
    return FakeQmgr(tmp_path)


@pytest.fixture
def deployment(tmp_path: Path, qmgr: FakeQmgr) -> Deployment:
    return Deployment(str(tmp_path), qmgr)


def silent(_: str) -> None:
    return


def snapshot(qmgr: FakeQmgr) -> Any:
    return copy.deepcopy(qmgr.everything())


def use_it(qmgr: FakeQmgr) -> None:
    """What an administrator sets once the hooks are there."""
    qmgr("set queue workq resources_available.pbsteer_mode = drive")
    qmgr("set queue workq max_run_res_soft.user_priority = [u:alice=10]")
    qmgr("set queue workq max_run_res_soft.user_priority += [u:bob=5]")
    qmgr("set sched default scheduling = False")


def test_the_hooks_are_there_with_their_files_intervals_and_resources(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(FAST, silent)
    assert {name: qmgr.hooks[name]["event"] for name in HOOKS} == HOOKS
    assert {qmgr.hooks[name]["enabled"] for name in HOOKS} == {"true"}
    assert (qmgr.hooks["pbsteer_periodic"]["freq"], qmgr.hooks["pbsteer_periodic"]["alarm"]) == ("5", "7")
    assert (qmgr.files / "pbsteer_runjob.PY").read_text() == build("runjob")
    assert '"interval_s": 5' in (qmgr.files / "pbsteer_periodic.CF").read_text()
    assert qmgr.resources["pbsteer_mode"] == "type=string,flag=i"
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
    planned = [step.show() for step in deployment.plan_apply(SETTINGS)]
    assert qmgr.lines == []
    said: list[str] = []
    deployment.apply(SETTINGS, said.append)
    assert said == planned
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
    assert [line.split()[0] for line in qmgr.lines] == ["import", "import", "import", "set", "set"]
    assert qmgr.lines[-1] == "set hook pbsteer_periodic freq = 5"


def test_a_hook_that_somebody_disabled_is_enabled_again(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(SETTINGS, silent)
    qmgr("set hook pbsteer_runjob enabled = false")
    assert [step.line for step in deployment.plan_apply(SETTINGS)] == ["set hook pbsteer_runjob enabled = true"]


def test_removing_leaves_the_server_as_it_was_found(deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    assert snapshot(qmgr) != before
    deployment.remove(silent)
    assert snapshot(qmgr) == before
    assert not (tmp_path / "pbsteer").exists()
    assert deployment.plan_remove() == []


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
    for attempt in (lambda: deployment.plan_apply(SETTINGS), lambda: deployment.apply(SETTINGS, silent)):
        with pytest.raises(DeployError, match=f"resource {name} is there already, of type string_array"):
            attempt()
    assert snapshot(qmgr) == before


def test_a_resource_that_somebody_made_between_two_versions_of_ours_stays(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    """An earlier version made two resources, and recorded only those it had found."""
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    for name in RESOURCES.keys() - {MODE, PRIORITY}:
        qmgr(f"delete resource {name}")
    (tmp_path / "pbsteer" / "installed.json").write_text('{"resources": [], "scheduling": {"default": "True"}}')
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
    assert deployment.remove(silent) == ["pbsteer_app", "pbsteer_width"]
    assert not set(HOOKS) & set(qmgr.hooks)
    assert qmgr.scheduling == {"default": "True"}
    assert set(qmgr.resources) == {"licences", "user_priority", *qmgr.busy}
    qmgr.busy = set()
    assert deployment.remove(silent) == []
    qmgr.settings = [line for line in qmgr.settings if "user_priority" not in line]
    assert snapshot(qmgr) == before
    assert not (tmp_path / "pbsteer").exists()


def test_the_record_of_how_it_was_is_written_once(deployment: Deployment, qmgr: FakeQmgr) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    deployment.apply(FAST, silent)
    deployment.remove(silent)
    assert snapshot(qmgr) == before


def test_whichever_line_of_apply_is_refused_the_server_is_as_it_was(tmp_path: Path) -> None:
    lines = [step.line for step in Deployment(str(tmp_path), FakeQmgr(tmp_path)).plan_apply(SETTINGS) if step.line]
    assert len(lines) > 10
    for number in range(len(lines)):
        home = tmp_path / str(number)
        qmgr = FakeQmgr(home)
        before = snapshot(qmgr)
        qmgr.refuse = "^" + "".join(f"(?:{c})" if c.isalnum() else f"\\{c}" for c in lines[number].split("/")[0])
        with pytest.raises(DeployError, match=r"refused.*the server is as it was before"):
            Deployment(str(home), qmgr).apply(SETTINGS, silent)
        assert snapshot(qmgr) == before, lines[number]


def test_whichever_line_of_an_update_is_refused_the_old_version_works_on(tmp_path: Path) -> None:
    for number, pattern in enumerate(["import hook pbsteer_queuejob", "import hook pbsteer_periodic", "alarm", "freq"]):
        home = tmp_path / str(number)
        qmgr = FakeQmgr(home)
        deployment = Deployment(str(home), qmgr)
        deployment.apply(SETTINGS, silent)
        before = snapshot(qmgr)
        qmgr.refuse = pattern
        with pytest.raises(DeployError, match="the server is as it was before"):
            deployment.apply(FAST, silent)
        assert snapshot(qmgr) == before, pattern


def test_whichever_line_of_remove_is_refused_the_hooks_are_still_there(tmp_path: Path) -> None:
    for number, pattern in enumerate(["delete hook pbsteer_runjob", "unset queue", "delete resource", "set sched"]):
        home = tmp_path / str(number)
        qmgr = FakeQmgr(home)
        deployment = Deployment(str(home), qmgr)
        deployment.apply(SETTINGS, silent)
        use_it(qmgr)
        before = deployment.read()
        qmgr.refuse = pattern
        with pytest.raises(DeployError, match="the server is as it was before"):
            deployment.remove(silent)
        assert deployment.read() == before, pattern


def test_a_server_that_refuses_to_go_back_too_is_told(deployment: Deployment, qmgr: FakeQmgr) -> None:
    class Stubborn(FakeQmgr):
        def __call__(self, line: str) -> Any:
            if line.startswith("import"):
                self.refuse = "delete"
                return type(super().__call__("list resource"))(1, "", "no import today")
            return super().__call__(line)

    stubborn = Stubborn(qmgr.files.parents[1] / "b")
    with pytest.raises(DeployError, match=r"no import today.*going back failed too: .*refused"):
        Deployment(str(stubborn.files.parents[1]), stubborn).apply(SETTINGS, silent)


def test_a_path_that_qmgr_would_take_apart_is_refused(qmgr: FakeQmgr) -> None:
    with pytest.raises(DeployError, match="PBS_HOME '/var/my spool'"):
        Deployment("/var/my spool", qmgr)
