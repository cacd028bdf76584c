"""What ``status`` says: nothing where all is well, and a sentence for each thing that somebody has to look at."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.bundle import source_digest
from hooks.deploy import HOOKS, Deployment
from hooks.health import Health, check_health, find_waiting_moms
from hooks.installed import Installed
from policy.settings import Settings
from tests.hooks.fake_qmgr import FakeQmgr

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


def check(
    installed: Installed, *, tracking: str = SENT, entry: dict[str, Any] = ENTRY, errors: tuple[str, ...] = ()
) -> Health:
    return check_health(installed, HOOKS, tracking, entry, errors, NOW_S)


def test_where_all_is_well_nothing_needs_attention(installed: Installed) -> None:
    health = check(installed)
    assert health.attention == ()
    assert {hook.digest for hook in health.hooks} == {source_digest()}
    assert all(hook.enabled and hook.version for hook in health.hooks)


def test_without_hooks_each_is_missed_and_no_pass_is(tmp_path: Path) -> None:
    assert check(Installed(), entry={}).attention == tuple(f"{name}: is not there" for name in HOOKS)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("enabled", "false", "is DISABLED"),
        ("alarm", "3", "alarm is 3, where 10 belongs"),
        ("order", "1", "order is 1, where 900 belongs"),
        ("fail_action", "offline_vnodes", "fail_action is offline_vnodes, where none belongs"),
    ],
)
def test_a_hook_that_somebody_changed_is_told(installed: Installed, key: str, value: str, words: str) -> None:
    hook = installed.hooks["pbsteer_runjob"]
    changed = replace(hook, attributes={**hook.attributes, key: value})
    hooks = {**installed.hooks, "pbsteer_runjob": changed}
    assert check(replace(installed, hooks=hooks)).attention == (f"pbsteer_runjob: {words}",)


def test_another_version_is_told_with_both_hashes(installed: Installed) -> None:
    hook = replace(installed.hooks["pbsteer_runjob"], script="# hash: 0123456789ab\n")
    (told,) = check(replace(installed, hooks={**installed.hooks, "pbsteer_runjob": hook})).attention
    assert told == f"pbsteer_runjob: is 0123456789ab, not this version, which is {source_digest()}"


def test_moms_that_have_an_old_copy_are_named(installed: Installed) -> None:
    tracking = SENT + "m2:15002 pbsteer_exechost_periodic 2 8\nm3:15002 other 2 8\nm2:15002 pbsteer_runjob 2 8\n"
    (told,) = check(installed, tracking=tracking).attention
    assert told.startswith("pbsteer_exechost_periodic: 1 MoMs have an old copy or none (m2)")


def test_the_last_line_of_the_highest_number_of_a_mom_and_hook_counts() -> None:
    lines = [
        "a:1 h 3 1", "b:1 h 3 1", "a:1 h 1 1", "a:1 h 0 1", "c:1 h 0 1", "c:1 h 16 2", "c:1 h 0 1", "d:1 h 35 3",
        "d:1 h 0 4", "torn li", "e:1 h 3 x",
    ]  # fmt: skip
    assert find_waiting_moms("\n".join(lines)) == {"h": ("b", "c")}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time_s": NOW_S - 600}, "the last pass was 600 s ago"),
        ({"acted": []}, "queue workq is in drive, and is not driven"),
        ({"failures": ["start 1.s: refused"]}, "the last pass has 1 remarks"),
        ({"notes": ["a", "b"]}, "the last pass has 2 remarks"),
    ],
)
def test_what_is_wrong_with_the_last_pass_is_told(installed: Installed, change: dict[str, Any], words: str) -> None:
    (told,) = check(installed, entry={**ENTRY, **change}).attention
    assert told.startswith(words)


def test_before_the_first_pass_that_is_told(installed: Installed) -> None:
    assert check(installed, entry={}).attention == ("no pass has been seen yet",)


def test_errors_need_attention_for_an_hour_and_are_shown_all_day(installed: Installed) -> None:
    def line(age_s: float) -> str:
        when = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(NOW_S - age_s))
        return f"{when}.123;0006;Server@s;Hook;pbsteer_periodic;pbsteer: oh"

    old, fresh, odd = line(7200), line(60), "no time at all"
    assert check(installed, errors=(old, odd)).attention == ()
    health = check(installed, errors=(old, fresh))
    assert (len(health.errors), len(health.attention)) == (2, 1)
