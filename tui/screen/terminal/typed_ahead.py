"""Keys that were typed ahead, one after another: each acts on what the one before it has opened, closed or focused.

Over a slow line, keys come many at once. Textual sends each at once to whatever has the focus at that moment, while the
dialog that an earlier one opens is still being made, or the one that it leaves is still there; those keys are lost, or
do something else than they were meant for. Here a key waits until all that the one before it set off is done. A key
that moved no focus and was handed to nobody does not make the next one wait, so holding a key down costs nothing.
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
"""What does not come to rest for so long does not keep a user from typing."""
_ROUNDS = 50


class TypedAhead:
    """The keys of one application; ``act`` is the application's own way with a key."""

    def __init__(self, app: App[Any], act: Callable[[Event], Awaitable[None]]) -> None:
        self._app, self._act = app, act
        self._waiting: deque[Event] = deque()
        self._settling: asyncio.Task[None] | None = None

    async def take(self, event: Event) -> None:
        """Act on a key now or when its turn comes. Called by the application for each key, in their order."""
        self._waiting.append(event)
        await self._go_on()

    async def _go_on(self) -> None:
        while self._waiting and self._settling is None:
            event, before = self._waiting.popleft(), self._taker
            await self._act(event)
            if event.is_forwarded or self._taker is not before:
                self._settling = asyncio.create_task(self._settle())

    @property
    def _taker(self) -> MessagePump:
        """Who gets the next key."""
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
        """Until who takes keys, and all around it up to the application, have nothing left to do."""
        for _ in range(_ROUNDS):
            taker = self._taker
            pumps = _upwards(taker)
            for pump in pumps:
                await _turn(pump)
            if taker is self._taker and not any(_is_busy(pump) for pump in pumps):
                return


def _upwards(pump: MessagePump) -> list[MessagePump]:
    """It, and those around it: messages go this way."""
    found = [pump]
    while (parent := found[-1]._parent) is not None:
        found.append(parent)
    return found


async def _turn(pump: MessagePump) -> None:
    """Until it has worked through the messages that it has now; one that is closing has nothing left to say."""
    done = asyncio.Event()
    if pump.call_later(done.set):
        await done.wait()


def _is_busy(pump: MessagePump) -> bool:
    return bool(pump._next_callbacks) or not pump._message_queue.empty()
