"""What ``status`` says: nothing where all is well, and a sentence for each thing that somebody has to look at."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.control.circuit_breaker import CircuitBreaker
from hooks.deploy.bundle_hook import source_digest
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.deployment_record import DeploymentRecord
from hooks.deploy.health.hook_errors_in_log import Complaint
from hooks.deploy.health.hook_health import Evidence, Health, check_health
from hooks.deploy.hook_names import HOOKS
from hooks.deploy.read_installed_server_state import Installed
from hooks.pbs.custom_resources import RESOURCES, Resource
from policy.settings.settings_of_server_and_passes import ServerSettings
from policy.settings.site_settings import Settings
from tests.hooks.fake_qmgr import FakeQmgr
from tui.cli.hooks_commands.hooks_status import describe_health

NOW_S = 1_795_230_000.0
ENTRY: dict[str, Any] = {
    "time_s": NOW_S - 5,
    "modes": {"workq": "drive"},
    "acted": ["workq"],
    "notes": [],
    "failures": [],
}
SENT = "m1:15002 pbsteer_exechost_periodic 2 7\nm1:15002 pbsteer_exechost_periodic 0 7\n"


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    deployment = Deployment(str(tmp_path), FakeQmgr(tmp_path))
    deployment.apply(Settings(), lambda _: None)
    return deployment.read()


def check(installed: Installed, *, tracking: str = SENT, entry: dict[str, Any] = ENTRY, **more: Any) -> Health:
    evidence = Evidence(installed, DeploymentRecord(frozenset(RESOURCES)), folder=True, tracking=tracking, entry=entry)
    return check_health(evidence._replace(**more), HOOKS, NOW_S)


def test_a_server_without_vnodes_is_reported(tmp_path: Path) -> None:
    qmgr = FakeQmgr(tmp_path)
    qmgr.objects["node"] = []
    deployment = Deployment(str(tmp_path), qmgr)
    deployment.apply(Settings(), lambda _: None)
    (told,) = check(deployment.read()).hints
    assert "the server has no vnodes: no job can start" in told


def test_where_all_is_well_nothing_needs_attention(installed: Installed) -> None:
    health = check(installed)
    assert (health.problems, health.hints) == ((), ())
    assert {hook.digest for hook in health.hooks} == {source_digest()}
    assert all(hook.enabled and hook.version for hook in health.hooks)


def test_a_server_without_hooks_is_reported_in_one_sentence() -> None:
    nothing = check(Installed(), entry={}, record=None, folder=False)
    assert nothing.problems == ("pbsteer is not installed here: pbsteer hooks plan shows how",)
    others = Installed(resources={"user_priority": RESOURCES["user_priority"]})
    assert check(others, entry={}, record=None, folder=False).problems == nothing.problems


def test_what_a_removal_has_left_is_reported_with_how_to_end_it() -> None:
    left = {"pbsteer_app": RESOURCES["pbsteer_app"], "user_priority": RESOURCES["user_priority"]}
    (told,) = check(Installed(resources=left), record=DeploymentRecord(frozenset({"pbsteer_app"}))).problems
    assert told == (
        "no hook is in the server, but of pbsteer there still is: 1 resource (pbsteer_app), the folder in PBS_HOME. An"
        " apply or a removal did not finish: pbsteer hooks apply or remove continues it"
    )


def test_what_a_half_done_apply_lacks_is_reported_piece_by_piece(installed: Installed) -> None:
    hooks = {name: hook for name, hook in installed.hooks.items() if "execjob" not in name}
    hooks["pbsteer_runjob"] = replace(hooks["pbsteer_runjob"], config=None)
    hooks["pbsteer_queuejob"] = replace(hooks["pbsteer_queuejob"], config='{"schedule": {"interval_s": 5}}')
    resources = {
        **installed.resources,
        "pbsteer_save": Resource("string"),
        "pbsteer_list": Resource("long"),
        "pbsteer_rank": Resource("string", "r"),
    }
    for name in ("pbsteer_app", "pbsteer_width"):
        del resources[name]
    health = check(replace(installed, hooks=hooks, resources=resources), record=None)
    assert health.problems == (
        "pbsteer_queuejob: other settings than the pass",
        "pbsteer_runjob: no settings",
        "pbsteer_execjob_epilogue: not there",
        "2 resources are not there: pbsteer_app, pbsteer_width",
        "resource pbsteer_list is of type long, where string belongs",
        "resource pbsteer_rank has flag r, where no flag belongs",
        "resource pbsteer_save has no flag, where flag m belongs",
        "installed.json is not there, which says what pbsteer made in the server",
    )
    assert health.hints == ("what is missing comes with pbsteer hooks apply; pbsteer hooks remove takes the rest out",)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("enabled", "false", "DISABLED"),
        ("alarm", "3", "alarm is 3, where 10 belongs"),
        ("order", "1", "order is 1, where 900 belongs"),
        ("fail_action", "offline_vnodes", "fail_action is offline_vnodes, where none belongs"),
    ],
)
def test_a_hook_that_somebody_changed_is_reported(installed: Installed, key: str, value: str, words: str) -> None:
    hook = installed.hooks["pbsteer_queuejob"]
    changed = replace(hook, attributes={**hook.attributes, key: value})
    hooks = {**installed.hooks, "pbsteer_queuejob": changed}
    assert check(replace(installed, hooks=hooks)).problems == (f"pbsteer_queuejob: {words}",)


def test_another_version_is_reported_with_both_hashes(installed: Installed) -> None:
    hook = replace(installed.hooks["pbsteer_runjob"], script="# hash: 0123456789ab\n")
    (told,) = check(replace(installed, hooks={**installed.hooks, "pbsteer_runjob": hook})).problems
    assert told == f"pbsteer_runjob: 0123456789ab, where this version is {source_digest()}"


def test_a_fault_that_several_hooks_share_is_reported_once(installed: Installed) -> None:
    hooks = {name: replace(hook, script="# hash: 0123456789ab\n") for name, hook in installed.hooks.items()}
    assert check(replace(installed, hooks=hooks)).problems == (
        f"pbsteer_queuejob and {len(hooks) - 1} others: 0123456789ab, where this version is {source_digest()}",
    )


def test_moms_that_have_an_old_copy_are_named(installed: Installed) -> None:
    tracking = SENT + "m2:15002 pbsteer_exechost_periodic 2 8\nm3:15002 other 2 8\nm2:15002 pbsteer_runjob 2 8\n"
    (told,) = check(installed, tracking=tracking).problems
    assert told.startswith("pbsteer_exechost_periodic: 1 MoM has an old copy or none (m2)")


PAUSED = "pbsteer is paused (a leak): it starts and preempts nothing until pbsteer resume"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time_s": NOW_S - 600}, "the last pass was 600 s ago"),
        ({"acted": []}, "queue workq is in drive, and is not driven"),
        ({"acted": [], "paused": PAUSED, "notes": [PAUSED]}, PAUSED),
        ({"failures": ["start 1.s: refused"]}, "of the last pass 1 request failed"),
        ({"notes": ["a"]}, "the last pass has 1 remark, "),
        ({"notes": ["a", "b"]}, "the last pass has 2 remarks"),
        ({"notes": ["a", "b"], "noted": 120}, "the last pass has 120 remarks"),
    ],
)
def test_what_is_wrong_with_the_last_pass_is_reported(installed: Installed, change: dict[str, Any], words: str) -> None:
    (told,) = check(installed, entry={**ENTRY, **change}).problems
    assert told.startswith(words)


def test_what_is_over_with_a_later_pass_is_a_hint_and_no_problem(installed: Installed) -> None:
    off = "scheduler default is being switched off; the jobs of workq start with a later pass"
    entry = {**ENTRY, "acted": [], "notes": [off], "passing": [off], "noted": 1}
    health = check(installed, entry=entry)
    assert (health.problems, health.hints) == ((), (off,))
    health = check(installed, entry={**entry, "notes": [off, "queue b is not driven"], "noted": 2})
    assert health.problems == ("the last pass has 1 remark, see above",)


REST = CircuitBreaker(unfinished=2, setbacks=1, rests=2, rest_began_s=int(NOW_S) - 300)
"""Of twenty minutes, of which five are over."""


def test_a_sensor_that_hosts_do_not_have_is_a_hint_and_no_problem(installed: Installed) -> None:
    entry = {**ENTRY, "no_sensor": {"temperature": {"vnodes": 4, "first": ["v1", "v2", "v3"]}}}
    health = check(installed, entry=entry)
    assert health.problems == ()
    (hint,) = health.hints
    assert hint.startswith("4 vnodes (v1, v2, v3, ...) report no temperature")
    alone = {**ENTRY, "no_sensor": {"network": {"vnodes": 1, "first": ["v1"]}}}
    assert check(installed, entry=alone).hints[0].startswith("1 vnode (v1) reports no network")


@pytest.mark.parametrize("entry", [{}, {**ENTRY, "time_s": NOW_S - 400}])
def test_a_rest_of_the_passes_is_reported_with_its_times_and_what_ends_it(
    installed: Installed, entry: dict[str, Any]
) -> None:
    began, end = (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_s)) for at_s in (NOW_S - 300, NOW_S - 300 + 1200)
    )
    assert check(installed, entry=entry, applied_s=NOW_S - 4000, breaker=REST).problems == (
        f"passes rest since {began} until {end} (15 min left), as too many in a row have failed: pbsteer starts and"
        " preempts no job meanwhile. pbsteer hooks apply ends the rest early if it changes the hooks or their settings;"
        " the errors in the server's log say what has to be mended",
    )


def test_a_rest_that_is_over_is_no_problem_until_its_pass_is_late(installed: Installed) -> None:
    entry = {**ENTRY, "time_s": NOW_S - 2000}
    over = check(installed, entry=entry, breaker=REST._replace(rest_began_s=int(NOW_S) - 1210))
    assert (over.problems, over.hints) == (
        (), ("the rest of the passes ended 10 s ago, and no pass has been since: one is due every 15 s",)
    )  # fmt: skip
    late = check(installed, entry=entry, breaker=REST._replace(rest_began_s=int(NOW_S) - 1900))
    assert late.problems == ("the last pass was 2000 s ago, where one is due every 15 s",)


def test_a_last_pass_in_the_future_is_a_problem_that_says_how_passes_come_again(installed: Installed) -> None:
    """The server's clock was set back, and PBS waits for the moment that its next pass was due at."""
    (problem,) = check(installed, entry={**ENTRY, "time_s": NOW_S + 3600}).problems
    assert problem.startswith("the last pass is 1 h 00 in the future: the clock was set back")
    assert "a restart of pbs_server" in problem
    assert check(installed, entry={**ENTRY, "time_s": NOW_S + 5}).problems == ()


