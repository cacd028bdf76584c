"""The tabs name every view, the keys at the bottom are those of the view, and messages go but are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend
from tui.action_registry import BY_NAME, VIEWS
from tui.pages.key_hints import key_hints
from tui.pages.tab_strip import Tab, tab_strip
from tui.screen.widgets.footer import LASTS_S
from tui.text.screen_line import plain, width

TABS = [Tab(str(key), name, "1,234" if name == "jobs" else "") for key, name in enumerate(VIEWS, start=1)]


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.mark.parametrize("cells", [20, 30, 60, 80, 120, 300])
def test_the_strip_fits_and_names_the_view_that_is_shown(cells: int) -> None:
    text = plain(tab_strip(TABS, "overview", cells))
    assert width(text) == cells
    assert "[1 overview]" in text


def test_narrow_strips_lose_counts_first_then_names_but_no_key() -> None:
    assert "5 jobs 1,234" in plain(tab_strip(TABS, "overview", 100))
    eighty = plain(tab_strip(TABS, "overview", 80))
    assert all(f"{key} {name}" in eighty for key, name in enumerate(VIEWS, start=1))
    assert "1,234" not in eighty
    assert "[5 jobs 1,234]" in plain(tab_strip(TABS, "jobs", 90)), "the view that is shown keeps its count"
    assert plain(tab_strip(TABS, "jobs", 45)).strip() == "1 overview  2 queues  3  4 [5 jobs] 6  7  8"
    assert plain(tab_strip(TABS, "jobs", 30)).split() == ["1", "2", "3", "4", "[5", "jobs]", "6", "7", "8"]


async def test_every_view_has_a_tab_and_the_shown_one_is_marked(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (100, 24)) as steered:
        for key, name in enumerate(VIEWS, start=1):
            await steered.press(str(key))
            assert f"[{key} {name}" in steered.screen_lines[1]


async def test_a_key_that_is_named_at_the_bottom_works_there(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (200, 40)) as steered:
        for view in VIEWS:
            await steered.press(BY_NAME[f"view-{view}"].keys[0])
            situation = steered.main._dispatcher.situation
            line = key_hints(situation, 0, 200)
            keys = {text for text, role in line if role == "key"}
            assert {":", "?"} <= keys
            named = [a for a in BY_NAME.values() if a.keys and a.shown_keys.split()[0] in keys]
            assert not [a.name for a in named if a.unavailable(situation)], view
            assert plain(line).strip() in steered.screen_lines[-1]


async def test_the_keys_say_what_is_marked_and_whether_it_is_locked(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (100, 24)) as steered:
        await steered.press("5")
        assert "u unlock" in steered.screen_lines[-1]
        await steered.press("space", "space")
        assert "2 marked" in steered.screen_lines[-1]
        assert "a act on them" in steered.screen_lines[-1]
        await steered.press("u", "j")
        assert "u lock" in steered.screen_lines[-1]


async def test_a_message_goes_with_the_next_action_and_is_kept(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (100, 24)) as steered:
        await steered.press("w")
        assert "works in the grid" in steered.screen_lines[-1]
        await steered.press("5")
        assert "works in the grid" not in steered.text
        await steered.command("messages")
        assert "works in the grid" in steered.text
        await steered.press("escape")
        assert "works in the grid" not in steered.text


async def test_a_message_goes_after_some_seconds_but_one_of_an_error_waits(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (100, 24)) as steered:
        await steered.press("w")
        steered.elapsed_s += LASTS_S + 1
        steered.main.tick()
        await steered.pilot.pause()
        assert "works in the grid" not in steered.text
        await steered.command("theme none-such")
        steered.elapsed_s += 100 * LASTS_S
        steered.main.tick()
        await steered.pilot.pause()
        assert "none-such" in steered.screen_lines[-1]


async def test_a_wrong_line_is_explained_while_it_is_typed(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (100, 24)) as steered:
        await steered.press("5", "slash")
        await steered.type("cores:>x")
        assert "cores:>x" in steered.screen_lines[-1]
        assert "'x'" in steered.screen_lines[-2]


async def test_a_very_small_screen_has_no_tabs_but_a_row(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (20, 5)) as steered:
        await steered.press("5")
        await steered.until_shown("▸")
        assert "[5 jobs" not in steered.text
