"""State files damaged in every way that JSON has: no pass fails for one, and the queues can be handed back all the
same."""

from __future__ import annotations

import json
import os
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from hooks.alerts.pass_alerts import Alerts, describe_alerts
from hooks.audit.audit_from_server_log import CURSOR
from hooks.audit.shared_audit_file import RECORDED
from hooks.checkpoint.victims.victims_not_requeued import NOT_REQUEUED
from hooks.control.circuit_breaker import CircuitBreaker
from hooks.control.pbs_scheduler.scheduler_switch import Switched
from hooks.control.starts_refused import STARTS_REFUSED
from hooks.entries import periodic
from hooks.quota_plan.quota_plan_files import QUOTA_PLAN, QUOTA_PLAN_RECORD, QUOTA_PLAN_SHOWN
from hooks.store.hook_settings import show_config
from hooks.store.state_files import (
    ALERTS,
    DAY,
    END_HOOK_NEEDED,
    EPISODES,
    FAIR_SHARE,
    FORECAST_BEGUN,
    OBSERVED_LEDGER,
    PASSES,
    PRIORITIES,
    RUNS,
    SCHEDULERS,
    State,
)
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import BackfillSettings, Settings
from tests.hooks.sample_server_statuses import NOW_S, job, queue, running, server_status
from tests.hooks.stand_in import pbs_ifl

LEARNING = Settings(backfill=BackfillSettings(predictor="ratio"))
ASKED = {"queue": "workq", "estimate_s": 600, "job_wide": {}, "place": ["free", "", None]}
DAMAGED: dict[str, Any] = {
    ALERTS: {"episodes": {"passes fail": {"begun_s": 1, "seen_s": "X", "told_s": 1}}, "unstarted": "X"},
    CURSOR: {"day": "20261120", "offset": "X", "before": "X"},
    DAY: {"version": 1, "last_s": "X", "slots": [["X"] * 9]},
    END_HOOK_NEEDED: {"time_s": "X"},
    EPISODES: {"since_s": "X", "modes": {}, "starts": "X", "preempts": "X", "starting": [], "preempting": []},
    FAIR_SHARE: {"default": {"1.s": ["alice", "X", "X"]}},
    FORECAST_BEGUN: {"time_s": "X"},
    NOT_REQUEUED: {"1.s": [1795207100.0, "X", "X"]},
    OBSERVED_LEDGER: {**Ledger().to_data(), "asked": {"2.s": {**ASKED, "chunks": [["X", {"ncpus": "X"}, []]]}}},
    PASSES: {"unfinished": "X", "setbacks": "X", "good": "X"},
    PRIORITIES: {"2.s": ["X", ["X"]]},
    QUOTA_PLAN: {"version": 1, "quotas": "X"},
    QUOTA_PLAN_RECORD: {"version": 1, "overrides": [], "outcomes": {"1": {"stage": "over", "at_s": "X"}}},
    QUOTA_PLAN_SHOWN: {"X": "X"},
    RECORDED: {"since_s": "X"},
    RUNS: {"time_s": "X", "runs": {"1.s": ["alice", "", 2, "X", "X", 1, 1, False, ["X", "X"]]}},
    SCHEDULERS: {"switched": ["default"], "turns": {"default": {"time_s": "X", "served": []}}},
    STARTS_REFUSED: {"2.s": ["X", "X", "X"]},
}
"""By file: what it has, with X for each value that is damaged."""
VALUES = ["NaN", "Infinity", "-Infinity", "1e999", str(10**400), "null", "[]", "{}", '"5"', "[" * 90 + "]" * 90]
DEEP = "[" * 200_000


@pytest.fixture
def pbs(state: State, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The module of a pass that observes and learns; ``logged`` is what it has put into the server's log."""
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    jobs = {"1.s": running(), "2.s": job()}
    scheds = {"default": {"scheduling": "False", "partition": "pbs-default", "state": "idle"}}
    pbs_ifl.WORLD.update(server_status(jobs, queues={"workq": queue("observe")}, scheds=scheds).to_data())
    monkeypatch.setitem(sys.modules, "pbs_ifl", pbs_ifl)
    config = state.path.parent / "config.json"
    config.write_text(show_config(LEARNING))
    (state.path.parent / "server_logs").mkdir()
    (state.path.parent / "server_logs" / "20261120").touch()
    logged: list[str] = []
    return SimpleNamespace(
        hook_config_filename=str(config),
        pbs_conf={"PBS_HOME": str(state.path.parent)},
        logmsg=lambda _level, text: logged.append(text),
        LOG_WARNING=4,
        LOG_DEBUG=7,
        logged=logged,
    )


@pytest.mark.parametrize("name", DAMAGED)
def test_no_damage_of_a_file_fails_a_pass(pbs: SimpleNamespace, state: State, name: str) -> None:
    sound = {path.name: path.read_bytes() for path in state.path.iterdir()}
    for text in [DEEP, "[]", *(json.dumps(DAMAGED[name]).replace('"X"', value) for value in VALUES)]:
        for path in state.path.iterdir():
            path.write_bytes(sound.get(path.name, b""))
        (state.path / name).write_text(text)
        assert periodic.handle(pbs) is None
        assert CircuitBreaker.read(state).unfinished == 0
        assert not describe_alerts(state).get("text", "").startswith("a pass failed")


@pytest.mark.parametrize("text", [DEEP, json.dumps(DAMAGED[OBSERVED_LEDGER]).replace('"X"', "Infinity")])
def test_a_damaged_ledger_is_put_aside_and_begun_anew(pbs: SimpleNamespace, state: State, text: str) -> None:
    (state.path / OBSERVED_LEDGER).write_text(text)
    periodic.handle(pbs)
    assert "an empty ledger is begun" in " ".join(pbs.logged)
    assert state.read_ledger(OBSERVED_LEDGER)[1] == ""


@pytest.mark.parametrize("runs", [None, [], {"1.s": []}, {"1.s": {}}, {"1.s": None}])
def test_a_record_of_runs_of_another_shape_teaches_nothing_and_is_written_anew(
    pbs: SimpleNamespace, state: State, runs: object
) -> None:
    state.publish(RUNS, {"time_s": NOW_S - 10, "runs": runs}, shared=False)
    periodic.handle(pbs)
    assert state.read_published(RUNS)["runs"]["1.s"][:3] == ["alice", "", 2]


def test_a_pass_that_fails_at_its_alerts_is_reported_and_the_queues_go_back_after_three_intervals(
    pbs: SimpleNamespace, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_state: State) -> Alerts:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(Alerts, "read", fail)
    Switched(frozenset({"default"})).write(state)
    CircuitBreaker().write(state)
    handed_back = []
    for ago_s in (0.0, 3 * LEARNING.schedule.interval_s + 1):
        os.utime(state.path / PASSES, (time.time() - ago_s, time.time() - ago_s))
        with pytest.raises(RuntimeError, match="on purpose"):
            periodic.handle(pbs)
        handed_back.append(["scheduling", "default", "True"] in pbs_ifl.CALLS)
    assert handed_back == [False, True]
    assert describe_alerts(state)["lasting"] == ["handed back", "passes fail"]
