"""Lines that one qmgr does together have the effect of those done one by one, and the one that fails is named."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.qmgr_lines_in_one_program import ask_in_turn, split_steps
from hooks.deploy.read_installed_server_state import DeployError, Reply
from hooks.deploy.steps_between_server_states import Step
from tests.hooks.admin_steps_for_deploy_tests import FAST, SETTINGS, silent, snapshot
from tests.hooks.fake_qmgr import FakeQmgr


def together(qmgr: FakeQmgr) -> Deployment:
    return Deployment(str(qmgr.files.parents[1]), qmgr, run_lines=qmgr.run_lines)


def test_the_server_gets_the_same_lines_and_the_same_output_is_shown(tmp_path: Path) -> None:
    one_by_one, qmgr = FakeQmgr(tmp_path / "each"), FakeQmgr(tmp_path / "all")
    shown: dict[str, list[str]] = {"each": [], "all": []}
    for settings in (SETTINGS, FAST):
        Deployment(str(tmp_path / "each"), one_by_one).apply(settings, shown["each"].append)
        together(qmgr).apply(settings, shown["all"].append)
    there, here = str(tmp_path / "each"), str(tmp_path / "all")
    assert [line.replace(there, here) for line in one_by_one.lines] == qmgr.lines
    assert [line.replace(there, here) for line in shown["each"]] == shown["all"]
    assert together(qmgr).plan_apply(FAST) == []


def test_a_program_does_all_lines_of_a_hook(tmp_path: Path) -> None:
    steps = Deployment(str(tmp_path), FakeQmgr(tmp_path)).plan_apply(SETTINGS)
    groups = list(split_steps(steps))
    assert [step for group in groups for step in group] == steps
    programs = [group for group in groups if group[0].line]
    assert len(programs) < sum(bool(step.line) for step in steps) / 4
    assert all(len({step.why for step in group}) == 1 for group in programs)


@pytest.mark.parametrize("line", ["delete hook a", "set queue workq enabled = True", "delete resource a"])
def test_what_does_not_add_is_a_program_of_its_own(line: str) -> None:
    steps = [Step("create resource a type=long"), Step(line), Step("create resource b type=long")]
    assert [len(group) for group in split_steps(steps)] == [1, 1, 1]


@pytest.mark.parametrize(
    "refused",
    ["create resource pbsteer_app", "create resource user_priority", "import hook pbsteer_periodic .*config",
     "set hook pbsteer_runjob order", "set hook pbsteer_management enabled"],
)  # fmt: skip
def test_the_line_that_is_refused_is_named_and_the_server_is_as_it_was(tmp_path: Path, refused: str) -> None:
    qmgr = FakeQmgr(tmp_path)
    before = snapshot(qmgr)
    qmgr.refuse = refused
    with pytest.raises(DeployError) as failed:
        together(qmgr).apply(SETTINGS, silent)
    said = str(failed.value)
    assert said.startswith(f'qmgr -c "{refused.partition(" .*")[0]}')
    assert said.endswith('": qmgr obj= svr=default: refused; the server is as it was before')
    assert "overwritten" not in said
    assert snapshot(qmgr) == before


@pytest.mark.parametrize("make", [together, lambda qmgr: Deployment(str(qmgr.files.parents[1]), qmgr)])
def test_a_hook_that_pbs_still_deletes_on_hosts_is_waited_for(
    make: Callable[[FakeQmgr], Deployment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hooks.deploy.deploy_hooks.time.sleep", lambda _: None)
    qmgr = FakeQmgr(tmp_path)
    qmgr.being_deleted = 3
    make(qmgr).apply(SETTINGS, silent)
    assert qmgr.being_deleted == 0
    assert make(qmgr).plan_apply(SETTINGS) == []


def test_one_that_it_does_not_delete_is_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hooks.deploy.deploy_hooks._HOOKS_DELETED_S", 0.0)
    qmgr = FakeQmgr(tmp_path)
    before = snapshot(qmgr)
    qmgr.being_deleted = 10
    with pytest.raises(
        DeployError, match=r"whose MoM does not answer \(pbsnodes -l\).*; the server is as it was before$"
    ):
        together(qmgr).apply(SETTINGS, silent)
    assert snapshot(qmgr) == before


def test_a_program_that_reached_no_server_names_its_first_line() -> None:
    with pytest.raises(DeployError, match=r'^qmgr -c "create hook a": qmgr: cannot connect to server$'):
        ask_in_turn(lambda _: Reply(1, "", "qmgr: cannot connect to server\n"), ["create hook a", "create hook b"])


def test_one_who_is_not_root_is_told_so() -> None:
    complaint = "qmgr obj=a svr=default: root@host is unauthorized to access hooks data\n"
    with pytest.raises(DeployError, match="do this as root"):
        ask_in_turn(lambda _: Reply(0, "create hook a\n", complaint), ["create hook a"])
