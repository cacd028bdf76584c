"""Passes for which reading the server takes all of their time: they start jobs all the same, and say what took it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hooks.alerts.pass_alerts import Alerts, describe_alerts
from hooks.entries.periodic import run_pass
from hooks.store.state_files import LAST_PASS, State
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, queue, server_status
from tests.hooks.stand_in import pbs_ifl

BUDGET_S = 0.4
SLOW = Settings(schedule=ScheduleSettings(budget_s=BUDGET_S))


def answer_after(monkeypatch: pytest.MonkeyPatch, call: str, seconds: float) -> None:
    """Let the server take so long for each such request."""
    real = getattr(pbs_ifl, call)

    def slow(*given: Any) -> Any:
        time.sleep(seconds)
        return real(*given)

    monkeypatch.setattr(pbs_ifl, call, slow)


def test_a_pass_starts_jobs_however_long_it_has_read(state_of_pass: State, monkeypatch: pytest.MonkeyPatch) -> None:
    pbs_ifl.WORLD.update(server_status({"1.s": job()}, queues={"workq": queue("drive")}).to_data())
    answer_after(monkeypatch, "pbs_statque", 2 * BUDGET_S)
    outcome = run_pass(pbs_ifl, SLOW, state_of_pass)
    assert [call[1] for call in pbs_ifl.CALLS if call[0] == "start"] == ["1.s"]
    assert outcome.unstarted == ""


def test_starts_that_there_was_no_time_for_are_noted_with_what_reading_took(
    state_of_pass: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = {f"{number}.s": job(cores=1) for number in range(1, 4)}
    pbs_ifl.WORLD.update(server_status(jobs, queues={"workq": queue("drive")}).to_data())
    answer_after(monkeypatch, "pbs_statque", 2 * BUDGET_S)
    answer_after(monkeypatch, "pbs_asyrunjob", BUDGET_S)
    outcome = run_pass(pbs_ifl, SLOW, state_of_pass)
    assert [call[1] for call in pbs_ifl.CALLS if call[0] == "start"] == ["1.s"]
    entry = state_of_pass.read_published(LAST_PASS)
    assert (entry["unstarted"], entry["notes"]) == (["2.s", "3.s"], [outcome.unstarted])
    assert outcome.unstarted.startswith("2 starts put off to the next pass, as the time of this one was up: reading")
    assert "of the 0.4 s that a pass has (schedule.budget_s)" in outcome.unstarted


def test_starts_put_off_by_three_passes_in_a_row_are_an_alert_that_ends(state_of_pass: State) -> None:
    messages: list[str] = []
    for now_s, text in ((1, "x"), (2, ""), (3, "a"), (4, "b"), (5, "2 starts put off"), (400, ""), (401, "")):
        alerts = Alerts.read(state_of_pass)
        alerts.note_unstarted(text, now_s)
        alerts.note_pass(0, now_s)
        messages.append(describe_alerts(state_of_pass).get("text", ""))
    assert messages[:4] == [""] * 4
    assert messages[4] == "3 passes in a row had no time for all starts: 2 starts put off"
    assert messages[5:] == ["passes have time for all starts again: none was put off for 395 s"] * 2
