"""The one thread that asks the server: poll, see, decide, hand on; never two at once, slower where the server is slow.

The wait after a poll is at least the interval, at least :data:`PATIENCE` times what the server took for its answer, so
a console can never be more than a fraction of a server's load, and at least :data:`OWN_PATIENCE` times what working it
in took, so that this never takes more than half of a processor. A failure is handed on like a picture, and polling goes
on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

from hooks.translate.snapshot import Known
from tui.backends.base import Source, SourceError
from tui.backends.interpreter import COLLECTOR
from tui.state.cluster_view import World, see
from tui.state.ended_jobs import History

PATIENCE = 9.0
OWN_PATIENCE = 1.0
_SLOWEST_S = 120.0


@dataclass(frozen=True)
class Polled:
    """A world that was seen; only the very first one comes without its plan, so that the screen fills at once."""

    world: World


@dataclass(frozen=True)
class PollFailed:
    """The server could not be asked; ``text`` says why, ``again_s`` when it will be asked again."""

    text: str
    again_s: float


News = Union[Polled, PollFailed]


class Poller(threading.Thread):
    """Polls until it is stopped, and hands each result to ``publish`` from its own thread."""

    def __init__(
        self, source: Source, publish: Callable[[News], None], interval_s: float, stopwatch: Callable[[], float]
    ) -> None:
        super().__init__(name="poller", daemon=True)
        self._source = source
        self._publish = publish
        self._interval_s = interval_s
        self._stopwatch = stopwatch
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._world: World | None = None
        self.history = History(source, stopwatch)
        self._known = Known()

    def ask(self) -> None:
        """Poll now instead of at the end of the wait; while a poll is under way, once more right after it."""
        self._wanted.set()

    def stop(self) -> None:
        """Hand on nothing any more. Does not wait for a poll under way."""
        self._stopped.set()
        self._wanted.set()

    def run(self) -> None:
        """Poll until stopped."""
        failures = 0
        while not self._stopped.is_set():
            self._wanted.clear()
            began_s = time.monotonic()
            try:
                with COLLECTOR.out_of_sight():
                    answered_s = self._look()
                failures = 0
            except Exception as error:  # noqa: BLE001 - whatever went wrong belongs on the screen, and polling goes on
                failures += 1
                again_s = min(self._interval_s * 2 ** min(failures - 1, 5), _SLOWEST_S)
                self._hand_on(PollFailed(str(error) if isinstance(error, SourceError) else _described(error), again_s))
                self._wanted.wait(again_s)
                continue
            own_s = time.monotonic() - answered_s
            patience_s = max(PATIENCE * (answered_s - began_s), OWN_PATIENCE * own_s)
            self._wanted.wait(min(max(self._interval_s, patience_s), _SLOWEST_S))

    def _look(self) -> float:
        """Poll, and hand on what was seen; gives the moment at which the server had answered."""
        began_s = self._stopwatch()
        picture = self._source.poll()
        answered_s = time.monotonic()
        poll_s = self._stopwatch() - began_s
        settings, ledger = self._source.settings(), self._source.ledger()
        if self._world is None:
            first = see(picture, settings, ledger, poll_s)
            first.prepare()
            self._hand_on(Polled(first))
        world = see(
            picture,
            settings,
            ledger,
            poll_s,
            passes=self._source.journal.read(),
            finished=self.history.now(),
            before=self._world,
        )
        self._world = world.decided(self._stopwatch, self._known, self._world)
        self._hand_on(Polled(self._world))
        return answered_s

    def _hand_on(self, news: News) -> None:
        if not self._stopped.is_set():
            self._publish(news)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
