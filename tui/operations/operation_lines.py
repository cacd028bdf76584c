"""A deed as somebody who decides about it reads it: the commands, what is left out and why, and what it means."""

from __future__ import annotations

from tui.model.typed_attributes import short_id
from tui.operations.change import Change
from tui.operations.operation import Deed
from tui.text.lines import Line, safe

_MOST = 3


def deed_lines(deed: Deed) -> list[Line]:
    """The exact commands, the first few, then what is not done, then the deed's own notes."""
    lines = [_command(change) for change in deed.changes[:_MOST]]
    more = len(deed.changes) - _MOST
    if more > 0:
        lines.append(((f"and {more:,} more such commands", "dim"),))
    lines += [((safe(f"left out: {reason}"), "warn"),) for reason in deed.left_out[:_MOST]]
    more = len(deed.left_out) - _MOST
    if more > 0:
        lines.append(((f"and {more:,} more left out", "warn"),))
    return [*lines, *deed.notes]


def _command(change: Change) -> Line:
    """The command to the letter. The server's name in a job's id recedes: everywhere else jobs go by their numbers."""
    line, job = change.line, change.target.name
    if change.target.kind != "job" or not line.endswith(job):
        return ((safe(line), "bold"),)
    server = len(job) - len(short_id(job))
    return ((safe(line[: len(line) - server]), "bold"), (safe(line[len(line) - server :]), "dim"))
