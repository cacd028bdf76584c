"""Draws replays side by side: how long jobs waited, how much that slowed them down, and how full the cluster was.

Needs matplotlib, which is an extra: the rest of the simulator works without it, so it is imported on the first call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sim.metrics import bounded_slowdown, busy_cores, wait_s
from sim.record import Replay
from sim.report import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png")

_HOUR_S = 3600
_DAY_S = 86400
_RANKS = 400
# Each point of the usage curve is the mean of some samples, or a year of days and nights is only a blot.
_USAGE_POINTS = 150
_SAMPLES_PER_POINT = 20
# Okabe and Ito's palette, distinct to colour-blind eyes; the dashes tell the policies apart in black and white.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DASHES = ("-", "--", "-.", ":")


class PlotError(ValueError):
    """The picture cannot be made; the message says what is missing or what is allowed."""


def check_plot(path: Path) -> None:
    """Raise PlotError unless `plot` could draw to this file: before hours of replaying, not after."""
    if path.suffix.lower() not in ENDINGS:
        raise PlotError(f"plot file {path}: must end in {' or '.join(ENDINGS)}")
    _figure_class()


def plot(path: Path, title: str, replays: Sequence[Replay]) -> None:
    """Draw to `path`, as SVG or PNG by its ending. Raises PlotError, and OSError if the file cannot be written."""
    check_plot(path)
    figure = _figure_class()(figsize=(11, 7.5), layout="constrained")
    figure.suptitle(_plain(title))
    grid = figure.add_gridspec(2, 2)
    waits, slowdowns = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    usage = figure.add_subplot(grid[1, :])
    for index, replay in enumerate(replays):
        colour, dashes = _COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)]
        for axes, values in (
            (waits, [wait_s(record) / _HOUR_S for record in replay.records]),
            (slowdowns, [bounded_slowdown(record) for record in replay.records]),
        ):
            axes.plot(*_distribution(values), color=colour, linestyle=dashes)
        usage.plot(*_usage(replay), color=colour, linestyle=dashes, label=_plain(replay.policy), linewidth=1.2)
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
    usage.set(title="cores in use", xlabel="days since the first submit", ylabel="%", ylim=(0, 105))
    usage.margins(x=0)
    for axes in (waits, slowdowns, usage):
        axes.grid(visible=True, alpha=0.3)
    figure.legend(*usage.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=120)


def _figure_class() -> type[Figure]:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise PlotError(f"no matplotlib ({error}): install the extra 'plots', pip install 'pbsteer[plots]'") from error
    return Figure


def _distribution(values: list[float]) -> tuple[list[float], list[float]]:
    """Values at evenly spaced ranks, and the percentage of all that is at most each of them."""
    values.sort()
    last = len(values) - 1
    ranks = [round(last * point / _RANKS) for point in range(_RANKS + 1)]
    return [values[rank] for rank in ranks], [100 * (rank + 1) / len(values) for rank in ranks]


def _usage(replay: Replay) -> tuple[list[float], list[float]]:
    """Days since the first submit, and the mean percentage of cores in use around each."""
    first_s = min(record.job.submit_s for record in replay.records)
    span_s = max(record.end_s for record in replay.records) - first_s
    every_s = max(1.0, span_s / (_USAGE_POINTS * _SAMPLES_PER_POINT))
    samples = int(span_s // every_s) + 1
    busy = busy_cores(replay.records, first_s, every_s, samples)
    days, percent = [], []
    for begin in range(0, samples, _SAMPLES_PER_POINT):
        chunk = busy[begin : begin + _SAMPLES_PER_POINT]
        days.append((begin + len(chunk) / 2) * every_s / _DAY_S)
        percent.append(100 * sum(chunk) / (len(chunk) * replay.cluster.cores))
    return days, percent


def _plain(text: str) -> str:
    # matplotlib reads dollar signs as mathematics and leaves labels that begin with an underscore out of the legend.
    shown = printable(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
