"""Dialogs on a screen of 20 cells and 5 lines: the header stays in sight, and what they say can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import Steered, open_console
from tests.tui.scripted_server import ScriptedBackend
from tui.config.production_servers_and_server_list import Site
from tui.screen.dialogs.lines_below_header import keys_that_fit
from tui.text.screen_line import plain

SMALL = (20, 5)


def lines_of_dialog(steered: Steered) -> list[str]:
    """The lines below the header's, which no dialog may cover."""
    header, *lines = steered.screen_lines
    assert "hpc1" in header, "a dialog covers the header"
    assert not set("╭╮╰╯│─") & set("".join(lines)), "a frame"
    return [line.strip() for line in lines]


@pytest.mark.parametrize(
    "keys",
    [
        ("5", "a"),
        ("5", "c"),
        ("6", "e"),
        ("question_mark",),
        ("ctrl+f",),
        ("colon", *"messages", "enter"),
        ("3", "a", "d"),
    ],
)
async def test_no_dialog_covers_the_header(backend: ScriptedBackend, audit: Path, keys: tuple[str, ...]) -> None:
    async with open_console(backend, audit, SMALL) as steered:
        await steered.press(*keys)
        assert len(steered.console.screen_stack) == 2
        assert any(lines_of_dialog(steered))


async def test_a_production_server_asks_in_four_lines(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, SMALL, site=Site(frozenset({"hpc1"}))) as steered:
        await steered.press("u")
        shown = lines_of_dialog(steered)
        assert " ".join(shown[:3]) == "unlock hpc1, a production server, for five minutes?"
        assert shown[3] == "y unlock"


async def test_what_a_delete_ends_is_read_line_by_line(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, SMALL) as steered:
        await steered.press("u", "5", "a", "d")
        await steered.pilot.pause()
        read = lines_of_dialog(steered)[:-1]
        assert lines_of_dialog(steered)[-1] == "a apply esc cancel"
        for _ in range(60):
            await steered.press("j")
            read += [line for line in lines_of_dialog(steered)[:-1] if line not in read]
        text = " ".join(read)
        for said in ("delete 11 on hpc1, cannot be undone", "1 job · 1 user ·", "qdel 11.hpc1"):
            assert said in text
        await steered.press("a")
        assert "type 11:" in lines_of_dialog(steered)[1]
        assert lines_of_dialog(steered)[-1].startswith("type 11")


async def test_menu_and_help_explain_below_what_they_explain(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, SMALL) as steered:
        await steered.press("5", "a")
        assert lines_of_dialog(steered)[1:3] == ["▸ h hold", "11 is running;"]
        await steered.press("escape", "question_mark")
        await steered.type("refresh", end="home")
        assert lines_of_dialog(steered)[1:] == ["The console", "r :refresh", "ask the server"]


def test_keys_come_closer_together_and_then_the_last_ones_go() -> None:
    hints = [(("a", "key"), (" apply", "")), (("esc", "key"), (" cancel", "")), (("e", "key"), (" edit", ""))]
    assert [plain(keys_that_fit(hints, cells)) for cells in (40, 25, 18, 5)] == [
        "a apply   esc cancel   e edit",
        "a apply esc cancel e edit",
        "a apply esc cancel",
        "a apply",
    ]
