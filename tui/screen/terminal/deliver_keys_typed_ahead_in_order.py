"""Handles keys that were typed ahead one after another, so that each acts on what the previous one opened or focused.

A key waits until everything started by the previous key is done; tui/screen/README.md has what is lost otherwise.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App
from textual.events import Event
from textual.message_pump import MessagePump

PATIENCE_S = 5.0
"""Longest wait of a key, in seconds, for the work started by the previous one."""
_ROUNDS = 50


class TypedAhead:
    """The keys of one application; ``act`` is the application's own handler of a key."""

    def __init__(self, app: App[Any], act: Callable[[Event], Awaitable[None]]) -> None:
        self._app, self._act = app, act
        self._waiting: deque[Event] = deque()
        self._settling: asyncio.Task[None] | None = None

    async def take(self, event: Event) -> None:
        """Handle a key, now or after those before it. The application calls this for each key in their order."""
        self._waiting.append(event)
        await self._go_on()

    def forget(self) -> None:
        """Drop the keys that wait: what they were meant for is not there."""
        self._waiting.clear()

    async def _go_on(self) -> None:
        while self._waiting and self._settling is None:
            event, before = self._waiting.popleft(), self._taker
            await self._act(event)
            if event.is_forwarded or self._taker is not before:
                self._settling = asyncio.create_task(self._settle())

    @property
    def _taker(self) -> MessagePump:
        """The widget or screen that gets the next key."""
        return self._app.focused or self._app.screen

    async def _settle(self) -> None:
        try:
            await asyncio.wait_for(self._rest(), PATIENCE_S)
        except asyncio.TimeoutError:
            self._app.log.warning("keys typed ahead waited in vain for the one before them")
        finally:
            self._settling = None
            self._app.call_later(self._go_on)

    async def _rest(self) -> None:
        """Wait until the widget that takes keys, and its parents up to the application, have no work left."""
        for _ in range(_ROUNDS):
            taker = self._taker
            pumps = _upwards(taker)
            for pump in pumps:
                await _turn(pump)
            if taker is self._taker and not any(_is_busy(pump) for pump in pumps):
                return


def _upwards(pump: MessagePump) -> list[MessagePump]:
    """A message pump and its parents: messages go this way."""
    found = [pump]
    while (parent := found[-1]._parent) is not None:
        found.append(parent)
    return found


async def _turn(pump: MessagePump) -> None:
    """Wait until the pump has handled its present messages; one that is closing is not waited for."""
    done = asyncio.Event()
    if pump.call_later(done.set):
        await done.wait()


def _is_busy(pump: MessagePump) -> bool:
    return bool(pump._next_callbacks) or not pump._message_queue.empty()
