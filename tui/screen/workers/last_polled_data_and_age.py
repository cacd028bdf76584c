"""What the console has read so far: the latest cluster view and its age, idle cores over the day, the audit records.

While the server is away, the latest cluster view stays shown, with the reason and its age.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hooks.record.day_of_activity import Day, Events
from tui.audit.read_and_merge_audit_records import AuditRecord
from tui.backends.idle_core_history import IdleHistory
from tui.screen.views.bases.base_view import Shown
from tui.state.cluster_view import ClusterView
from tui.state.server_poller import Polled, PollFailed
from tui.state.temperatures_seen import Temperatures
from tui.state.use_by_entity import use_by_entity

if TYPE_CHECKING:
    from tui.model.migrating_jobs import Migration


class LastPolled:
    """``cluster`` is None before the first successful poll; ``away`` says why the last poll failed, empty where it
    succeeded. ``elapsed`` is a monotonic clock.
    """

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._seen_s = elapsed()
        self._history = IdleHistory()
        self._watched = (0, 0, 0)
        self._day = Day()
        self._temperatures = Temperatures()
        self._trail: tuple[tuple[AuditRecord, ...], str] = ((), "")
        self.cluster: ClusterView | None = None
        self.migration: Migration | None = None
        self.away = ""

    @property
    def age_s(self) -> float:
        """Seconds since the latest cluster view arrived or, before the first, since the start."""
        return self._elapsed() - self._seen_s

    @property
    def is_stale(self) -> bool:
        """Whether the server is away, so that an old cluster view is shown."""
        return bool(self.away) and self.cluster is not None

    @property
    def shown(self) -> Shown | None:
        """What views show; None before the first cluster view."""
        if self.cluster is None:
            return None
        day = self._day.filled_from(self.cluster.passes.day)
        return Shown(self.cluster, self._history, *self._trail, self.is_stale, self.migration, day, self._temperatures)

    def fail(self, news: PollFailed) -> None:
        """A poll has failed."""
        self.away = news.text

    def take_poll(self, news: Polled) -> bool:
        """Take a new cluster view; returns whether the server had been away before."""
        was_away, self.away = bool(self.away), ""
        self._seen_s = self._elapsed()
        self.cluster = cluster = news.cluster
        vnodes = cluster.counts.vnodes
        self._history = self._history.sampled(cluster.now_s, vnodes.total - vnodes.used, vnodes.total)
        self._day = self._sampled(cluster)
        self._temperatures.sample(cluster.server_status.vnodes, cluster.now_s)
        self._history = self._history.with_passes(cluster.passes.idle, vnodes.total)
        return was_away

    def _sampled(self, cluster: ClusterView) -> Day:
        """The day with this poll: what it has counted more than the poll before is what happened in between."""
        vnodes, watched = cluster.counts.vnodes, cluster.watched
        counts = (watched.started, watched.ended, watched.preempted)
        before, self._watched = self._watched, counts
        events = Events(*(max(0, now - then) for now, then in zip(counts, before)))
        return self._day.sampled(cluster.now_s, vnodes.used, vnodes.total, events, use=use_by_entity(cluster))

    def read_trail(self, records: tuple[AuditRecord, ...], problem: str) -> bool:
        """Take the audit records; returns whether they are new."""
        before, self._trail = self._trail, (records, problem)
        return before != self._trail

    def begin_history(self) -> None:
        """Another workload begins: the idle cores of the old one are dropped."""
        self._history, self._day, self._temperatures = IdleHistory(), Day(), Temperatures()
