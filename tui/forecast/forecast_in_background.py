"""The console's own forecast, where passes publish none that is young: in a process beside it, never in its threads.

That process is a copy of this one, with the lowest priority and a limit on its processor time. It sends a first
forecast after a few draws and better ones as they are made. The next one begins only after a rest of several times what
the last one took.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from hooks.forecast.forecast_within_time import Within, forecast_within
from hooks.forecast.published_forecast import PublishedForecast, publishable
from hooks.store.detached_process import close_from, reset_signals
from hooks.translate.snapshot import translate
from tui.backends.backend_protocol import Backend
from tui.forecast.learned_runs import Learned, learn
from tui.forecast.when_it_starts import OLD_S
from tui.state.cluster_view import ClusterView

AGAIN_S = 300.0
"""By the server's clock: a forecast of this age is replaced."""
_REST = 10
"""In times of what the last one took."""
_LEARN_AGAIN_S = 3600.0
_LONGEST_S = 600.0
"""A process that takes longer is ended."""
_PIECE = 1 << 20
_MOST_BYTES = 256 << 20


class BackgroundForecasts:
    """The forecasts of one console. Only the poller calls it, and it never waits for a forecast."""

    def __init__(self, backend: Backend, clock: Callable[[], float] = time.monotonic) -> None:
        self._backend = backend
        self._clock = clock
        self._child: tuple[int, int] | None = None
        self._data = b""
        self._begun_s = self._not_before_s = 0.0
        self._own: PublishedForecast | None = None
        self._learned: Learned | None = None
        self._learned_s = 0.0

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
        if is_old and self._child is None and self._clock() >= self._not_before_s and cluster.server_status.jobs:
            self._begin(cluster)
        return newest

    def stop(self) -> None:
        """End the process under way."""
        if self._child is not None:
            self._end(self._child)

    def _begin(self, cluster: ClusterView) -> None:
        learned = self._learn()
        readable, writable = os.pipe()
        self._begun_s, self._data = self._clock(), b""
        try:
            pid = os.fork()
        except OSError:
            os.close(readable)
            os.close(writable)
            self._not_before_s = self._begun_s + AGAIN_S
            return
        if pid:
            os.close(writable)
            os.set_blocking(readable, False)
            self._child = pid, readable
            return
        try:
            _work(cluster, learned, writable)
        finally:
            # The child is a copy of the console: it must not run any of the console's code, nor touch its terminal.
            os._exit(0)

    def _learn(self) -> Learned:
        """The past runs, read anew once an hour: the server's own history may be long."""
        if self._learned is None or self._clock() - self._learned_s >= _LEARN_AGAIN_S:
            self._learned, self._learned_s = learn(self._backend), self._clock()
        return self._learned

    def _read(self) -> None:
        """Take what the process has sent so far; only whole lines count."""
        if self._child is None:
            return
        _, readable = self._child
        while select.select([readable], [], [], 0)[0]:
            piece = os.read(readable, _PIECE)
            self._data += piece
            if not piece or len(self._data) > _MOST_BYTES:
                self._end(self._child)
                break
        if self._child is not None and self._clock() - self._begun_s > _LONGEST_S:
            self._end(self._child)
        *lines, self._data = self._data.split(b"\n")
        if lines:
            with suppress(ValueError):
                self._own = PublishedForecast.from_data(json.loads(lines[-1])) or self._own

    def _end(self, child: tuple[int, int]) -> None:
        pid, readable = child
        os.close(readable)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
        self._child = None
        took_s = self._clock() - self._begun_s
        self._not_before_s = self._clock() + _REST * took_s


def _work(cluster: ClusterView, learned: Learned, writable: int) -> None:
    """In the process of its own: send one line for each forecast."""
    os.setsid()
    gc.freeze()
    os.nice(19)
    os.dup2(writable, 0)
    close_from(1)
    for _ in range(2):
        os.open(os.devnull, os.O_RDWR)
    reset_signals()
    cpu_s = cluster.settings.forecast.cpu_s
    hard_s = int(4 * cpu_s) + 10
    resource.setrlimit(resource.RLIMIT_CPU, (hard_s, hard_s))
    for published in forecasts_of(cluster, learned, cpu_s):
        line = memoryview(json.dumps(published.to_data()).encode("ascii") + b"\n")
        while line:
            line = line[os.write(0, line) :]


def forecasts_of(cluster: ClusterView, learned: Learned, cpu_s: float) -> Iterator[PublishedForecast]:
    """Better and better forecasts of all waiting jobs of a cluster view, within so much processor time."""
    begun_s = time.process_time()
    snapshot = translate(cluster.server_status, cluster.settings).snapshot
    within = Within(cpu_s=cpu_s, draws=cluster.settings.forecast.draws)
    for made in forecast_within(snapshot, cluster.ledger, cluster.settings, learned.history, learned.record, within):
        yield publishable(made, learned.runs, time.process_time() - begun_s)
