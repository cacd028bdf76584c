"""Runs as bars over cores and time, for drawing: the rows of a run, and where it was cut.

A row is a core, but not one of a certain vnode: a record has the vnodes of its last run only. Rows are assigned from
the lowest on; a run that finds no gap that is large enough takes several.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from sim.replay.job_records import JobRecord, Replay
from sim.report.time_span_given_or_most_preemptions import Span


class Bar(NamedTuple):
    """One run of a job, number `part` from 0. `rows` are half-open ranges; `cut`: the run was preempted at `end_s`.

    Times are those of the run, even if it begins before the span or ends after it.
    """

    record: JobRecord
    part: int
    start_s: float
    end_s: float
    rows: tuple[tuple[int, int], ...]
    cut: bool


def bars(replay: Replay, span: Span) -> list[Bar]:
    """Every run that takes some time within the span, by start; no two that overlap in time share a row."""
    runs = sorted(
        (start_s, record.job.number, part, end_s, record)
        for record in replay.records
        for part, (start_s, end_s) in enumerate(record.segments)
        if start_s < span.end_s and end_s > span.begin_s and end_s > start_s
    )
    free = [(0, replay.cluster.cores)]
    ends: list[tuple[float, int, tuple[tuple[int, int], ...]]] = []
    drawn: list[Bar] = []
    for start_s, _, part, end_s, record in runs:
        while ends and ends[0][0] <= start_s:
            free = _given_back(free, heappop(ends)[2])
        rows, free = _taken(free, record.job.cores)
        heappush(ends, (end_s, len(drawn), rows))
        drawn.append(Bar(record, part, start_s, end_s, rows, part < len(record.segments) - 1))
    return drawn


def jobs_to_draw(replays: Sequence[Replay], span: Span, count: int) -> list[int]:
    """The numbers of the jobs that show most about the policies, in order of submission.

    First those cut in the span, most often cut first; then those in the system during the span whose ends differ most
    between the policies, weighted by cores.
    """
    cuts: dict[int, int] = {}
    ends: dict[int, list[float]] = {}
    records: dict[int, JobRecord] = {}
    for replay in replays:
        for record in replay.records:
            if record.job.submit_s < span.end_s and record.end_s > span.begin_s:
                number = record.job.number
                records[number] = record
                ends.setdefault(number, []).append(record.end_s)
                here = sum(span.begin_s <= end_s < span.end_s for _, end_s in record.segments[:-1])
                cuts[number] = cuts.get(number, 0) + here

    def weight(number: int) -> tuple[float, float, int]:
        cores = records[number].job.cores
        return -cuts[number], -(max(ends[number]) - min(ends[number])) * cores, number

    chosen = sorted(records, key=weight)[:count]
    return sorted(chosen, key=lambda number: (records[number].job.submit_s, number))


def _taken(free: Sequence[tuple[int, int]], cores: int) -> tuple[tuple[tuple[int, int], ...], list[tuple[int, int]]]:
    """Rows for a run and the remaining free rows: the lowest gap that is large enough, else the lowest free rows."""
    whole = next((gap for gap in free if gap[1] - gap[0] >= cores), None)
    if whole is not None:
        low, high = whole
        left = [(low + cores, high)] if high - low > cores else []
        at = free.index(whole)
        return ((low, low + cores),), [*free[:at], *left, *free[at + 1 :]]
    rows, left = [], []
    for low, high in free:
        take = min(high - low, cores)
        cores -= take
        if take:
            rows.append((low, low + take))
        if low + take < high:
            left.append((low + take, high))
    return tuple(rows), left


def _given_back(free: Sequence[tuple[int, int]], rows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted((*free, *rows)):
        if merged and merged[-1][1] == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged
