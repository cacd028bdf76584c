"""Whatever fails in deploying, and whoever interrupts it, leaves the server as it was."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from hooks.deploy.bundle_hook import build
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.read_installed_server_state import DeployError
from tests.hooks.admin_steps_for_deploy_tests import FAST, PART, SETTINGS, silent, snapshot, use_it
from tests.hooks.fake_qmgr import FakeQmgr


def test_a_record_that_cannot_be_read_stops_both_and_moved_away_it_is_written_anew(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    record = tmp_path / "pbsteer" / "installed.json"
    written = record.read_text()
    assert record.stat().st_mode & 0o777 == 0o600
    record.write_text("")
    lines = list(qmgr.lines)
    attempts: list[Callable[[], object]] = [
        lambda: deployment.apply(SETTINGS, silent),
        lambda: deployment.remove(silent),
    ]
    for attempt in attempts:
        with pytest.raises(DeployError, match=r"installed\.json cannot be read .* Move it away"):
            attempt()
    assert qmgr.lines == lines
    record.unlink()
    deployment.apply(SETTINGS, silent)
    assert record.read_text() == written
    deployment.remove(silent)
    assert snapshot(qmgr) == before


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_who_interrupts_finds_the_server_as_it_was(
    deployment: Deployment, qmgr: FakeQmgr, interruption: type[BaseException]
) -> None:
    def interrupt(line: str) -> None:
        if "import hook pbsteer_runjob" in line:
            raise interruption

    before = snapshot(qmgr)
    with pytest.raises(interruption):
        deployment.apply(SETTINGS, interrupt)
    assert snapshot(qmgr) == before


@pytest.mark.slow
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


def test_a_server_that_refuses_to_go_back_too_is_reported(deployment: Deployment, qmgr: FakeQmgr) -> None:
    class Stubborn(FakeQmgr):
        def __call__(self, line: str) -> Any:
            if line.startswith("import"):
                self.refuse = "delete"
                return type(super().__call__("list resource"))(1, "", "no import today")
            return super().__call__(line)

    stubborn = Stubborn(qmgr.files.parents[1] / "b")
    with pytest.raises(DeployError, match=r"no import today.*going back failed too: .*refused"):
        Deployment(str(stubborn.files.parents[1]), stubborn).apply(SETTINGS, silent)


@pytest.mark.slow
def test_whichever_step_of_a_removal_fails_the_server_is_as_it_was(tmp_path: Path) -> None:
    lines = ["delete hook pbsteer_exechost_periodic"]
    for number in range(40):
        home = tmp_path / str(number)
        qmgr = FakeQmgr(home)
        deployment = Deployment(str(home), qmgr)
        deployment.apply(SETTINGS, silent, PART)
        use_it(qmgr)
        lines = [step.line for step in deployment.plan_remove() if step.line]
        if number == len(lines):
            break
        before, files = deployment.read(), (home / "pbsteer" / "installed.json").read_text()
        qmgr.refuse = f"^{re.escape(lines[number])}$"
        with pytest.raises(DeployError, match="the server is as it was before"):
            deployment.remove(silent)
        now = deployment.read()
        assert replace(now, lines=()) == replace(before, lines=()), lines[number]
        assert sorted(now.lines) == sorted(before.lines), lines[number]
        assert (home / "pbsteer" / "installed.json").read_text() == files
    assert number == len(lines) > 20


def test_a_file_that_cannot_be_written_leaves_the_server_as_it_was(deployment: Deployment, qmgr: FakeQmgr) -> None:
    (qmgr.files.parents[1] / "pbsteer").write_text("somebody's file")
    before = snapshot(qmgr)
    with pytest.raises(DeployError, match=r"installed\.json.*the server is as it was before"):
        deployment.apply(SETTINGS, silent)
    assert snapshot(qmgr) == before


def test_of_two_who_change_the_server_at_once_one_is_refused_and_nothing_is_undone(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    other = Deployment(str(tmp_path), qmgr)
    refused: list[str] = []

    def meanwhile(_: str) -> None:
        for attempt in (lambda: other.apply(FAST, silent), lambda: other.remove(silent)):
            with pytest.raises(DeployError) as caught:
                attempt()
            refused.append(str(caught.value))

    deployment.apply(SETTINGS, meanwhile)
    assert set(refused) == {
        f"{qmgr.files} is locked: another pbsteer hooks apply or remove is at work on this server; wait for its end"
    }
    assert deployment.plan_apply(SETTINGS) == []
    deployment.remove(meanwhile)
    other.apply(FAST, silent)


def test_a_home_without_a_server_s_hooks_is_reported(tmp_path: Path) -> None:
    home = tmp_path / "other"
    deployment = Deployment(str(home), FakeQmgr(tmp_path))
    with pytest.raises(DeployError, match=r"server_priv/hooks: No such file or directory: do this as root"):
        deployment.apply(SETTINGS, silent)
    (home / "server_priv" / "hooks").mkdir(parents=True)
    attempts: list[Callable[[], object]] = [
        deployment.read, lambda: deployment.apply(SETTINGS, silent), lambda: deployment.remove(silent),
    ]  # fmt: skip
    for attempt in attempts:
        with pytest.raises(
            DeployError, match=rf"server\.lock is not there: no PBS server has run with PBS_HOME {home},"
        ):
            attempt()
    assert not (home / "pbsteer").exists()


def test_a_hook_of_our_name_that_somebody_else_made_is_neither_replaced_nor_deleted(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    qmgr("create hook pbsteer_runjob event=runjob")
    (qmgr.files / "pbsteer_runjob.PY").write_text("import pbs\npbs.event().accept()\n")
    before = snapshot(qmgr)
    attempts: list[Callable[[], object]] = [
        lambda: deployment.plan_apply(SETTINGS), lambda: deployment.apply(SETTINGS, silent),
        deployment.plan_remove, lambda: deployment.remove(silent),
    ]  # fmt: skip
    for attempt in attempts:
        with pytest.raises(DeployError, match="hook pbsteer_runjob is there already, and its script is not pbsteer's"):
            attempt()
    assert snapshot(qmgr) == before
    qmgr("delete hook pbsteer_runjob")
    deployment.apply(SETTINGS, silent)
    (qmgr.files / "pbsteer_runjob.PY").write_text("# changed by somebody\n")
    deployment.apply(SETTINGS, silent)
    assert (qmgr.files / "pbsteer_runjob.PY").read_text() == build("runjob")
