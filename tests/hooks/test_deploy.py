"""Deploying: what the plan shows is what is done, again is nothing, and whatever fails leaves the server as it was."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from hooks.advise import Changed, write_priorities
from hooks.bundle import EVENTS, build
from hooks.deploy import HOOKS, Deployment, Part
from hooks.events import HOOK_EVENTS
from hooks.installed import DeployError, Reply
from hooks.resources import MODE, PRIORITY, RESOURCES, Resource
from hooks.schedulers import Switched
from hooks.state import SecondWriterError, State, state_folder
from hooks.steps import show_steps
from policy.settings import PassSettings, Settings
from tests.hooks.fake_qmgr import FakeQmgr

SETTINGS = Settings()
FAST = Settings(schedule=PassSettings(interval_s=5, budget_s=2))


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
    switched_by_a_pass(qmgr, "default")


def switched_by_a_pass(qmgr: FakeQmgr, *names: str) -> None:
    """What a pass writes down of the schedulers that it switches off."""
    Switched(frozenset(names)).write(State(state_folder(str(qmgr.files.parents[1]))))


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


def test_the_hooks_are_there_with_their_files_intervals_and_resources(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(FAST, silent)
    assert {name: qmgr.hooks[name]["event"] for name in HOOKS} == HOOKS
    assert {qmgr.hooks[name]["enabled"] for name in HOOKS} == {"true"}
    assert (qmgr.hooks["pbsteer_periodic"]["freq"], qmgr.hooks["pbsteer_periodic"]["alarm"]) == ("5", "7")
    assert qmgr.hooks["pbsteer_exechost_periodic"]["freq"] == "60"
    assert {event: qmgr.hooks[f"pbsteer_{event}"]["order"] for event in ("queuejob", "runjob", "periodic")} == {
        "queuejob": "900", "runjob": "900", "periodic": "1",
    }  # fmt: skip
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
    planned = list(show_steps(deployment.plan_apply(SETTINGS)))
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
    imported = [line.split()[2] for line in qmgr.lines if line.startswith("import hook")]
    assert sorted(imported) == sorted(HOOKS)
    others = [line for line in qmgr.lines if not line.startswith("import hook")]
    assert others == ["set hook pbsteer_periodic alarm = 7", "set hook pbsteer_periodic freq = 5"]


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
    qmgr(f"set hook pbsteer_runjob {changed}")
    assert [step.line for step in deployment.plan_apply(SETTINGS)] == [f"set hook pbsteer_runjob {right}"]


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
    said: list[str] = []
    deployment.remove(said.append)
    assert programs.jobs == others
    assert said.index("qrls -h s 0.s") > said.index('qmgr -c "delete hook pbsteer_periodic"')
    programs.deaf = True
    assert deployment.plan_remove() == []


def test_removing_puts_back_the_priorities_that_are_still_ours(tmp_path: Path, qmgr: FakeQmgr) -> None:
    programs = Programs({})
    deployment = Deployment(str(tmp_path), qmgr, programs)
    deployment.apply(SETTINGS, silent)
    changed = {"1.s": Changed(3, (-681,)), "2.s": Changed(0, (-681, 1023)), "3.s": Changed(5, (7,))}
    write_priorities(State(state_folder(str(tmp_path))), changed)
    programs.priorities = {"1.s": -681, "2.s": 1023, "3.s": 8, "other.s": -681}
    said: list[str] = []
    deployment.remove(said.append)
    assert programs.priorities == {"1.s": 3, "2.s": 0, "3.s": 8, "other.s": -681}
    assert "qalter -p 3 1.s" in said


def test_a_pass_under_way_is_waited_for_before_anybody_else_starts_jobs_and_the_guard_goes_last(
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

    said: list[str] = []

    def say(line: str) -> None:
        if line.startswith("qmgr"):
            said.append(line)
            watch(line)

    deployment.remove(say)
    assert said[0] == 'qmgr -c "delete hook pbsteer_periodic"'
    assert free[0] and not any(free[1:])
    hooks = [number for number, line in enumerate(said) if "delete hook" in line]
    assert "pbsteer_runjob" in said[hooks[-1]]
    assert said[hooks[-1] - 1] == 'qmgr -c "set sched default scheduling = True"'


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


def test_a_server_that_does_not_tell_who_is_held_keeps_its_hooks(tmp_path: Path, qmgr: FakeQmgr) -> None:
    programs = Programs({})
    deployment = Deployment(str(tmp_path), qmgr, programs)
    deployment.apply(SETTINGS, silent)
    programs.deaf = True
    with pytest.raises(DeployError, match="qselect -h s: cannot connect"):
        deployment.remove(silent)
    assert set(HOOKS) < set(qmgr.hooks)


def test_every_event_has_its_row_and_a_mom_s_hook_carries_no_engine() -> None:
    assert set(EVENTS) <= set(HOOK_EVENTS)
    for event in EVENTS:
        if HOOK_EVENTS[event].on_moms:
            assert "_SOURCES['policy.engine']" not in build(event)


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
    assert deployment.remove(silent).left == ["pbsteer_app", "pbsteer_width"]
    assert not set(HOOKS) & set(qmgr.hooks)
    assert qmgr.scheduling == {"default": "True"}
    assert set(qmgr.resources) == {"licences", "user_priority", *qmgr.busy}
    qmgr.busy = set()
    assert deployment.remove(silent).left == []
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


def test_who_may_not_see_hooks_is_not_told_that_there_are_none(tmp_path: Path) -> None:
    def qmgr(line: str) -> Reply:
        assert line == "list hook @default"
        return Reply(0, "", "root@m1 is unauthorized to access hooks data from server s\n")

    with pytest.raises(
        DeployError, match=r"root@m1 is unauthorized .* server s: do this as root, on the server's host"
    ):
        Deployment(str(tmp_path), qmgr).plan_apply(SETTINGS)


PART = Part("big", ("gpu",), ("n1", "n2"))


def test_a_partition_is_made_with_a_scheduler_and_taken_back(deployment: Deployment, qmgr: FakeQmgr) -> None:
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent, PART)
    assert qmgr.scheduling == {"default": "True", "big": "False"}
    parts = {"sched big": "big", "queue gpu": "big", "node n1": "big", "node n2": "big"}
    assert qmgr.partitions == {"sched default": "pbs-default", **parts}
    assert deployment.plan_apply(SETTINGS, PART) == []
    assert deployment.plan_apply(SETTINGS) == []
    deployment.remove(silent)
    assert snapshot(qmgr) == before


def test_a_partition_that_has_a_scheduler_is_used_as_it_is(deployment: Deployment, qmgr: FakeQmgr) -> None:
    qmgr("create sched other")
    qmgr("set sched other partition = big")
    qmgr("set node n1 partition = big")
    before = snapshot(qmgr)
    deployment.apply(SETTINGS, silent, PART)
    assert set(qmgr.scheduling) == {"default", "other"}
    deployment.remove(silent)
    assert snapshot(qmgr) == before


def test_an_object_goes_back_to_the_partition_that_it_had_and_stays_where_somebody_moved_it(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
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


def test_a_scheduler_of_the_partition_s_name_that_serves_another_is_told(
    deployment: Deployment, qmgr: FakeQmgr
) -> None:
    qmgr("create sched big")
    with pytest.raises(DeployError, match="big is the name of one that serves another"):
        deployment.plan_apply(SETTINGS, PART)


@pytest.mark.parametrize("word", ["", "a b", "x;y", "-x", "a,b", "a=b", "@default", "x\n"])
def test_a_name_that_qmgr_would_take_apart_is_refused(word: str) -> None:
    for part in ((word, (), ()), ("p", (word,), ()), ("p", (), (word,))):
        with pytest.raises(DeployError, match="allowed in the name"):
            Part(*part)


def test_whichever_step_of_a_partition_fails_the_server_is_as_it_was(tmp_path: Path) -> None:
    planned = Deployment(str(tmp_path / "plan"), FakeQmgr(tmp_path / "plan")).plan_apply(SETTINGS, PART)
    lines = [step.line for step in planned if "partition" in step.line or "sched" in step.line]
    assert len(lines) == 5
    for number, line in enumerate(lines):
        home = tmp_path / str(number)
        qmgr = FakeQmgr(home)
        before = snapshot(qmgr)
        qmgr.refuse = f"^{re.escape(line)}$"
        with pytest.raises(DeployError, match="the server is as it was before"):
            Deployment(str(home), qmgr).apply(SETTINGS, silent, PART)
        assert snapshot(qmgr) == before, line


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
