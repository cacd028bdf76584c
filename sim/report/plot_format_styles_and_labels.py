"""What all pictures of replays share: matplotlib on demand, two file formats, and a colour for each policy.

matplotlib is an extra, imported on the first call, so that the rest of the simulator works without it. Names come from
traces and users' files and are data: `plain` keeps matplotlib from interpreting them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sim.report.replay_table_json_and_csv import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png")

# Okabe and Ito's palette, distinct for colour-blind readers; the dashes distinguish the policies in black and white.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DASHES = ("-", "--", "-.", ":")
_DOTS_PER_INCH = 120


class PlotError(ValueError):
    """The picture cannot be made; the message says what is missing or what is allowed."""


def check_plot(path: Path) -> None:
    """Raise PlotError unless a picture could be drawn to this file; called before hours of replaying, not after."""
    if path.suffix.lower() not in ENDINGS:
        raise PlotError(f"plot file {path}: must end in {' or '.join(ENDINGS)}")
    _figure_class()


def new_figure(title: str, width_in: float, height_in: float) -> Figure:
    """An empty figure of this size in inches with automatic layout. Raises PlotError."""
    figure = _figure_class()(figsize=(width_in, height_in), layout="constrained")
    figure.suptitle(plain(title))
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure, as SVG or PNG by the ending. Raises PlotError, and OSError if the file cannot be written."""
    check_plot(path)
    import matplotlib as mpl  # noqa: PLC0415 - an extra, imported on demand

    # No date, and names of shapes that are not drawn by lot: the same figures make the same file.
    with mpl.rc_context({"svg.hashsalt": "pbsteer"}):
        figure.savefig(path, dpi=_DOTS_PER_INCH, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def colour_of(index: int) -> str:
    """The colour of the policy with this index."""
    return _COLOURS[index % len(_COLOURS)]


def dashes_of(index: int) -> str:
    """The line style of the policy with this index."""
    return _DASHES[index % len(_DASHES)]


def plain(text: str) -> str:
    """The text escaped so that matplotlib shows it literally.

    Matplotlib reads dollar signs as mathematics and omits labels that begin with an underscore from the legend.
    """
    shown = printable(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def _figure_class() -> type[Figure]:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise PlotError(f"no matplotlib ({error}): install pbsteer's extra 'plots' (docs/simulate.md)") from error
    return Figure
