"""A small vector drawing, written as text: boxes, lines and words, in the order in which they are added.

The same calls give the same bytes, so a picture under version control changes only with its content. It refers to no
other file, and its background is white on every page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from math import hypot
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

INK = "#222222"
_SIZE = 13
_HEAD_LENGTH, _HEAD_WIDTH = 6, 4


class Drawing:
    """A drawing of `width` by `height` pixels; x grows to the right and y downwards."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_show(width)} {_show(height)}"'
            f' width="{_show(width)}" height="{_show(height)}" font-family="sans-serif">',
            f"<title>{escape(title)}</title>",
        ]
        self.box(0, 0, width, height, "#ffffff")

    def box(self, x: float, y: float, width: float, height: float, fill: str, edge: str = "none") -> None:
        """A filled rectangle."""
        at = f'x="{_show(x)}" y="{_show(y)}" width="{_show(width)}" height="{_show(height)}"'
        self._parts.append(f"<rect {at} fill={quoteattr(fill)} stroke={quoteattr(edge)}/>")

    def line(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, width: float = 1, dashes: str = ""
    ) -> None:
        """A straight line; `dashes` as in SVG, such as `4 3`."""
        points = f'x1="{_show(start[0])}" y1="{_show(start[1])}" x2="{_show(end[0])}" y2="{_show(end[1])}"'
        dashed = f" stroke-dasharray={quoteattr(dashes)}" if dashes else ""
        self._parts.append(f'<line {points} stroke={quoteattr(colour)} stroke-width="{_show(width)}"{dashed}/>')

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, width: float = 1, dashes: str = ""
    ) -> None:
        """A straight line with a head at its end."""
        self.line(start, end, colour, width, dashes)
        length = hypot(end[0] - start[0], end[1] - start[1])
        along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
        for side in (-_HEAD_WIDTH, _HEAD_WIDTH):
            x = end[0] - _HEAD_LENGTH * along[0] - side * along[1]
            y = end[1] - _HEAD_LENGTH * along[1] + side * along[0]
            self.line((x, y), end, colour, width)

    def words(
        self, x: float, y: float, text: str, anchor: str = "start", colour: str = INK, bold: bool = False
    ) -> None:
        """Text on the base line at `y`; `anchor` is start, middle or end."""
        weight = ' font-weight="bold"' if bold else ""
        at = f'x="{_show(x)}" y="{_show(y)}" font-size="{_SIZE}" text-anchor={quoteattr(anchor)}'
        self._parts.append(f"<text {at} fill={quoteattr(colour)}{weight}>{escape(text)}</text>")

    def show(self) -> str:
        """The file's text."""
        return "\n".join([*self._parts, "</svg>", ""])


def _show(number: float) -> str:
    return f"{round(number, 1):g}"


def draw_all(pictures: Mapping[str, Callable[[], Drawing]], arguments: Sequence[str], module: str) -> int:
    """Draw the pictures, by the names of their files, into the folder that is the one argument; returns the exit
    status of the program, which is the ``module``."""
    if len(arguments) != 1:
        sys.stderr.write(f"usage: python -m {module} FOLDER\n")
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures.items():
        file = folder / f"{name}.svg"
        file.write_text(draw().show(), encoding="utf-8")
        sys.stdout.write(f"{file}\n")
    return 0
