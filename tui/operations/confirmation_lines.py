"""An operation as lines to read before it is confirmed: its commands, what is left out and why, and its notes."""

from __future__ import annotations

from policy.model.pbs_units import show_job
from tui.backends.commands_interface import Change
from tui.operations.operation_changes import Operation
from tui.text.screen_line import Line, safe

_MOST = 3


def operation_lines(operation: Operation) -> list[Line]:
    """The first few commands to the letter, then the first few reasons for targets left out, then the notes."""
    lines = [_command(change) for change in operation.changes[:_MOST]]
    more = len(operation.changes) - _MOST
    if more > 0:
        lines.append(((f"and {more:,} more such commands", "dim"),))
    lines += [((safe(f"left out: {reason}"), "warn"),) for reason in operation.left_out[:_MOST]]
    more = len(operation.left_out) - _MOST
    if more > 0:
        lines.append(((f"and {more:,} more left out", "warn"),))
    return [*lines, *operation.notes]


def _command(change: Change) -> Line:
    """The command to the letter; the server's name in a job id is dimmed, since elsewhere ids are shown without it."""
    line, job = change.line, change.target.name
    if change.target.kind != "job" or not line.endswith(job):
        return ((safe(line), "bold"),)
    server = len(job) - len(show_job(job))
    return ((safe(line[: len(line) - server]), "bold"), (safe(line[len(line) - server :]), "dim"))
