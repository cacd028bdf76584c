"""``pbsteer hooks status`` in words: the last pass, what it would have done, the errors, in the right number."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.control.circuit_breaker import CircuitBreaker
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.health.hook_errors_in_log import Complaint
from hooks.deploy.health.hook_health import Evidence, check_health
from hooks.deploy.hook_names import HOOKS
from hooks.store.state_files import LAST_PASS, State
from hooks.store.state_folder import state_folder
from policy.settings.site_settings import Settings
from tests.hooks.fake_qmgr import FakeQmgr
from tui.cli.hooks_commands.hooks_status import describe_health, describe_last_pass, fold, health_as_data, read_health

ENTRY: dict[str, Any] = {
    "time_s": 100.0,
    "modes": {"workq": "drive", "idle": "observe"},
    "acted": [],
    "seconds": {"read_s": 0.1, "decide_s": 0.2, "act_s": 0.0},
    "running": 3,
    "waiting": 2,
    "starts": [{}],
    "preempts": [],
    "started": [],
    "requeued": [],
    "notes": ["queue workq is not driven: there is no room"],
    "failures": [],
}


def test_the_last_pass_is_reported_with_what_stands_in_the_way() -> None:
    told = describe_last_pass(ENTRY, 107.0)
    assert "  workq              drive, not driven: see below" in told
    assert told[3:6] == [
        "last pass: 7 s ago, took 0.30 s; 3 jobs running, 2 waiting",
        "  planned: 1 start, 0 preemptions",
        "  done: 0 starts, 0 preemptions (0 requeues, 0 asked to save)",
    ]
    assert told[-1] == "  queue workq is not driven: there is no room"


def test_preemptions_that_were_planned_and_not_carried_out_are_not_counted_as_done() -> None:
    planned = {**ENTRY, "preempts": [{}, {}], "preempted": ["2.s"], "requeued": ["2.s"]}
    told = describe_last_pass({**planned, "did": {"since_s": 0.0, "starts": 4, "preempts": 2}}, 107.0)
    assert told[4:6] == [
        "  planned: 1 start, 2 preemptions",
        "  done: 0 starts, 1 preemption (1 requeue, 0 asked to save)",
    ]
    assert told[6].endswith(": 4 starts, 2 preemptions")


def test_what_is_over_with_a_later_pass_is_not_told_among_the_remarks() -> None:
    assert describe_last_pass({**ENTRY, "passing": ENTRY["notes"]}, 107.0)[-1].startswith("  done: ")


@pytest.mark.parametrize(
    ("would", "modes", "words"),
    [
        ({"starts": 3, "preempts": 1}, {"workq": "drive"}, "  3 jobs and preempted 1"),
        ({"starts": 1, "preempts": 0}, {"workq": "advise"}, "  1 job and preempted 0"),
        ({"starts": 0, "preempts": 0}, {"workq": "observe"}, "  0 jobs and preempted 0"),
        ({"starts": 0, "preempts": 0}, {"workq": "drive"}, None),
    ],
)
def test_in_observe_what_passes_would_have_done_is_always_told(
    would: dict[str, int], modes: dict[str, str], words: str | None
) -> None:
    entry = {**ENTRY, "would": {"since_s": 100.0, **would}, "modes": modes}
    told = describe_last_pass(entry, 107.0)
    assert any("it would have started" in line for line in told) is (words is not None)
    assert words is None or words in told


def test_in_a_pause_jobs_are_left_by_the_pause_not_by_the_mode() -> None:
    entry = {**ENTRY, "would": {"since_s": 100.0, "starts": 3, "preempts": 1}, "modes": {"workq": "drive"}}
    told = " ".join(describe_last_pass({**entry, "paused": "pbsteer is paused: ..."}, 107.0))
    assert "left: pbsteer is paused" in told
    assert "by the mode" not in told
    assert "left to PBS's scheduler by the mode" in " ".join(describe_last_pass(entry, 107.0))


def test_a_pass_in_the_future_is_not_said_to_be_of_now() -> None:
    assert "last pass: 1 h 00 in the future, took" in " ".join(describe_last_pass(ENTRY, 100.0 - 3600))


def test_before_the_first_pass_that_is_told() -> None:
    assert describe_last_pass({}, 107.0) == ["last pass: none has been seen"]


def test_all_errors_are_counted_and_the_last_are_shown(tmp_path: Path) -> None:
    deployment = Deployment(str(tmp_path), FakeQmgr(tmp_path))
    complaints = [Complaint(1e9 - 7200, "old")] * 5 + [Complaint(1e9 - 60, f"e{number}") for number in range(20)]
    health = check_health(Evidence(deployment.read(), complaints=complaints), HOOKS, 1e9)
    told = list(describe_health(health, 1e9))
    assert "errors in today's server log: 25, 20 of them in the last hour" in told
    assert "  ... 15 before these" in told
    assert [line[-3:] for line in told if line.endswith(tuple(f" e{n}" for n in range(10, 20)))] == [
        f"e{number}" for number in range(10, 20)
    ]
    data = health_as_data(health, 1e9)
    assert (data["errors_today"], data["errors_last_hour"], len(data["errors"])) == (25, 20, 10)
    assert "  20 errors in the server's log are less than an hour old" in told


def test_a_rest_of_the_passes_is_read_from_the_folder(tmp_path: Path) -> None:
    now_s = time.time() + 60
    deployment = Deployment(str(tmp_path), FakeQmgr(tmp_path))
    deployment.apply(Settings(), lambda _: None)
    state = State(state_folder(str(tmp_path)))
    state.publish(LAST_PASS, {**ENTRY, "time_s": now_s}, shared=True)
    CircuitBreaker().opened(now_s).write(state)
    problems = read_health(deployment, tmp_path, now_s).problems
    assert any(problem.startswith("passes rest since ") for problem in problems)


def test_at_a_terminal_long_lines_go_on_below_and_elsewhere_they_stay_whole() -> None:
    line = "  resource " + "pbsteer_width, " * 10 + "a/path/" * 20
    folded = list(fold([line, "short"], 80))
    assert folded[-1] == "short"
    assert all(len(part) <= 80 for part in folded if "path" not in part)
    assert all(part.startswith("    ") for part in folded[1:-1])
    assert " ".join(part.strip() for part in folded[:-1]) == line.strip()
    assert list(fold([line], 0)) == [line]


def test_a_server_is_looked_at_with_all_its_files(tmp_path: Path) -> None:
    deployment = Deployment(str(tmp_path), FakeQmgr(tmp_path))
    (tmp_path / "server_logs").mkdir()
    assert read_health(deployment, tmp_path, 1e9).problems == (
        "pbsteer is not installed here: pbsteer hooks plan shows how",
    )
    (tmp_path / "pbsteer").mkdir()
    assert "the folder in PBS_HOME" in read_health(deployment, tmp_path, 1e9).problems[0]


@pytest.mark.parametrize("later", ["pbsteer_periodic.PY", "pbsteer_periodic.CF"])
def test_errors_count_since_the_later_one_of_hooks_and_settings(tmp_path: Path, later: str) -> None:
    now_s = time.time()
    qmgr = FakeQmgr(tmp_path)
    deployment = Deployment(str(tmp_path), qmgr)
    deployment.apply(Settings(), lambda _: None)
    for name in ("pbsteer_periodic.PY", "pbsteer_periodic.CF"):
        applied_s = now_s - (60 if name == later else 600)
        os.utime(qmgr.files / name, (applied_s, applied_s))
    logs = tmp_path / "server_logs"
    logs.mkdir()
    for ago_s in (120, 10):
        day, clock = (time.strftime(form, time.localtime(now_s - ago_s)) for form in ("%Y%m%d", "%m/%d/%Y %H:%M:%S"))
        with (logs / day).open("a", encoding="utf-8") as log:
            log.write(f"{clock};0002;Server@s;Hook;Server@s;pbsteer: oh\n")
    health = read_health(deployment, tmp_path, now_s)
    assert "1 error in the server's log is less than an hour old" in health.problems
    assert any(hint.startswith("1 error of the last hour") for hint in health.hints)
