"""Where one has been in the console: a line of places with a way back and a way forth, as a browser has it.

A place is a view with what was looked at there. A jump leads from what the cursor is on to a view filtered by it; going
back from it gives that view the filter again that it had before.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

MOST = 100


@dataclass(frozen=True)
class Place:
    """A view; ``subject`` is the job or the queue that it is about, ``cursor`` the key that its cursor is on.
    ``jumped`` says that a jump led here, to ``filter``; ``before`` is the view's filter before that."""

    view: str
    subject: str = ""
    filter: str = ""
    cursor: Hashable | None = None
    jumped: bool = False
    before: str = ""


@dataclass
class Places:
    """The places so far, and which of them is here."""

    line: list[Place] = field(default_factory=lambda: [Place("overview")])
    at: int = 0

    @property
    def here(self) -> Place:
        """The place as it was come to."""
        return self.line[self.at]

    def go(self, left: Place, to: Place) -> None:
        """Go on from here, which is left like that; what lay ahead is forgotten."""
        self._leave(left)
        self.line = [*self.line[: self.at + 1], to][-MOST:]
        self.at = len(self.line) - 1

    def step(self, left: Place, steps: int) -> Place | None:
        """The place so many steps ahead, back where negative; None where the line ends before."""
        to = self.at + steps
        if not 0 <= to < len(self.line):
            return None
        self._leave(left)
        self.at = to
        return self.here

    def _leave(self, left: Place) -> None:
        here = self.here
        if here.jumped:
            # What was typed into the filter since is no part of the jump.
            left = replace(left, filter=here.filter, jumped=True, before=here.before)
        self.line[self.at] = left
