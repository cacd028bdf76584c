"""The comparison as text: one table, and below it the same picture as in a file, drawn with characters.

A box extends from 25 to 75 % of the jobs, its whiskers from 5 to 95 %. For terminals without UTF-8 there is an ASCII
glyph of the same width for each glyph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sim.replay.job_records import JobRecord, Replay
from sim.report.compare_by_job_class import ALL, CLASSES, LONG_S, Compared, Spread, first_and_last_s, usage
from sim.report.gains_sizes_users_and_losers import gains_table, losers_table, sizes_table, users_table
from sim.report.gantt_bar_rows import jobs_to_draw
from sim.report.replay_table_json_and_csv import aligned, column_names, figure_rows, head_lines, printable
from sim.report.time_span_given_or_most_preemptions import DAY_S, Span
from sim.workload.workload import Cluster, Workload

_JOBS_SHOWN = 6
_FEWEST_COLUMNS = 60


class Glyphs(NamedTuple):
    """The characters to draw with: the parts of a box plot, levels from empty to full, and a job's states."""

    low: str
    whisker: str
    box: str
    middle: str
    high: str
    levels: str
    waiting: str
    running: str
    cut: str


UNICODE = Glyphs("├", "─", "▒", "█", "┤", " ▁▂▃▄▅▆▇█", "·", "█", "╳")
ASCII = Glyphs("|", "-", "=", "O", "|", "0123456789", ".", "#", "X")

_WAIT_TICKS = (
    (0, "0"),
    (60, "1m"),
    (600, "10m"),
    (3600, "1h"),
    (36_000, "10h"),
    (4 * DAY_S, "4d"),
    (40 * DAY_S, "40d"),
)
_SLOWDOWN_TICKS = tuple((10.0**power, f"{10**power:,}") for power in range(7))


def to_text(
    workload: Workload,
    cluster: Cluster,
    compared: Sequence[Compared],
    replays: Sequence[Replay],
    *,
    wide_above_cores: int,
    span: Span,
    glyphs: Glyphs,
    columns: int,
    seed: int = 1,
) -> str:
    """The tables and the picture, at most `columns` wide if the tables allow it; ``seed`` is that of the intervals."""
    width = max(_FEWEST_COLUMNS, columns)
    measured = [each.metrics for each in compared]
    names = column_names(workload, measured)
    lines = [
        *head_lines(workload, cluster, measured),
        "",
        *_table(workload, compared),
        "",
        *_classes(compared, wide_above_cores),
    ]
    for part in (
        gains_table(names, [c.gains for c in compared], seed),
        sizes_table(names, [c.sizes for c in compared]),
        users_table(names, [c.users for c in compared]),
        losers_table(names, [c.pairs for c in compared]),
    ):
        lines += ["", *part] if part else []
    classes = [(name, [c.classes.get(name) for c in compared]) for name in (ALL, *CLASSES)]
    waits = [(name, [figures.waits_s if figures else None for figures in of_class]) for name, of_class in classes]
    slowdowns = [(name, [figures.slowdowns if figures else None for figures in of_class]) for name, of_class in classes]
    lines += ["", *_boxes("wait", waits, names, _WaitScale, glyphs, width)]
    lines += ["", *_boxes("bounded slowdown", slowdowns, names, _SlowdownScale, glyphs, width)]
    lines += ["", *_usage(replays, names, glyphs, width)]
    lines += ["", *_gantt(replays, names, span, glyphs, width)]
    return "\n".join(line.rstrip() for line in lines)


def _table(workload: Workload, compared: Sequence[Compared]) -> list[str]:
    rows = figure_rows(workload, [c.metrics for c in compared])
    every = [c.classes[ALL] for c in compared]
    rows.append(["half waited at most", *(f"{figures.waits_s.p50:,.1f} s" for figures in every)])
    rows.append(["half slowed down at most", *(f"{figures.slowdowns.p50:,.2f}" for figures in every)])
    rows.append(["95 % slowed down at most", *(f"{figures.slowdowns.p95:,.2f}" for figures in every)])
    for name in CLASSES:
        figures = [c.classes.get(name) for c in compared]
        if any(figures):
            rows.append([f"{name}: mean wait", *(f"{f.waits_s.mean:,.1f} s" if f else "-" for f in figures)])
            rows.append([f"{name}: mean slowdown", *(f"{f.slowdowns.mean:,.2f}" if f else "-" for f in figures)])
    return aligned(rows)


def _classes(compared: Sequence[Compared], wide_above_cores: int) -> list[str]:
    counts = [f"{figures.jobs:,} {name}" for name, figures in compared[0].classes.items() if name != ALL]
    cores = f"{wide_above_cores:,} core{'s' * (wide_above_cores != 1)}"
    return [f"jobs: {', '.join(counts)}", f"short: ran at most {LONG_S // 3600} h; narrow: at most {cores}"]


class _Scale:
    """Maps values to the columns of a line; the largest value is at its end."""

    ticks: tuple[tuple[float, str], ...]

    def __init__(self, most: float, columns: int) -> None:
        self._full = max(self.position(most), 1e-9)
        self._columns = columns

    def position(self, value: float) -> float:
        """The position of a value on the scale, not yet in columns."""
        raise NotImplementedError

    def column(self, value: float) -> int:
        """The column of a value."""
        return min(self._columns - 1, max(0, round(self.position(value) / self._full * (self._columns - 1))))

    def axis(self) -> str:
        """The ticks' labels at their columns; one that would touch the label before it is omitted."""
        line = ""
        for value, label in self.ticks:
            if self.position(value) <= self._full * (1 + 1e-9):
                column = self.column(value)
                if (not line or column > len(line)) and column + len(label) <= self._columns:
                    line = line.ljust(column) + label
        return line


