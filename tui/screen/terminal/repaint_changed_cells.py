"""Writes less to the terminal: of a changed part of a widget only its own cells.

Textual writes a changed part from the widget's first column on. Where a clock stands at the right end of a line, or one
number of a row has changed, that is most of the output.
"""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.control import Control
from textual._compositor import ChopsUpdate


class NarrowUpdate(ChopsUpdate):
    """The same update, with each part cut to the changed cells."""

    def render_segments(self, console: Console) -> str:
        """The text for the terminal."""
        written: list[str] = []
        for y, first, last in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items()):
                left, right = max(x, first), min(end, last)
                if strip is None or left >= right:
                    continue
                part = strip if (left, right) == (x, end) else strip.crop(left - x, right - x)
                written.append(Control.move_to(left, y).segment.text)
                written.append(part.render(console))
        return "".join(written)


def narrowed(renderable: RenderableType | None) -> RenderableType | None:
    """The renderable; a partial update of the screen becomes a :class:`NarrowUpdate`."""
    if isinstance(renderable, ChopsUpdate):
        return NarrowUpdate(renderable.chops, renderable.spans, renderable.chop_ends)
    return renderable
