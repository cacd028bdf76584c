"""The places visited in the console, with back and forward as in a browser.

A place is a view with its subject, filter and cursor. A jump leads to a view with a filter made from the cursor's row;
going back from it restores that view's filter from before the jump.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

MOST = 100


@dataclass(frozen=True)
class Place:
    """A view; ``subject`` is the job or queue that it is about, ``cursor`` the key under its cursor. ``jumped``: a jump
    led here, with ``filter``; ``before`` is the view's filter before the jump.
    """

    view: str
    subject: str = ""
    filter: str = ""
    cursor: Hashable | None = None
    jumped: bool = False
    before: str = ""


@dataclass
class Places:
    """The places visited in their order; ``at`` is the index of the present one."""

    line: list[Place] = field(default_factory=lambda: [Place("overview")])
    at: int = 0

    @property
    def here(self) -> Place:
        """The present place, as it was entered."""
        return self.line[self.at]

    def go(self, left: Place, to: Place) -> None:
        """Go on to a place from the present one, which is left in the state ``left``; places further ahead are
        dropped.
        """
        self._leave(left)
        self.line = [*self.line[: self.at + 1], to][-MOST:]
        self.at = len(self.line) - 1

    def step(self, left: Place, steps: int) -> Place | None:
        """The place ``steps`` ahead, back where negative; None where there is none."""
        to = self.at + steps
        if not 0 <= to < len(self.line):
            return None
        self._leave(left)
        self.at = to
        return self.here

    def _leave(self, left: Place) -> None:
        here = self.here
        if here.jumped:
            # A filter that was typed since the jump is not part of the jump.
            left = replace(left, filter=here.filter, jumped=True, before=here.before)
        self.line[self.at] = left
