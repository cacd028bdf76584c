"""Finding from the screen: one search, filters and help that narrow as one types, commands by parts of their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend


@pytest.mark.parametrize(
    ("text", "shows"),
    [("13", "job 13"), ("bob", 'filter user:="bob"'), ("v2", "▸v2"), ("gpu", "▸gpu")],
)
async def test_a_search_goes_to_what_it_finds(backend: ScriptedBackend, audit: Path, text: str, shows: str) -> None:
    async with open_console(backend, audit, (100, 30)) as steered:
        await steered.press("ctrl+f")
        await steered.type(text)
        await steered.until_shown(shows)


async def test_a_search_shows_nothing_where_there_is_nothing_and_escape_stays(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (100, 30)) as steered:
        await steered.command("find nosuch")
        assert "nothing has that" in steered.text
        await steered.press("enter")
        assert "nothing has that" in steered.text
        await steered.press("escape")
        assert steered.main.view_name == "overview"


async def test_a_filter_narrows_as_it_is_typed_and_escape_brings_back_the_one_before(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (100, 30)) as steered:
        await steered.press("5", "slash")
        await steered.type("carol", "a")
        assert "no row passes the filter" in steered.text
        await steered.press("backspace")
        assert "huge" in steered.text
        assert "render" not in steered.text
        await steered.press("escape")
        assert "render" in steered.text
        await steered.command("filter bob")
        await steered.press("slash", *"xyz", "escape")
        assert "filter bob" in steered.text


async def test_marks_outlive_a_filter_and_all_of_them_are_acted_on(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "5")
        await steered.command("filter bob")
        await steered.press("space")
        await steered.command("filter huge")
        await steered.press("space")
        assert "2 marked, 1 of them hidden by the filter" in steered.text
        await steered.command("hold")
        await steered.until_shown("hold 2 jobs", "qhold -h o 13.hpc1", "qhold -h o 14.hpc1")


async def test_help_narrows_as_one_types(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.press("5", "question_mark")
        assert "In this view" in steered.text
        await steered.type("wall time", "e")
        assert "no action has that" in steered.text
        await steered.press(*["backspace"] * 6)
        assert ":walltime TIME JOB..." in steered.text
        assert ":offline" not in steered.text
        await steered.press("escape")
        assert steered.main.view_name == "jobs"


async def test_a_command_is_found_by_parts_of_its_name_and_described(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.press("colon", *"wltm")
        assert "walltime TIME JOB..." in steered.text
        assert "give jobs another walltime" in steered.text
        await steered.press("enter")
        assert "tab takes walltime" in steered.text
        await steered.press("tab")
        assert ":walltime" in steered.screen_lines[-1].replace(" ", "")
        await steered.press("escape")
        assert "give jobs another walltime" not in steered.text


async def test_the_pages_of_a_job_are_gone_through_and_its_output_is_opened_in_a_pager(
    backend: ScriptedBackend, audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[tuple[str, ...]] = []
    async with open_console(backend, audit, (120, 40)) as steered:
        monkeypatch.setattr(steered.main, "run_outside", lambda argv: run.append(tuple(argv)))
        await steered.press("5", "enter")
        assert "[why]" in steered.text
        await steered.press("right")
        assert "[output]" in steered.text
        await steered.press("right")
        await steered.until_shown("[script]")
        await steered.press("right")
        await steered.until_shown("[resources]", "asked for")
        await steered.press("right")
        await steered.until_shown("[history]")
        await steered.press("o")
        assert "[output]" in steered.text
        await steered.press("o")
        assert "output: the file is not on this host" in steered.text
        view = steered.main.views["job"]
        monkeypatch.setattr(type(view), "output_path", "/spool/11.OU")
        await steered.press("o")
        assert run == [("env", "LESSSECURE=1", "less", "-L", "+G", "--", "/spool/11.OU")]
        await steered.press("1", "5", "o")
        assert "[output]" in steered.text


async def test_the_mouse_chooses_rows_columns_and_views(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.press("5")
        await steered.pilot.click(offset=(5, 6))
        assert steered.main.view.cursor_name == "13.hpc1"
        await steered.pilot.click(offset=(5, 6), times=2)
        await steered.until_shown("job 13")
        await steered.press("escape")
        column = steered.screen_lines[3].index("user")
        await steered.pilot.click(offset=(column, 3))
        await steered.until_shown("sort: user")
        tabs = steered.screen_lines[1]
        await steered.pilot.click(offset=(tabs.index("vnodes"), 1))
        await steered.until(lambda: steered.main.view_name == "vnodes")