class _WaitScale(_Scale):
    ticks = _WAIT_TICKS

    def position(self, value: float) -> float:
        return math.log1p(max(0.0, value) / 60)


class _SlowdownScale(_Scale):
    ticks = _SLOWDOWN_TICKS

    def position(self, value: float) -> float:
        return math.log(max(1.0, value))


def _boxes(
    title: str,
    classes: Sequence[tuple[str, Sequence[Spread | None]]],
    names: Sequence[str],
    scale_of: type[_Scale],
    glyphs: Glyphs,
    width: int,
) -> list[str]:
    """A box for each class and policy on one logarithmic scale."""
    label = max(map(len, names)) + 2
    scale = scale_of(max(spread.p95 for _, of_class in classes for spread in of_class if spread), width - label)
    lines = [f"{title}: 5, 25, 50, 75 and 95 % of the jobs", " " * label + scale.axis()]
    for class_name, of_class in classes:
        if any(of_class):
            lines.append(class_name)
            lines += [
                name.ljust(label) + (_box(spread, scale, glyphs) if spread else "no such jobs")
                for name, spread in zip(names, of_class)
            ]
    return lines


def _box(spread: Spread, scale: _Scale, glyphs: Glyphs) -> str:
    low, first, middle, last, high = map(scale.column, (spread.p5, spread.p25, spread.p50, spread.p75, spread.p95))
    cells = [" "] * (high + 1)
    cells[low : high + 1] = [glyphs.whisker] * (high + 1 - low)
    cells[low], cells[high] = glyphs.low, glyphs.high
    cells[first : last + 1] = [glyphs.box] * (last + 1 - first)
    cells[middle] = glyphs.middle
    return "".join(cells)


def _usage(replays: Sequence[Replay], names: Sequence[str], glyphs: Glyphs, width: int) -> list[str]:
    label = max(map(len, names)) + 2
    points = width - label
    first_s, last_s = first_and_last_s(replays)
    every_s = max(1.0, (last_s - first_s) / points)
    top = len(glyphs.levels) - 1
    lines = [f"cores in use, {glyphs.levels[0]!r} none to {glyphs.levels[-1]!r} all; a column is {_length(every_s)}"]
    for name, replay in zip(names, replays):
        levels = (min(top, max(0, round(share * top))) for share in usage(replay, first_s, every_s, points))
        lines.append(name.ljust(label) + "".join(glyphs.levels[level] for level in levels))
    lines.append(" " * label + _ends("0", _length(last_s - first_s), points))
    return lines


def _gantt(replays: Sequence[Replay], names: Sequence[str], span: Span, glyphs: Glyphs, width: int) -> list[str]:
    """A line for each policy and each of the jobs that differ most between the policies."""
    label = max(map(len, names)) + 2
    points = width - label
    first_s, _ = first_and_last_s(replays)
    begin, end = _length(span.begin_s - first_s), _length(span.end_s - first_s)
    numbers = jobs_to_draw(replays, span, _JOBS_SHOWN)
    if not numbers:
        return [f"jobs from {begin} to {end} after the first submit: none"]
    legend = f"{glyphs.waiting} waits, {glyphs.running} runs, {glyphs.cut} is cut"
    lines = [f"jobs from {begin} to {end} after the first submit: {legend}"]
    by_number = [{r.job.number: r for r in replay.records if r.job.number in set(numbers)} for replay in replays]
    for number in numbers:
        records = [of_policy.get(number) for of_policy in by_number]
        job = next(record.job for record in records if record is not None)
        cores = f"{job.cores:,} core{'s' * (job.cores != 1)}"
        lines.append(printable(f"job {number}, {cores}, {_length(job.run_s)}, user {job.user}")[:width])
        for name, record in zip(names, records):
            life = _life(record, span, points, glyphs) if record else "never started"
            lines.append(name.ljust(label) + life)
    lines.append(" " * label + _ends(begin, end, points))
    return lines


def _life(record: JobRecord, span: Span, points: int, glyphs: Glyphs) -> str:
    """The job's states over the span; a cell with several states shows cut before running, and running before
    waiting.
    """
    cells = [" "] * points
    layers = [(record.job.submit_s, record.end_s, glyphs.waiting)]
    layers += [(start_s, end_s, glyphs.running) for start_s, end_s in record.segments]
    layers += [(end_s, end_s, glyphs.cut) for _, end_s in record.segments[:-1]]
    for begin_s, end_s, glyph in layers:
        if begin_s < span.end_s and end_s >= span.begin_s:
            first, last = (math.floor((time_s - span.begin_s) / span.length_s * points) for time_s in (begin_s, end_s))
            for cell in range(max(0, first), min(points - 1, last) + 1):
                cells[cell] = glyph
    return "".join(cells)


def _ends(left: str, right: str, columns: int) -> str:
    return left + right.rjust(columns - len(left))


def _length(seconds: float) -> str:
    """A length of time in a suitable unit."""
    for unit_s, unit in ((DAY_S, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{seconds / unit_s:,.4g} {unit}"
    return f"{seconds:,.4g} s"