def test_hooks_that_were_applied_in_a_rest_have_ended_it(installed: Installed) -> None:
    entry = {**ENTRY, "time_s": NOW_S - 400}
    mended = check(installed, entry=entry, applied_s=NOW_S - 200, breaker=REST)
    assert mended.problems == ("the last pass was 400 s ago, where one is due every 15 s",)
    assert check(installed, entry=entry, applied_s=NOW_S - 20, breaker=REST).problems == ()


def test_before_the_first_pass_that_is_reported_and_is_a_problem_once_it_is_late(installed: Installed) -> None:
    assert check(installed, entry={}).problems == ("no pass has been seen yet, where one is due every 15 s",)
    for entry in ({}, {**ENTRY, "time_s": NOW_S - 600}):
        health = check(installed, entry=entry, applied_s=NOW_S - 20)
        assert health.problems == ()
        assert health.hints == ("the hooks were applied 20 s ago, and no pass has been since: one is due every 15 s",)
        assert check(installed, entry=entry, applied_s=NOW_S - 120).problems


def test_errors_are_a_problem_for_an_hour_and_all_of_them_are_counted(installed: Installed) -> None:
    old, fresh = Complaint(NOW_S - 7200, "oh"), Complaint(NOW_S - 60, "oh")
    assert check(installed, complaints=(old, Complaint(0.0, "no time at all"))).problems == ()
    assert check(installed, complaints=(old, fresh)).problems == (
        "1 error in the server's log is less than an hour old",
    )
    assert check(installed, complaints=[fresh] * 1200).problems == (
        "1,200 errors in the server's log are less than an hour old",
    )


