"""Whole sequences of keys at once, as a slow line delivers them: each acts on what the one before it opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key, Paste

from tests.tui.console_under_test import Steered, open_console
from tests.tui.scripted_server import ScriptedBackend
from tui.screen.dialogs.help import HelpScreen

NAMES = {
    "/": "slash",
    ":": "colon",
    " ": "space",
    "\r": "enter",
    "\x1b": "escape",
    "?": "question_mark",
    "\x7f": "backspace",
}
WIDE = (130, 40)


def type_ahead(steered: Steered, keys: str) -> None:
    for character in keys:
        steered.console.post_message(Key(NAMES.get(character, character), character))


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        (":delete 13\ra13\r", "qdel 13.hpc1"),
        (":hold 13\ra", "qhold -h o 13.hpc1"),
        ("6E9\ra", "max_run_res_soft.user_priority"),
        (":priority 7 13\re\x7f8\ra", "qalter -p 8 13.hpc1"),
    ],
)
async def test_a_dialog_takes_the_keys_that_were_typed_before_it_was_there(
    backend: ScriptedBackend, audit: Path, keys: str, sent: str
) -> None:
    async with open_console(backend, audit, WIDE) as steered:
        type_ahead(steered, f"u{keys}")
        await steered.until(lambda: backend.lines, "what was typed ahead")
        assert len(backend.lines) == 1
        assert sent in backend.lines[0]


async def test_a_menu_and_the_dialog_that_it_opens_take_theirs(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, WIDE) as steered:
        # The second of the jobs, the menu, its first verb, which is to hold.
        type_ahead(steered, "u5jja\ra")
        await steered.until(lambda: backend.lines, "what was typed ahead")
        assert backend.lines == ["qhold -h o 13.hpc1"]


async def test_keys_after_one_that_closes_go_to_what_is_below(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        type_ahead(steered, "5?jj\x1bjj:help\r\x1bj:delete 13\r\x1bj")
        await steered.until_shown("5 / ")
        assert not isinstance(steered.console.screen, HelpScreen)
        assert backend.lines == []


async def test_a_column_is_chosen_and_the_keys_after_it_move(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, WIDE) as steered:
        type_ahead(steered, "5s2jjj")
        await steered.until_shown("sort: user", "4 / ")


@pytest.mark.slow
async def test_very_many_keys_are_all_honoured(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        type_ahead(steered, "5" + "/user:bob\r\x1b" * 20 + "jj/id:13\r")
        await steered.until_shown("filter id:13")
        assert "1 / 1" in steered.text


async def test_what_is_pasted_takes_its_turn(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        type_ahead(steered, "5/")
        steered.console.post_message(Paste("user:bob"))
        type_ahead(steered, "\r")
        await steered.until_shown("filter user:bob")


async def test_a_key_that_is_passed_on_after_the_last_screen_has_closed_is_dropped(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit) as steered:
        console = steered.console
    assert console.screen_stack == []
    key = Key("j", "j")
    key._set_forwarded()
    await console.on_event(key)


async def test_an_enter_typed_while_a_pager_had_the_terminal_is_an_enter(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        type_ahead(steered, ":jobs")
        steered.console.post_message(Key("ctrl+j", "\n"))
        await steered.until(lambda: steered.main.view_name == "jobs", "the view that was typed")
