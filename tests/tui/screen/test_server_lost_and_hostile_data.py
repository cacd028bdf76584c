"""The console in trouble: a server that goes away, hostile names, any size of terminal, hasty hands, very many rows."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual.events import Key

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from tests.tui.console_under_test import Steered, a_console, open_console
from tests.tui.scripted_server import (
    HOSTILE_NAMES,
    NOON_S,
    ScriptedBackend,
    a_job,
    a_server_status,
    changed,
    many_jobs,
    running,
)
from tui.action_registry import VIEWS
from tui.text.screen_line import safe
from tui.text.times_and_durations import clock_time


async def test_a_server_that_goes_away_keeps_its_last_picture_and_comes_back(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5")
        backend.failure = "cannot connect to hpc1"
        steered.main.poller.ask()
        await steered.until_shown("AWAY, seen 0 s ago", "trying again in", "cannot connect to hpc1")
        as_of = f"as of {clock_time(NOON_S, seconds=True)}: the server does not answer"
        await steered.until_shown("jobs", as_of)
        await steered.press("1")
        await steered.until_shown(f"overview · {as_of}")
        await steered.press("5")
        assert "first in line" in steered.text
        assert steered.main.query_one("#view-jobs").has_class("stale")
        steered.elapsed_s += 61
        steered.main.tick()
        await steered.until_shown("AWAY, seen 61 s ago")
        backend.failure = ""
        steered.main.poller.ask()
        await steered.until_shown("the server answers again")
        assert as_of not in steered.text
        assert not steered.main.query_one("#view-jobs").has_class("stale")


async def test_a_server_that_is_away_from_the_start_is_waited_for(audit: Path) -> None:
    backend = ScriptedBackend(failure="cannot connect to hpc1")
    async with open_console(backend, audit) as steered:
        await steered.until_shown("AWAY", "cannot connect to hpc1")
        for keys in (*map(str, range(1, 8)), "enter", "e", "s", "slash", "space", "y", "z", "r"):
            await steered.press(keys)
            await steered.press("escape")
        backend.failure = ""
        await steered.press("1")
        await steered.until_shown("12 / 16")


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_a_hostile_name_is_shown_as_it_is_wherever_names_are_shown(audit: Path, name: str) -> None:
    server_status = a_server_status()
    jobs = {
        "11.hpc1": running(name, 8, "v1", name=name, queue=name, comment=name),
        "12.hpc1": a_job("bob", 4, name=name, project=name),
    }
    queues = {**server_status.queues, name: server_status.queues["workq"]}
    vnodes = {**server_status.vnodes, name: {**server_status.vnodes["v1"], "state": name, "jobs": name}}
    backend = ScriptedBackend(changed(server_status, jobs=jobs, queues=queues, vnodes=vnodes))
    shown = safe(name)[:6]
    async with open_console(backend, audit, (160, 40)) as steered:
        for view in VIEWS:
            await steered.command(view)
            assert "\x1b" not in steered.text
            if view in ("queues", "vnodes", "jobs"):
                assert shown in steered.text, view
            await steered.press("y")
            await steered.press("enter", "escape", "escape")
        await steered.command("job 12")
        assert shown in steered.text
        assert steered.console.is_running


@pytest.mark.slow
async def test_it_survives_a_terminal_of_any_size(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        for view in range(1, len(VIEWS) + 1):
            await steered.press(str(view))
            for size in ((20, 5), (1, 1), (300, 100), (80, 24)):
                await steered.pilot.resize_terminal(*size)
                await steered.pilot.pause()
                await steered.press("j", "G", "g")
            assert steered.main.view_name in steered.text.lower() or view == 4
        await steered.pilot.resize_terminal(20, 5)
        await steered.press("6", "e", "escape", "question_mark", "escape", "colon", "escape")
        await steered.pilot.resize_terminal(80, 24)
        await steered.press("1")
        await steered.until_shown("12 / 16")


async def test_no_color_leaves_no_colour(
    backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("3")
        widths = steered.console.screen._compositor.render_strips()
        styles = [
            segment.style
            for strip in widths
            for segment in strip.apply_filter(steered.console._filters[-1], steered.console.screen.background_colors[1])
            if segment.style
        ]
        assert styles
        colours = [colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None]
        assert all(colour.is_default for colour in colours)
        assert "o offline" in steered.text


async def test_what_is_repainted_row_by_row_equals_what_is_painted_anew(audit: Path) -> None:
    backend = ScriptedBackend(many_jobs(200))
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("5")
        jobs = dict(backend.server_status.jobs)
        for job_id in list(jobs)[3:12]:
            jobs[job_id] = {
                **jobs[job_id],
                "Resource_List.ncpus": "7",
                "Job_Name": "字" * 5,
                "schedselect": "1:ncpus=7",
            }
        backend.server_status = changed(backend.server_status, jobs=jobs)
        await steered.repoll()
        row_by_row = steered.text
        steered.console.refresh(repaint=True)
        for lines in steered.main.query("LineView"):
            lines.refresh()
        await steered.pilot.pause()
        assert steered.text == row_by_row
        assert "  7  " in row_by_row


@pytest.mark.parametrize(("typed", "shown"), [("/user:bob", "filter user:bob"), (":view queues", "queues · ")])
async def test_what_is_typed_ahead_of_a_prompt_is_typed_into_it(
    backend: ScriptedBackend, audit: Path, typed: str, shown: str
) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5")
        # All at once, as a slow line delivers what was typed meanwhile.
        names = {"/": "slash", ":": "colon", " ": "space", "\r": "enter"}
        for character in (*typed, "\r"):
            steered.console.post_message(Key(names.get(character, character), character))
        await steered.until_shown(shown)
        assert not steered.main.is_unlocked(), "a letter of the line was taken for a key"


@pytest.mark.slow
async def test_very_many_rows_are_sorted_beside_the_screen_and_a_later_wish_wins(audit: Path) -> None:
    async with open_console(ScriptedBackend(many_jobs(6000)), audit, (120, 24)) as steered:
        await steered.command("jobs")
        await steered.command("sort cores")
        await steered.until_shown("sort: cores, most first")
        table = steered.main.views["jobs"].body
        await steered.until(lambda: table.keys[0] == "14.hpc1", "the largest job on top")  # type: ignore[attr-defined]
        await steered.command("filter user:user7")
        await steered.press("escape")
        await steered.until(lambda: len(table.keys) > 6000, "all of them again")  # type: ignore[attr-defined]


async def test_what_a_command_typed_before_the_first_answer_was_told_stays(
    backend: ScriptedBackend, audit: Path
) -> None:
    answers, poll = threading.Event(), backend.poll

    def late() -> ServerStatus:
        answers.wait(30)
        return poll()

    backend.poll = late  # type: ignore[method-assign]
    found: list[Steered] = []
    console = a_console(backend, audit, found)
    async with console.run_test(size=(100, 30)) as pilot:
        steered = Steered(console, pilot)
        found.append(steered)
        try:
            await steered.press("u")
            await steered.command("delete 13")
            await steered.until_shown("delete: no answer from the server yet")
        finally:
            answers.set()
        await steered.until(lambda: console.main.cluster is not None, "the first poll")
        await pilot.pause()
        assert "delete: no answer from the server yet" in steered.text
