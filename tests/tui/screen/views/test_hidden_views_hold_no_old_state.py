"""Views that are not shown hold no state that is older than what is shown, and come back as they were left."""

from __future__ import annotations

import weakref
from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend


@pytest.mark.parametrize(
    "views", [("1",), ("2", "3", "6", "7", "8"), ("4",), ("5", "enter")], ids=["overview", "tables", "grid", "job"]
)
async def test_the_state_that_was_shown_is_gone_after_the_next_poll(
    backend: ScriptedBackend, audit: Path, views: tuple[str, ...]
) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press(*views)
        await steered.until(lambda: steered.main.cluster is not None and steered.main.cluster.decision is not None)
        before = weakref.ref(steered.main.cluster)
        await steered.press("5")
        await steered.repoll()
        await steered.until(lambda: before() is None, "the state before to be dropped")


async def test_a_view_comes_back_with_its_cursor_its_marks_and_its_filter(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5")
        await steered.type("/state:R|Q")
        await steered.press("j", "space", "j")
        left, title = steered.table, steered.title
        await steered.press("3")
        await steered.repoll()
        await steered.press("5")
        assert (steered.table, steered.title) == (left, title)
