"""Plots of replays side by side: the jobs' waits, their slowdowns, and the cores in use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sim.replay.job_records import Replay
from sim.replay.metrics import bounded_slowdown, wait_s
from sim.report.compare_by_job_class import first_and_last_s, usage
from sim.report.plot_format_styles_and_labels import colour_of, dashes_of, new_figure, plain, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HOUR_S = 3600
_DAY_S = 86400
_RANKS = 400
_USAGE_POINTS = 150


def plot(path: Path, title: str, replays: Sequence[Replay]) -> None:
    """Draw to `path`, as SVG or PNG by its ending. Raises PlotError, and OSError if the file cannot be written."""
    figure = new_figure(title, 11, 7.5)
    grid = figure.add_gridspec(2, 2)
    waits, slowdowns = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    for index, replay in enumerate(replays):
        for axes, values in (
            (waits, [wait_s(record) / _HOUR_S for record in replay.records]),
            (slowdowns, [bounded_slowdown(record) for record in replay.records]),
        ):
            axes.plot(*_distribution(values), color=colour_of(index), linestyle=dashes_of(index))
            axes.grid(visible=True, alpha=0.3)
    # Most jobs wait for seconds, some for days: linear up to six minutes, logarithmic beyond.
    waits.set_xscale("symlog", linthresh=0.1)
    waits.set(title="wait", xlabel="hours", ylabel="jobs that waited at most this long, %", ylim=(0, 100))
    waits.set_xlim(left=0)
    slowdowns.set_xscale("log")
    slowdowns.set(title="bounded slowdown", xlabel="times the run time (at least 10 s)", ylim=(0, 100))
    slowdowns.set_ylabel("jobs slowed down at most so much, %")
    slowdowns.set_xlim(left=1)
    for log in (waits, slowdowns):
        log.xaxis.set_major_formatter("{x:,g}")
    curves = figure.add_subplot(grid[1, :])
    draw_usage(curves, replays)
    figure.legend(*curves.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    save(figure, path)


def draw_usage(axes: Axes, replays: Sequence[Replay]) -> None:
    """Cores in use over time, in per cent, a labelled curve for each replay. Each point is a mean, so that the daily
    cycle does not blur the curve of a year.
    """
    first_s, last_s = first_and_last_s(replays)
    every_s = max(1.0, (last_s - first_s) / _USAGE_POINTS)
    days = [(point + 0.5) * every_s / _DAY_S for point in range(_USAGE_POINTS)]
    for index, replay in enumerate(replays):
        percent = [100 * share for share in usage(replay, first_s, every_s, _USAGE_POINTS)]
        label = plain(replay.policy)
        axes.plot(days, percent, color=colour_of(index), linestyle=dashes_of(index), label=label, linewidth=1.2)
    axes.set(title="cores in use", xlabel="days since the first submit", ylabel="%", ylim=(0, 105))
    axes.margins(x=0)
    axes.grid(visible=True, alpha=0.3)


def _distribution(values: list[float]) -> tuple[list[float], list[float]]:
    """Values at evenly spaced ranks, and for each the percentage of all values that are at most as large."""
    values.sort()
    last = len(values) - 1
    ranks = [round(last * point / _RANKS) for point in range(_RANKS + 1)]
    return [values[rank] for rank in ranks], [100 * (rank + 1) / len(values) for rank in ranks]
