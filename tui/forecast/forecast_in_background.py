"""The console's own forecasts in processes beside it: of all starts, where passes publish none that is young, and of
what a change would do.

A process sends a first result after a few draws and better ones as they are made. The next forecast of all starts
begins only after a rest of several times what the last one took.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from hooks.forecast.forecast_to_publish import publishable
from hooks.forecast.published_forecast import PublishedForecast
from hooks.forecast.scale_forecast_to_cpu_time import Within, forecast_within
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.forecast.what_if_waits_before_and_after import Comparison
from tui.backends.interface.backend_protocol import Backend
from tui.forecast.compute_in_forked_process import Worker
from tui.forecast.past_runs_to_forecast_from import Learned, learn
from tui.forecast.what_if import HypotheticalChange, look_ahead
from tui.forecast.when_it_starts import OLD_S, planned_limits_of
from tui.state.cluster_view import ClusterView
from tui.state.snapshot_by_last_pass import translate_by_last_pass

AGAIN_S = 300.0
"""By the server's clock: a forecast of this age is replaced."""
_REST = 10
"""In times of what the last one took."""
_LEARN_AGAIN_S = 3600.0
_LONGEST_S = 600.0
"""A process that takes longer is ended."""


class BackgroundForecasts:
    """The forecasts of one console. The poller calls it, and never waits; :meth:`compare` is for a thread that may."""

    def __init__(self, backend: Backend, clock: Callable[[], float] = time.monotonic) -> None:
        self._backend = backend
        self._clock = clock
        self._worker: Worker | None = None
        self._comparing: Worker | None = None
        self._is_stopped = False
        self._begun_s = self._not_before_s = 0.0
        self._own: PublishedForecast | None = None
        self._learned: Learned | None = None
        self._learned_s = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether a forecast of all starts is being made."""
        return self._worker is not None

    def __call__(self, cluster: ClusterView) -> PublishedForecast | None:
        """The newest forecast there is for this server status; begins another one where it is due."""
        published = cluster.passes.forecast
        self._read()
        if self._own is not None and self._own.time_s > cluster.now_s:
            # Another workload, or a clock that went back.
            self._own = None
        newest = max(filter(None, (published, self._own)), key=lambda each: each.time_s, default=None)
        age_s = float("inf") if newest is None else newest.age_s(cluster.now_s)
        is_old = age_s >= (OLD_S if newest is published else AGAIN_S)
        may_begin = self._worker is None and not self._is_stopped
        if is_old and may_begin and self._clock() >= self._not_before_s and cluster.server_status.jobs:
            self._begin(cluster)
        return newest

    def compare(self, cluster: ClusterView, after: ServerStatus) -> Iterator[tuple[Comparison, int]]:
        """What it would do over the next day if the server showed ``after``: better and better comparisons, each with
        the number of past runs that it goes by. Ends without more if another comparison begins. Raises OSError."""
        learned, cpu_s = self._learn(), cluster.settings.forecast.cpu_s
        supposed = HypotheticalChange("", after, cluster.settings)

        def lines() -> Iterator[bytes]:
            for found in look_ahead(cluster, supposed, learned, cpu_s):
                yield pickle.dumps(found).hex().encode("ascii")

        if self._comparing is not None:
            self._comparing.end()
        self._comparing = worker = Worker(lines, cpu_s)
        begun_s = self._clock()
        while worker is self._comparing:
            for line in worker.read(0.5):
                # From this console's own copy, not from anybody else.
                yield pickle.loads(bytes.fromhex(line.decode("ascii"))), learned.runs  # noqa: S301
            if worker.has_ended or self._clock() - begun_s > _LONGEST_S:
                break
        worker.end()

    def stop(self) -> None:
        """End the processes under way; a poll that is still under way begins no other one."""
        self._is_stopped = True
        for worker in (self._worker, self._comparing):
            if worker is not None:
                worker.end()
        self._worker = self._comparing = None

    def _begin(self, cluster: ClusterView) -> None:
        learned, cpu_s = self._learn(), cluster.settings.forecast.cpu_s

        def lines() -> Iterator[bytes]:
            for published in forecasts_of(cluster, learned, cpu_s):
                yield json.dumps(published.to_data()).encode("ascii")

        self._begun_s = self._clock()
        try:
            self._worker = Worker(lines, cpu_s)
        except OSError:
            self._not_before_s = self._begun_s + AGAIN_S
        if self._is_stopped:
            # The poller's thread was here while the console was left.
            self.stop()

    def _learn(self) -> Learned:
        """The past runs, read anew once an hour: the server's own history may be long."""
        if self._learned is None or self._clock() - self._learned_s >= _LEARN_AGAIN_S:
            self._learned, self._learned_s = learn(self._backend), self._clock()
        return self._learned

    def _read(self) -> None:
        """Take what the process has sent so far."""
        worker = self._worker
        if worker is None:
            return
        lines = worker.read()
        took_s = self._clock() - self._begun_s
        if took_s > _LONGEST_S:
            worker.end()
        if worker.has_ended:
            self._worker = None
            self._not_before_s = self._clock() + _REST * took_s
        if lines:
            with suppress(ValueError):
                self._own = PublishedForecast.from_data(json.loads(lines[-1])) or self._own


def forecasts_of(cluster: ClusterView, learned: Learned, cpu_s: float) -> Iterator[PublishedForecast]:
    """Better and better forecasts of all waiting jobs of a cluster view, within so much processor time."""
    begun_s = time.process_time()
    snapshot = translate_by_last_pass(cluster.server_status, cluster.settings, cluster.passes).snapshot
    within = Within(cpu_s=cpu_s, draws=cluster.settings.forecast.draws)
    planned = planned_limits_of(cluster, cluster.server_status, within.horizon_s)
    for made, left_out in forecast_within(
        snapshot, cluster.ledger, cluster.settings, learned.history, learned.record, within, planned=planned
    ):
        yield publishable(made, learned.runs, time.process_time() - begun_s, left_out)
