"""The comparison as a picture: waits and slowdowns by class, cores in use, and each policy's runs in a span of time.

In the Gantt panels a row is a core and every run a bar. The runs of a preempted job have a colour of their own, with a
thick edge where the job was cut and a line to where it continued.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sim.replay.job_records import Replay
from sim.report.compare_by_job_class import ALL, CLASSES, Compared, Spread, first_and_last_s
from sim.report.gantt_bar_rows import Bar, bars
from sim.report.plot_format_styles_and_labels import colour_of, new_figure, plain, save
from sim.report.time_span_given_or_most_preemptions import Span
from sim.report.wait_slowdown_usage_plots import draw_usage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HOUR_S = 3600
_DAY_S = 86400
_GREYS = ("#9fb6c8", "#b9cad7", "#cfdae3", "#87a3b8")
_CUT_COLOURS = ("#f28e2b", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#4e79a7")
_CUT_EDGE = "#b00020"
# With more bars an SVG is too heavy for a browser: they become one image inside it.
_MOST_SINGLE_BARS = 1500
# A job's number needs this part of a panel's width, and twice this part of its height.
_ROOM_TO_WRITE = 0.04


def plot_comparison(
    path: Path, title: str, compared: Sequence[Compared], replays: Sequence[Replay], span: Span
) -> None:
    """Draw to `path`, as SVG or PNG by its ending. Raises PlotError, and OSError if the file cannot be written."""
    figure = new_figure(title, 12, 7.5 + 2.4 * len(replays))
    heights = [3.2, 2.2, *(2.4 for _ in replays)]
    grid = figure.add_gridspec(len(heights), 2, height_ratios=heights)
    waits, slowdowns = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    names = [name for name in (ALL, *CLASSES) if any(name in c.classes for c in compared)]
    _draw_boxes(
        waits, names, [[_hours(c.classes[n].waits_s) if n in c.classes else None for n in names] for c in compared]
    )
    waits.set_yscale("symlog", linthresh=0.1)
    waits.set(title="wait", ylabel="hours")
    waits.set_ylim(bottom=0)
    _draw_boxes(
        slowdowns, names, [[c.classes[n].slowdowns if n in c.classes else None for n in names] for c in compared]
    )
    slowdowns.set_yscale("log")
    slowdowns.set(title="bounded slowdown", ylabel="times the run time (at least 10 s)")
    slowdowns.set_ylim(bottom=1)
    for axes in (waits, slowdowns):
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.grid(visible=True, axis="y", alpha=0.3)
    curves = figure.add_subplot(grid[1, :])
    draw_usage(curves, replays)
    first_s, _ = first_and_last_s(replays)
    curves.axvspan((span.begin_s - first_s) / _DAY_S, (span.end_s - first_s) / _DAY_S, color="#000000", alpha=0.12)
    shared: Axes | None = None
    for index, replay in enumerate(replays):
        shared = figure.add_subplot(grid[2 + index, :], sharex=shared)
        _draw_gantt(shared, replay, span, first_s)
    if shared is not None:
        shared.set_xlabel("days since the first submit")
    figure.legend(*curves.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    save(figure, path)


def _hours(spread: Spread) -> Spread:
    return Spread(*(getattr(spread, key) / _HOUR_S for key in Spread.__dataclass_fields__))


def _draw_boxes(axes: Axes, names: Sequence[str], by_policy: Sequence[Sequence[Spread | None]]) -> None:
    """Boxes from 25 to 75 %, whiskers from 5 to 95 %, a dot at the mean; the policies side by side in each class."""
    width = 0.8 / len(by_policy)
    for index, spreads in enumerate(by_policy):
        there = [(place, spread) for place, spread in enumerate(spreads) if spread is not None]
        colour = colour_of(index)
        axes.bxp(
            [
                {"med": s.p50, "q1": s.p25, "q3": s.p75, "whislo": s.p5, "whishi": s.p95, "mean": s.mean, "fliers": []}
                for _, s in there
            ],
            positions=[place + (index + 0.5) * width - 0.4 for place, _ in there],
            widths=0.85 * width,
            showmeans=True,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": colour, "alpha": 0.45, "edgecolor": colour},
            whiskerprops={"color": colour},
            capprops={"color": colour},
            medianprops={"color": "black", "linewidth": 1.6},
            meanprops={"marker": "o", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": colour},
        )
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)


def _draw_gantt(axes: Axes, replay: Replay, span: Span, first_s: float) -> None:
    from matplotlib.collections import PolyCollection  # noqa: PLC0415 - as in sim.report.plot_format_styles_and_labels

    drawn = bars(replay, span)
    as_image = len(drawn) > _MOST_SINGLE_BARS
    cut_jobs = sorted({bar.record.job.number for bar in drawn if bar.record.preemptions})
    colours = {number: _CUT_COLOURS[place % len(_CUT_COLOURS)] for place, number in enumerate(cut_jobs)}
    corners, fills, edges = [], [], []
    before: dict[int, Bar] = {}
    for bar in drawn:
        number = bar.record.job.number
        begin, end = ((time_s - first_s) / _DAY_S for time_s in (bar.start_s, bar.end_s))
        for low, high in bar.rows:
            corners.append([(begin, low), (end, low), (end, high), (begin, high)])
            fills.append(colours.get(number, _GREYS[number % len(_GREYS)]))
            if bar.cut:
                edges.append((end, low, high))
        if number in colours:
            _write_number(axes, bar, span, first_s, replay.cluster.cores)
        if number in before:
            gap = ((before[number].end_s - first_s) / _DAY_S, begin)
            axes.plot(gap, (_centre(before[number]), _centre(bar)), color=colours[number], linewidth=0.8, linestyle=":")
        before[number] = bar
    axes.add_collection(
        PolyCollection(
            corners,
            facecolors=fills,
            edgecolors="white",
            linewidths=0.0 if as_image else 0.3,
            rasterized=as_image,
        )
    )
    axes.vlines(
        [at for at, _, _ in edges],
        [low for _, low, _ in edges],
        [high for _, _, high in edges],
        color=_CUT_EDGE,
        linewidth=2.2,
    )
    cuts = sum(bar.cut and bar.end_s < span.end_s for bar in drawn)
    title = f"{plain(replay.policy)}: {len(drawn):,} runs, {cuts:,} cut" + " (red edge)" * (cuts > 0)
    axes.set_title(title, loc="left", fontsize="medium")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set(ylabel="cores", ylim=(0, replay.cluster.cores))
    axes.set_xlim((span.begin_s - first_s) / _DAY_S, (span.end_s - first_s) / _DAY_S)


def _write_number(axes: Axes, bar: Bar, span: Span, first_s: float, cores: int) -> None:
    """Write the job's number on its bar, if there is room for it."""
    begin_s, end_s = max(bar.start_s, span.begin_s), min(bar.end_s, span.end_s)
    low, high = bar.rows[0]
    if end_s - begin_s > _ROOM_TO_WRITE * span.length_s and high - low > 2 * _ROOM_TO_WRITE * cores:
        middle = ((begin_s + end_s) / 2 - first_s) / _DAY_S
        axes.text(middle, _centre(bar), str(bar.record.job.number), ha="center", va="center", fontsize="x-small")


def _centre(bar: Bar) -> float:
    low, high = bar.rows[0]
    return (low + high) / 2
