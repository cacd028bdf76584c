"""CPU seconds of one pass of mgsched over 10,000 requests, with recorded answers of 10 clusters."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from migration.passes.source.source_pass import source_pass
from tests.bench_migration.source_with_recorded_answers import (
    REQUESTS,
    RecordedClusters,
    make_answers,
    open_recorded,
    put_site,
)
from tests.bench_pbs.benchmark_result import Figure

_MOST_S = 2.0
_HOUR_S = 3600


def measure(_: Sequence[str]) -> Iterator[Figure]:
    """A pass of each kind, each as in a new process: nothing is read yet."""
    yield _pass("the first: it writes why requests stay", passes=1, free=False, age_s=600)
    yield _pass("the next one: nothing has changed", passes=2, free=False, age_s=600)
    yield _pass("as many hand-overs as a pass may make", passes=1, free=True, age_s=600)
    yield _pass("all old enough for the local queue as well", passes=1, free=False, age_s=2 * _HOUR_S)


def _pass(what: str, *, passes: int, free: bool, age_s: int) -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        put_site(home, "alice", age_s)
        for _ in range(passes):
            clusters = RecordedClusters(make_answers(free))
            begun_s = time.process_time()
            placements = source_pass(open_recorded(home, clusters))
            cpu_s = time.process_time() - begun_s
    note = f"{len(placements.placed)} placed, {len(placements.fallbacks)} also local, {clusters.calls} calls"
    return Figure(f"mgsched, {REQUESTS:,} requests: {what}", cpu_s, "s", _MOST_S, note)
