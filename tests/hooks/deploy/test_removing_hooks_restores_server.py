"""Removing the hooks: the server is as it was found, with what passes had switched, held and changed put back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from hooks.control.pbs_scheduler.scheduler_switch import Switched
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.hook_names import HOOKS
from hooks.deploy.read_installed_server_state import DeployError, Reply
from hooks.store.original_priorities import Changed, write_priorities
from hooks.store.state_files import SecondWriterError, State
from hooks.store.state_folder import state_folder
from tests.hooks.admin_steps_for_deploy_tests import SETTINGS, silent, snapshot, switched_by_a_pass, use_it
from tests.hooks.fake_qmgr import FakeQmgr


def test_removing_switches_on_what_a_pass_switched_off_and_nothing_else(deployment: Deployment, qmgr: FakeQmgr) -> None:
    qmgr("set sched default scheduling = False")
    deployment.apply(SETTINGS, silent)
    switched_by_a_pass(qmgr)
    qmgr("set sched default scheduling = True")
    deployment.remove(silent)
    assert qmgr.scheduling == {"default": "True"}
    deployment.apply(SETTINGS, silent)
    switched_by_a_pass(qmgr)
    qmgr("set sched default scheduling = False")
    deployment.remove(silent)
    assert qmgr.scheduling == {"default": "False"}


def test_removing_does_not_end_a_stop_of_the_servers_scheduling(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    Switched(frozenset({"default"}), unset=True).write(State(state_folder(str(tmp_path))))
    qmgr.settings.append("set server scheduling = False")
    deployment.remove(silent)
    assert qmgr.scheduling == {"default": "False"}


def test_who_switches_a_scheduler_off_after_a_first_removal_is_somebody_else(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    qmgr.busy = {"pbsteer_save"}
    deployment.remove(silent)
    assert qmgr.scheduling == {"default": "True"}
    qmgr("set sched default scheduling = False")
    qmgr.busy = set()
    deployment.remove(silent)
    assert qmgr.scheduling == {"default": "False"}


@pytest.mark.parametrize(("mode", "after"), [("drive", "True"), ("observe", "False")])
def test_where_what_was_switched_is_lost_the_schedulers_of_driven_queues_are_switched_on(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path, mode: str, after: str
) -> None:
    deployment.apply(SETTINGS, silent)
    qmgr(f"set queue workq resources_available.pbsteer_mode = {mode}")
    qmgr("set sched default scheduling = False")
    (tmp_path / "pbsteer" / "schedulers.json").write_text("")
    deployment.remove(silent)
    assert qmgr.scheduling == {"default": after}


class Programs:
    """PBS's commands on a server that has held jobs: what ``estimated`` says of each, by its id."""

    def __init__(self, jobs: dict[str, str]) -> None:
        self.jobs = jobs
        self.priorities: dict[str, int] = {}
        self.stubborn: set[str] = set()
        self.deaf = False

    def __call__(self, argv: Sequence[str]) -> Reply:
        if self.deaf:
            return Reply(1, "", "cannot connect")
        if argv[0] == "qselect":
            if argv[1] == "-p":
                with_it = (job_id for job_id, now in self.priorities.items() if argv[2] == f".eq.{now}")
                return Reply(0, "\n".join(with_it), "")
            assert list(argv[1:]) == ["-h", "s"]
            return Reply(0, "\n".join(self.jobs), "")
        if argv[0] == "qalter":
            self.priorities[argv[3]] = int(argv[2])
            return Reply(0, "", "")
        if argv[0] == "qstat":
            jobs = {job_id: {"estimated": {"site": self.jobs[job_id]}} for job_id in argv[4:5]}
            return Reply(0, json.dumps({"Jobs": jobs}), "")
        assert list(argv[:3]) == ["qrls", "-h", "s"]
        if argv[3] in self.stubborn or argv[3] not in self.jobs:
            return Reply(1, "", "qrls: refused")
        del self.jobs[argv[3]]
        return Reply(0, "", "")


MARK = "pbsteer for=9.s asked=5 until=9 held"


