"""A deed as somebody who decides about it reads it: the commands, what is left out and why, and what it means."""

from __future__ import annotations

from tui.core.deeds import Deed
from tui.core.lines import Line, safe

_MOST = 3


def deed_lines(deed: Deed) -> list[Line]:
    """The exact commands, the first few, then what is not done, then the deed's own notes."""
    lines: list[Line] = [((safe(change.line), "bold"),) for change in deed.changes[:_MOST]]
    more = len(deed.changes) - _MOST
    if more > 0:
        lines.append(((f"and {more:,} more such commands", "dim"),))
    lines += [((safe(f"left out: {reason}"), "warn"),) for reason in deed.left_out[:_MOST]]
    more = len(deed.left_out) - _MOST
    if more > 0:
        lines.append(((f"and {more:,} more left out", "warn"),))
    return [*lines, *deed.notes]
