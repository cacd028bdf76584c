"""The last day of each quota entry, the row of passes, jobs and lines in the title, and the rate of a simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hooks.record.day_of_activity import Day
from hooks.store.state_files import DAY, State
from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import NOON_S, ScriptedBackend, ScriptedSimulation
from tests.tui.written_journal_and_audit import a_pass, a_start, write_journal
from tui.pages.header_line import speed_in_words
from tui.screen.widgets.clickable_passes import PassRow


@pytest.fixture
def backend(tmp_path: Path) -> ScriptedBackend:
    return ScriptedBackend(folder=tmp_path / "pbsteer", spool=tmp_path)


def write_day(backend: ScriptedBackend, alice: int = 12) -> None:
    """A day of passes in which alice had so many cores in all hours but the last three."""
    day = Day()
    for quarter in range(-95, -12):
        day = day.sampled(NOON_S + 900 * quarter, alice, 16, use={("workq", "u", "alice"): alice})
    for quarter in range(-12, 0):
        day = day.sampled(NOON_S + 900 * quarter, 0, 16, use={})
    State(backend.folder).publish(DAY, day.to_data(), shared=True)


def line_of(lines: list[str], user: str) -> str:
    return next(line for line in lines if line.strip(" ▸").startswith(f"{user} "))


async def test_each_user_has_the_last_day_from_the_file_that_passes_keep(backend: ScriptedBackend, audit: Path) -> None:
    write_journal(backend.folder, a_pass(15))
    write_day(backend)
    async with open_console(backend, audit, (150, 40)) as steered:
        await steered.press("6")
        await steered.until_shown("last 24 h", "█" * 20)
        alice = line_of(steered.screen_lines, "alice")
        assert "█" * 20 in alice and "   " in alice.partition("█" * 20)[2][:4], "above her quota, then nothing"
        await steered.pilot.resize_terminal(80, 24)
        await steered.until(lambda: "24 h" not in steered.text)
        await steered.command("columns +day")
        await steered.until(lambda: "█████" in line_of(steered.screen_lines, "alice"))


async def test_where_no_pass_runs_the_console_keeps_it_and_says_what_it_does_not_know(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (150, 40)) as steered:
        await steered.press("6")
        alice = line_of(steered.screen_lines, "alice")
        assert "·" * 23 + "█" in alice


async def test_a_pass_in_the_row_is_shown_by_a_click_and_the_next_one_too(
    backend: ScriptedBackend, audit: Path
) -> None:
    write_journal(backend.folder, a_pass(45), a_pass(30, starts=[a_start("13.hpc1")], started=["13.hpc1"]), a_pass(15))
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("7")
        await steered.until_shown("·▄·")
        (row,) = [line for line in steered.screen_lines if "·▄·" in line]
        await steered.pilot.click(PassRow, offset=(row.index("▄"), 0))
        await steered.until_shown("2 of 3 passes back")
        await steered.press("h")
        await steered.until_shown("3 of 3 passes back")
        await steered.pilot.click(PassRow, offset=(row.index("next"), 0))
        await steered.until_shown("plan · the next pass")
        await steered.pilot.resize_terminal(40, 10)
        await steered.until(lambda: "·▄·" not in steered.text, "a low screen, which has lines for the plan alone")


async def test_the_title_says_how_many_jobs_are_in_how_many_lines(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5")
        await steered.until(lambda: "jobs · 15 in 6 lines" in steered.text, "ten subjobs are in one line")
        await steered.command("filter user:dave")
        await steered.until_shown("jobs · 1 of 6 · filter")


def test_a_simulation_that_is_slower_than_asked_for_says_both() -> None:
    simulation = ScriptedSimulation(speed=1000)
    assert speed_in_words(simulation) == "×1,000"
    assert speed_in_words(replace(simulation, rate=950)) == "×1,000"
    assert speed_in_words(replace(simulation, rate=75)) == "×75 of ×1,000"
