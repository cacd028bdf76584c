"""Several qmgr lines in one program, which ends at the first line that the server refuses: a program for each line
takes more time than what the server does for it.

Only lines that add our resources and hooks go together. qmgr repeats each line before it sends it, so the last one that
it has repeated is the one that failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Callable

from hooks.deploy.read_installed_server_state import Reply, demand_success
from hooks.deploy.steps_between_server_states import Step

ARGV = ("qmgr", "-a", "-e")
"""qmgr as it reads lines from its standard input, repeats them, and ends at the first that fails."""

RunLines = Callable[[str], Reply]
"""Runs :data:`ARGV` with a text as its standard input."""

_ADDING = ("create resource ", "create hook ", "import hook ", "set hook ")
_COMPLAINT = "qmgr obj="


def split_steps(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """The steps in their order: those that one program may do together, and each other one by itself."""
    together: list[Step] = []
    for step in steps:
        if step.line.startswith(_ADDING) and (not together or step.why == together[0].why):
            together.append(step)
            continue
        if together:
            yield together
        together = []
        if step.line.startswith(_ADDING):
            together.append(step)
        else:
            yield [step]
    if together:
        yield together


def ask_in_turn(run: RunLines, lines: Sequence[str]) -> None:
    """Have one program do the lines. Raises :class:`DeployError` with the line that failed and the complaint on it."""
    reply = run("".join(f"{line}\n" for line in lines))
    failed = lines[0]
    unseen = list(lines)
    for printed in reply.text.splitlines():
        if unseen and printed == unseen[0]:
            failed = unseen.pop(0)
    # Before it there may be remarks on lines that succeeded.
    at = reply.complaint.rfind(_COMPLAINT)
    demand_success(reply._replace(complaint=reply.complaint[max(at, 0) :]), failed)
