"""How every view looks, at three sizes, without colour and without Unicode: the same world and clocks draw the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.record.day_of_activity import Day
from hooks.store.state_files import DAY, State
from hooks.telemetry.host_reading_format import Amount, Heat, HostReading
from tests.tui.console_under_test import a_console
from tests.tui.scripted_server import NOON_S, ScriptedSimulation, running, with_job
from tests.tui.written_journal_and_audit import a_pass, a_preemption, a_start, write_changes, write_journal
from tui.cli.readme_pictures import wait_for_lookups
from tui.screen.app import Console

SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x60": (200, 60)}
KEYS = {
    "overview": "1",
    "queues": "2",
    "vnodes": "3",
    "grid": "4M",
    "grid-user": "4w",
    "jobs": "5Fjjjjx",
    "quotas": "6",
    "plan": "7",
    "pass": "7h",
    "audit": "8",
    "job": "5j\r",
    "plan-unfolded": "7Gx",
}


@pytest.fixture(autouse=True)
def _one_time_and_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tui.text.times_and_durations.local_time", _utc)


def _utc(time_s: float) -> Any:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(time_s, tz=timezone.utc)


def a_day(tmp_path: Path, **options: bool) -> Console:
    """A console on a cluster on which something has happened; files that it names have the same names each time."""
    spool = Path("spool")
    spool.mkdir()
    (spool / "12.hpc1.OU").write_text("step 1 of 3\nstep 2 of 3\n")
    backend = ScriptedSimulation(folder=tmp_path / "pbsteer", spool=spool)
    reading = HostReading(NOON_S - 20, 0.5, Amount(32768, 65536), Amount(900, 1000), Heat(61, 95))
    backend.set_vnode("v1", **{f"resources_available.{READING}": reading.show()})
    backend.set_vnode("v3", state="down", last_state_change_time=str(int(NOON_S - 1200)), comment="fan 2")
    backend.server_status = with_job(backend.server_status, "16[3].hpc1", running("dave", 1, "v2"))
    backend.use = {
        "11.hpc1": {"resources_used.cput": "00:28:48", "resources_used.walltime": "00:30:00"},
        "12.hpc1": {"resources_used.cput": "00:14:24", "resources_used.walltime": "00:30:00"},
    }
    backend.set_job("12.hpc1", Output_Path="v2:/home/alice/post.o12")
    backend.ended = {
        "9.hpc1": {**running("erin", 4, "v2"), "job_state": "F", "Exit_status": "1", "mtime": str(int(NOON_S - 600))}
    }
    write_journal(
        backend.folder,
        a_pass(
            45,
            preempts=[a_preemption("12.hpc1", "13.hpc1", "preempted for 13.hpc1: alice used 12 of a quota of 4")],
            waits=[{"jobs": 2, "example": "14.hpc1", "code": "too-few-idle", "sentence": "needs 64 cores: 4 are idle"}],
        ),
        a_pass(15, starts=[a_start("12.hpc1", "v2")], started=["12.hpc1"], notes=["queue gpu has no scheduler"]),
    )
    State(backend.folder).publish(DAY, a_day_of_use().to_data(), shared=True)
    write_changes(tmp_path / "audit.jsonl", "done", "refused", "sending")
    return a_console(backend, tmp_path / "audit.jsonl", [], **options)


def a_day_of_use() -> Day:
    """What passes have kept of a day: alice came in the evening, carol was there until the morning."""
    day = Day()
    for quarter in range(-88, 0):
        alice, carol = max(0, 4 + quarter // 4 + 12), max(0, 8 - (quarter + 88) // 8)
        use = {("workq", "u", "alice"): min(alice, 12), ("workq", "u", "carol"): carol}
        day = day.sampled(NOON_S + 900 * quarter, sum(use.values()), 24, use=use)
    return day


async def settle(console: Console, pilot: Pilot[str], keys: str) -> None:
    """Until the plan is made, the keys are pressed, and what they looked up is there."""
    while console.main.cluster is None or console.main.cluster.decision is None:
        await pilot.pause(0.01)
    names = {"\r": "enter"}
    for key in keys:
        cluster = console.main.cluster
        await pilot.press(names.get(key, key))
        while key == "F" and (console.main.cluster is cluster or console.main.cluster.finished is None):
            await pilot.pause(0.01)
    await wait_for_lookups(console, pilot)
    await pilot.pause()


@pytest.mark.parametrize("view", KEYS)
@pytest.mark.parametrize("size", SIZES)
def test_a_view_looks_as_it_did(snap_compare: Any, tmp_path: Path, view: str, size: str) -> None:
    console = a_day(tmp_path)

    async def lead(pilot: Pilot[str]) -> None:
        await settle(console, pilot, KEYS[view])

    assert snap_compare(console, terminal_size=SIZES[size], run_before=lead)


@pytest.mark.parametrize("view", KEYS)
def test_a_view_without_colour_looks_as_it_did(
    snap_compare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = a_day(tmp_path)

    async def lead(pilot: Pilot[str]) -> None:
        await settle(console, pilot, KEYS[view])

    assert snap_compare(console, terminal_size=SIZES["120x36"], run_before=lead)


def test_the_overview_in_ascii_looks_as_it_did(snap_compare: Any, tmp_path: Path) -> None:
    console = a_day(tmp_path, ascii_only=True)

    async def lead(pilot: Pilot[str]) -> None:
        await settle(console, pilot, "")

    assert snap_compare(console, terminal_size=(80, 24), run_before=lead)