def test_removing_lets_our_held_victims_go_and_nobody_else_s(tmp_path: Path, qmgr: FakeQmgr) -> None:
    jobs = {f"{number}.s": MARK for number in range(150)}
    others = {"a[].s": "", "b.s": "pbsteer for=9.s asked=5 until=9", "c.s": "somebody's own"}
    programs = Programs({**jobs, **others})
    deployment = Deployment(str(tmp_path), qmgr, programs)
    deployment.apply(SETTINGS, silent)
    assert programs.jobs == {**jobs, **others}
    messages: list[str] = []
    deployment.remove(messages.append)
    assert programs.jobs == others
    assert messages.index("qrls -h s 0.s") > messages.index('qmgr -c "delete hook pbsteer_periodic"')
    programs.deaf = True
    assert deployment.plan_remove() == []


def test_what_the_last_pass_did_while_the_removal_began_is_undone_too(tmp_path: Path, qmgr: FakeQmgr) -> None:
    """It has held a victim, given a priority and ended the scheduler's own cycle since the removal was planned."""
    programs, state = Programs({"old.s": MARK}), State(state_folder(str(tmp_path)))
    deployment = Deployment(str(tmp_path), qmgr, programs)
    deployment.apply(SETTINGS, silent)
    Switched(frozenset({"default"}), unset=True).write(state)

    def act_of_last_pass(line: str) -> None:
        if line == 'qmgr -c "delete hook pbsteer_periodic"':
            programs.jobs["new.s"], programs.priorities["7.s"] = MARK, 1023
            write_priorities(state, {"7.s": Changed(5, (1023,))})
            qmgr.scheduling["default"] = "False"

    removed = deployment.remove(act_of_last_pass)
    assert (programs.jobs, programs.priorities, qmgr.scheduling) == ({}, {"7.s": 5}, {"default": "True"})
    assert [step.show() for step in removed.steps].count("qrls -h s new.s") == 1


def test_the_hooks_stay_while_a_job_saves(tmp_path: Path, qmgr: FakeQmgr) -> None:
    programs, told = Programs({}), {"saving": {"1.s": 1060}}

    def answer(argv: Sequence[str]) -> Reply:
        return Reply(0, json.dumps(told), "") if argv[0] == "pbs_python" else programs(argv)

    deployment = Deployment(str(tmp_path), qmgr, answer, "/opt/pbs")
    deployment.apply(SETTINGS, silent)
    before = snapshot(qmgr)
    assert "1.s until" in deployment.find_obstacle(deployment.plan_remove())
    with pytest.raises(DeployError, match=r"1\.s until .* set the queues to observe"):
        deployment.remove(silent)
    assert snapshot(qmgr) == before
    told["saving"].clear()
    deployment.remove(silent)
    assert not set(HOOKS) & set(qmgr.hooks)


def test_removing_puts_back_the_priorities_that_are_still_ours(tmp_path: Path, qmgr: FakeQmgr) -> None:
    programs = Programs({})
    deployment = Deployment(str(tmp_path), qmgr, programs)
    deployment.apply(SETTINGS, silent)
    changed = {"1.s": Changed(3, (-681,)), "2.s": Changed(0, (-681, 1023)), "3.s": Changed(5, (7,))}
    write_priorities(State(state_folder(str(tmp_path))), changed)
    programs.priorities = {"1.s": -681, "2.s": 1023, "3.s": 8, "other.s": -681}
    messages: list[str] = []
    deployment.remove(messages.append)
    assert programs.priorities == {"1.s": 3, "2.s": 0, "3.s": 8, "other.s": -681}
    assert "qalter -p 3 1.s" in messages


def test_a_removal_waits_for_a_pass_under_way_and_takes_the_guard_last(
    deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path
) -> None:
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    state = State(tmp_path / "pbsteer")
    free: list[bool] = []

    def watch(line: str) -> None:
        try:
            with state.locked():
                free.append(True)
        except SecondWriterError:
            free.append(False)

    messages: list[str] = []

    def say(line: str) -> None:
        if line.startswith("qmgr"):
            messages.append(line)
            watch(line)

    deployment.remove(say)
    assert messages[0] == 'qmgr -c "delete hook pbsteer_periodic"'
    assert free[0] and not any(free[1:])
    hooks = [number for number, line in enumerate(messages) if "delete hook" in line]
    assert "pbsteer_runjob" in messages[hooks[-1]]
    assert messages[hooks[-1] - 1] == 'qmgr -c "set sched default scheduling = True"'