@pytest.mark.parametrize(
    ("applied_s", "counted", "past"),
    [
        (0.0, 3, 0),
        (NOW_S - 3000, 2, 1),
        # The log has whole seconds: an error of the same one counts.
        (NOW_S - 60 + 0.9, 1, 2),
        (NOW_S - 30, 0, 3),
        # The clock was set back since.
        (NOW_S + 30, 3, 0),
    ],
)
def test_errors_count_since_the_hooks_were_applied(
    installed: Installed, applied_s: float, counted: int, past: int
) -> None:
    complaints = [Complaint(NOW_S - ago_s, "oh") for ago_s in (7200, 3500, 120, 60)]
    health = check(installed, complaints=complaints, applied_s=applied_s)
    assert [problem.partition(" ")[0] for problem in health.problems] == ([str(counted)] if counted else [])
    assert [hint.partition(" in the")[0] for hint in health.hints] == (
        [f"{past} error{'s' if past > 1 else ''} of the last hour"] if past else []
    )


def test_an_alert_that_lasts_and_a_command_that_failed_need_attention(installed: Installed) -> None:
    told = {"time_s": NOW_S - 60, "kind": "handed back", "text": "switched on again", "syslog": ""}
    over = check(installed, alerts={**told, "lasting": [], "command_problem": ""})
    assert over.problems == ()
    lasting = check(installed, alerts={**told, "lasting": ["handed back"], "command_problem": "ended with 1"})
    # Of a command that is no longer set nobody needs to know.
    assert lasting.problems == ("an alert lasts (handed back), see above",)
    deployed = {
        name: replace(hook, config='{"alerts": {"command": ["/bin/x"]}}') for name, hook in installed.hooks.items()
    }
    failed = check(
        replace(installed, hooks=deployed), alerts={**told, "lasting": [], "command_problem": "ended with 1"}
    )
    assert failed.problems == ("the command for alerts failed: /bin/x: ended with 1",)
    lines = list(describe_health(lasting._replace(last_pass={}), NOW_S))
    assert any(line.startswith("last alert: 20") for line in lines)
    assert "  switched on again" in lines


