"""A console under test: on a scripted server, with clocks that stand still, and ways to wait for what it shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.events import Paste
from textual.pilot import Pilot

from tests.tui.scripted_server import NOON_S, ScriptedBackend, ScriptedSimulation
from tui.audit.audit_file import Actor
from tui.screen.app import Console
from tui.screen.main_screen import MainScreen

PATIENCE_S = 60.0
"""So long may the screen stand still before what is waited for counts as not coming."""
LONGEST_S = 300.0
LONG = 50
"""From so many characters on a command is pasted: each key typed takes the screen a while."""


@dataclass
class Steered:
    """A running console and the hands on it."""

    console: Console
    pilot: Pilot[str]
    elapsed_s: float = 0.0

    @property
    def main(self) -> MainScreen:
        return self.console.main

    @property
    def screen_lines(self) -> list[str]:
        """What is on the screen, line by line."""
        strips = self.console.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def title(self) -> str:
        """The title of the view, below the header and the tabs."""
        return self.screen_lines[2]

    @property
    def table(self) -> list[str]:
        """The table of the view: the line of its columns, and its rows."""
        return self.screen_lines[3:]

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen_lines)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str, end: str = "enter") -> None:
        names = {" ": "space", ":": "colon", "/": "slash"}
        await self.pilot.press(*(names.get(character, character) for character in text), end)
        await self.pilot.pause()

    async def command(self, text: str) -> None:
        """Type a command; paste it if it is long, as one would with a path or many job ids."""
        await self.press("colon")
        if len(text) < LONG:
            await self.type(text)
            return
        self.console.post_message(Paste(text))
        await self.press("enter")

    async def put_cursor_on(self, name: str) -> None:
        """Go down the table from its first row to the one of this name."""
        await self.press("g")
        while self.main.view.cursor_name != name:
            before = self.title
            await self.press("j")
            assert self.title != before, f"no row {name}:\n{self.text}"

    async def until(self, holds: Callable[[], object], what: str = "") -> None:
        """Wait for it, on a busy machine longer: as long as the screen goes on changing."""
        clock = asyncio.get_running_loop().time
        begun_s = changed_s = clock()
        seen = ""
        while not holds():
            await self.pilot.pause(0.01)
            if self.text != seen:
                seen, changed_s = self.text, clock()
            if clock() > min(changed_s + PATIENCE_S, begun_s + LONGEST_S):
                raise AssertionError(f"waited in vain for {what or 'the screen'}; it shows:\n{self.text}")

    async def until_shown(self, *texts: str) -> None:
        for text in texts:
            await self.until(lambda text=text: text in self.text, repr(text))  # type: ignore[misc]

    async def repoll(self) -> None:
        """Poll once more and wait until it is shown."""
        cluster = self.main.cluster
        self.main.poller.ask()
        await self.until(lambda: self.main.cluster is not cluster, "another poll")


def a_console(backend: ScriptedBackend, audit: Path, steered: list[Steered], **options: Any) -> Console:
    simulation = backend if isinstance(backend, ScriptedSimulation) else None
    return Console(
        backend,
        audit,
        Actor("root", "10.0.0.7"),
        simulation=simulation,
        interval_s=0.05 if backend.failure else 3600.0,
        clock=lambda: NOON_S,
        elapsed=lambda: steered[0].elapsed_s if steered else 0.0,
        **options,
    )


@asynccontextmanager
async def open_console(
    backend: ScriptedBackend, audit: Path, size: tuple[int, int] = (100, 30), **options: Any
) -> AsyncIterator[Steered]:
    """A console that has seen its first plan."""
    found: list[Steered] = []
    console = a_console(backend, audit, found, **options)
    async with console.run_test(size=size) as pilot:
        steered = Steered(console, pilot)
        found.append(steered)
        if not backend.failure:
            await steered.until(lambda: console.main.cluster is not None and console.main.cluster.decision is not None)
        await pilot.pause()
        yield steered