def test_a_victim_that_cannot_be_let_go_stops_the_removal_and_one_that_has_gone_does_not(
    tmp_path: Path, qmgr: FakeQmgr
) -> None:
    programs = Programs({"1.s": MARK, "2.s": MARK})
    deployment = Deployment(str(tmp_path), qmgr, programs)
    deployment.apply(SETTINGS, silent)
    programs.stubborn = {"2.s"}
    with pytest.raises(DeployError, match=r"qrls -h s 2\.s: qrls: refused; the server is as it was before"):
        deployment.remove(silent)
    assert set(HOOKS) < set(qmgr.hooks)
    deployment.remove(lambda line: programs.jobs.clear() if line.startswith("qrls") else None)
    assert not set(HOOKS) & set(qmgr.hooks)


def test_a_victim_with_a_resource_of_deeply_nested_json_is_let_go_too(tmp_path: Path, qmgr: FakeQmgr) -> None:
    """PBS prints the resource as JSON, nested more deeply than Python's own reader takes."""

    class Nesting(Programs):
        def __call__(self, argv: Sequence[str]) -> Reply:
            reply = super().__call__(argv)
            deep = '"Resource_List": {"software": ' + "[" * 3000 + "]" * 3000 + '}, "estimated"'
            return reply._replace(text=reply.text.replace('"estimated"', deep))

    programs = Nesting({"1.s": MARK})
    deployment = Deployment(str(tmp_path), qmgr, programs)
    deployment.apply(SETTINGS, silent)
    deployment.remove(silent)
    assert programs.jobs == {}


def test_a_server_that_does_not_tell_who_is_held_keeps_its_hooks(tmp_path: Path, qmgr: FakeQmgr) -> None:
    programs = Programs({})
    deployment = Deployment(str(tmp_path), qmgr, programs)
    deployment.apply(SETTINGS, silent)
    programs.deaf = True
    with pytest.raises(DeployError, match="qselect -h s: cannot connect"):
        deployment.remove(silent)
    assert set(HOOKS) < set(qmgr.hooks)


def test_removing_leaves_the_server_as_it_was_found(deployment: Deployment, qmgr: FakeQmgr, tmp_path: Path) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent)
    use_it(qmgr)
    assert snapshot(qmgr) != before
    deployment.remove(silent)
    assert snapshot(qmgr) == before
    assert not (tmp_path / "pbsteer").exists()
    assert deployment.plan_remove() == []


def test_removing_where_nothing_of_ours_is_touches_no_resource_of_the_same_name(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    """It is somebody else's: there is no record that we made it, and no hook that could have lost its record."""
    qmgr("create resource user_priority type=long,flag=i")
    qmgr("set queue workq max_run_res_soft.user_priority = [u:alice=10]")
    before = snapshot(qmgr)
    for _ in range(2):
        assert deployment.plan_remove() == []
        deployment.remove(silent)
        assert snapshot(qmgr) == before
        deployment.apply(SETTINGS, silent)
        deployment.remove(silent)


def test_removing_takes_what_pbs_keeps_of_our_hooks_also_where_somebody_else_deleted_them(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    folder = qmgr.files / "tmp"
    folder.mkdir()
    deployment.apply(SETTINGS, silent)
    assert list(folder.iterdir()) == []
    (folder / "hook_periodic_pbsteer_periodic_7.out").write_text("")
    messages: list[str] = []
    deployment.remove(messages.append)
    assert f"remove what is of our hooks in {folder}" in messages
    assert list(folder.iterdir()) == []
    (folder / "hook_periodic_pbsteer_periodic_8.out").write_text("")
    assert [step.to_data() for step in deployment.plan_remove()] == [{"do": "sweep", "path": str(folder)}]
    deployment.remove(silent)
    assert list(folder.iterdir()) == []