@pytest.mark.parametrize(
    ("name", "always", "needed"),
    [
        ("pbsteer_runjob", ServerSettings(guard_starts="always"), ServerSettings()),
        ("pbsteer_execjob_epilogue", ServerSettings(end_hook="always"), ServerSettings()),
    ],
)
def test_a_hook_may_be_off_only_where_passes_switch_it(
    tmp_path: Path, name: str, always: ServerSettings, needed: ServerSettings
) -> None:
    qmgr = FakeQmgr(tmp_path)
    deployment = Deployment(str(tmp_path), qmgr)
    deployment.apply(Settings(server=always), lambda _: None)
    qmgr.hooks[name]["enabled"] = "false"
    assert check(deployment.read()).problems == (f"{name}: DISABLED",)
    deployment.apply(Settings(server=needed), lambda _: None)
    qmgr.hooks[name]["enabled"] = "false"
    resting = CircuitBreaker(unfinished=2, setbacks=1, rests=1, rest_began_s=int(NOW_S))
    for breaker in (CircuitBreaker(), resting)[: 1 if name == "pbsteer_runjob" else 2]:
        health = check(deployment.read(), breaker=breaker)
        assert not any(name in problem for problem in health.problems)
    assert any("off, as passes switch it" in line for line in describe_health(health, NOW_S))


def test_the_hook_of_starts_that_passes_left_off_is_a_problem_while_they_rest(tmp_path: Path) -> None:
    qmgr = FakeQmgr(tmp_path)
    deployment = Deployment(str(tmp_path), qmgr)
    deployment.apply(Settings(server=ServerSettings(guard_starts="needed")), lambda _: None)
    resting = CircuitBreaker(unfinished=2, setbacks=1, rests=1, rest_began_s=int(NOW_S))
    left_off = "pbsteer_runjob is off until the next pass"
    assert not any(left_off in problem for problem in check(deployment.read(), breaker=resting).problems)
    qmgr.hooks["pbsteer_runjob"]["enabled"] = "false"
    assert any(left_off in problem for problem in check(deployment.read(), breaker=resting).problems)
    for modes, is_told in (({"workq": "observe"}, False), ({"workq": "observe", "gpu": "drive"}, True)):
        told = check(deployment.read(), breaker=resting, entry={"modes": modes}).problems
        assert any(left_off in problem for problem in told) is is_told
