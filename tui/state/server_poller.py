"""The poller: the one thread that polls the server, decides and publishes. Polls never overlap.

The wait after a poll is at least the interval, :data:`PATIENCE` times the server's response time, and
:data:`OWN_PATIENCE` times the console's own processing time, which bounds the load of both; but never more than two
minutes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Union

from hooks.forecast.published_forecast import PublishedForecast
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.snapshot import Known
from policy.forecast.what_if_waits_before_and_after import Comparison
from tui.backends.interface.backend_protocol import Backend, BackendError
from tui.backends.thread_and_gc_tuning import COLLECTOR
from tui.state.cluster_view import ClusterView, see
from tui.state.ended_jobs import History
from tui.state.poll_resources_used_by_jobs import UsedResources

PATIENCE = 9.0
OWN_PATIENCE = 1.0
_SLOWEST_S = 120.0


@dataclass(frozen=True)
class Polled:
    """A new cluster view. Only the first one comes without a plan, so that the screen fills at once."""

    cluster: ClusterView


@dataclass(frozen=True)
class PollFailed:
    """A failed poll; ``text`` says why, the next one is in ``again_s`` seconds."""

    text: str
    again_s: float


PollResult = Union[Polled, PollFailed]


class Forecasts(Protocol):
    """Makes forecasts in the background; called with each new cluster view, and never waits."""

    def __call__(self, cluster: ClusterView) -> PublishedForecast | None:
        """The newest forecast."""

    def compare(self, cluster: ClusterView, after: ServerStatus) -> Iterator[tuple[Comparison, int]]:
        """What it would do over the next day if the server showed ``after``, and by how many past runs; for a thread
        that may wait. Raises OSError."""

    def stop(self) -> None:
        """End what is under way."""


class Poller(threading.Thread):
    """Polls until it is stopped and passes each result to ``publish``, in its own thread."""

    def __init__(
        self,
        backend: Backend,
        publish: Callable[[PollResult], None],
        interval_s: float,
        stopwatch: Callable[[], float],
        forecasts: Forecasts | None = None,
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        """``prepare`` makes what the backend needs before it can answer; the server is not charged for its time."""
        super().__init__(name="poller", daemon=True)
        self._prepare = prepare
        self._backend = backend
        self._publish = publish
        self._interval_s = interval_s
        self._stopwatch = stopwatch
        self._forecasts = forecasts
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._cluster: ClusterView | None = None
        self.history = History(backend, stopwatch)
        self._use = UsedResources(backend, stopwatch)
        self._known = Known()

    def ask(self) -> None:
        """Poll now instead of after the wait; if a poll is under way, once more right after it."""
        self._wanted.set()

    def stop(self) -> None:
        """Publish nothing any more. Does not wait for a poll under way."""
        self._stopped.set()
        self._wanted.set()

    def run(self) -> None:
        """Poll until stopped."""
        try:
            self._poll()
        finally:
            if self._forecasts is not None:
                self._forecasts.stop()

    def _poll(self) -> None:
        failures = 0
        while not self._stopped.is_set():
            self._wanted.clear()
            try:
                with COLLECTOR.frozen_objects():
                    self._prepare()
                    began_s = time.monotonic()
                    answered_s = self._look()
                failures = 0
            except Exception as error:  # noqa: BLE001 - whatever went wrong belongs on the screen, and polling goes on
                failures += 1
                again_s = min(self._interval_s * 2 ** min(failures - 1, 5), _SLOWEST_S)
                self._hand_on(PollFailed(str(error) if isinstance(error, BackendError) else _described(error), again_s))
                self._wanted.wait(again_s)
                continue
            own_s = time.monotonic() - answered_s
            patience_s = max(PATIENCE * (answered_s - began_s), OWN_PATIENCE * own_s)
            self._wanted.wait(min(max(self._interval_s, patience_s), _SLOWEST_S))

    def _look(self) -> float:
        """Poll and publish; returns the time of the server's reply (monotonic clock)."""
        began_s = self._stopwatch()
        server_status = self._backend.poll()
        answered_s = time.monotonic()
        poll_s = self._stopwatch() - began_s
        settings, ledger = self._backend.settings(), self._backend.ledger()
        if self._cluster is None:
            first = see(server_status, settings, ledger, poll_s)
            first.prepare()
            self._hand_on(Polled(first))
        cluster = see(
            server_status,
            settings,
            ledger,
            poll_s,
            passes=self._backend.journal.read(),
            finished=self.history.now(),
            used=self._use.now(),
            before=self._cluster,
        )
        if self._forecasts is not None:
            cluster = replace(cluster, forecast=self._forecasts(cluster))
        self._cluster = cluster.decided(self._stopwatch, self._known, self._cluster)
        self._hand_on(Polled(self._cluster))
        return answered_s

    def _hand_on(self, news: PollResult) -> None:
        if not self._stopped.is_set():
            self._publish(news)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
