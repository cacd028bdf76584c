"""What the console has seen so far: the last world and its age, idle cores over the day, the changes of this user.

While the server is away, the last world stays what is shown, with the reason and its age.
"""

from __future__ import annotations

from collections.abc import Callable

from tui.audit.trail import Record
from tui.backends.idle_history import IdleHistory
from tui.screen.views.base import Shown
from tui.state.cluster_view import World
from tui.state.poller import Polled, PollFailed


class Seen:
    """``world`` is None before the first answer; ``away`` says why the last poll failed, empty where it did not.
    ``elapsed`` is a monotonic clock."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._seen_s = elapsed()
        self._history = IdleHistory()
        self._trail: tuple[tuple[Record, ...], str] = ((), "")
        self.world: World | None = None
        self.away = ""

    @property
    def age_s(self) -> float:
        """How long ago the world was seen, or, before there was one, since when it is waited for."""
        return self._elapsed() - self._seen_s

    @property
    def is_stale(self) -> bool:
        """Whether what is shown is the last picture of a server that is away."""
        return bool(self.away) and self.world is not None

    @property
    def shown(self) -> Shown | None:
        """What views show; None before there is anything."""
        return None if self.world is None else Shown(self.world, self._history, *self._trail)

    def fail(self, news: PollFailed) -> None:
        """The server did not answer."""
        self.away = news.text

    def see(self, news: Polled) -> bool:
        """Another world; gives whether the server had been away before it."""
        was_away, self.away = bool(self.away), ""
        self._seen_s = self._elapsed()
        self.world = world = news.world
        vnodes = world.tally.vnodes
        self._history = self._history.sampled(world.now_s, vnodes.total - vnodes.used, vnodes.total)
        self._history = self._history.with_passes(world.passes.idle, vnodes.total)
        return was_away

    def read_trail(self, records: tuple[Record, ...], problem: str) -> bool:
        """What the audit file says; gives whether it is something new."""
        before, self._trail = self._trail, (records, problem)
        return before != self._trail

    def begin_history(self) -> None:
        """Another workload begins: what was idle before tells nothing of it."""
        self._history = IdleHistory()
