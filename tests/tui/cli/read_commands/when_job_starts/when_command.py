"""``pbsteer when`` on the scripted server: its lines, its JSON object, and a forecast that passes have published."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner

from hooks.forecast.published_forecast import Estimate, PublishedForecast
from hooks.store.state_files import FORECAST, State
from tests.tui.scripted_server import NOON_S, ScriptedBackend
from tests.tui.written_journal_and_audit import a_pass, write_journal
from tui.cli.main import main

ENDS_S = NOON_S + 5400
"""When the runs of the scripted server end if they take their walltime of two hours: both began half an hour ago."""


def when(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, ["when", *words])
    assert result.exit_code == status, result.output
    return result.output


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def data(*words: str) -> dict[str, Any]:
    found = json.loads(when(*words, "--json"))
    assert isinstance(found, dict)
    return found


def publish(backend: ScriptedBackend, ago_s: float, **jobs: Estimate) -> None:
    write_journal(backend.folder, a_pass(ago_s))
    known = {f"{job[1:]}.hpc1": estimate for job, estimate in jobs.items()}
    made = PublishedForecast(NOON_S - ago_s, NOON_S + 86400, 30, 30, 412, 2.0, known, {"15.hpc1": "held"})
    State(backend.folder).publish(FORECAST, made.to_data(), shared=True)
