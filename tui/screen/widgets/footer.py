"""The line at the bottom: the keys of the situation or, for a while, a message.

A message goes with the next action, or after some seconds; one that says that something went wrong waits for an action.
What was shown is kept, for the list of messages.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from tui.screen.widgets.base_line_view import Paper
from tui.text.screen_line import Line, safe

LASTS_S = 8.0
_KEPT = 200


class ShownMessage(NamedTuple):
    """A message, its role, and when it was first shown, in seconds since 1970."""

    time_s: float
    text: str
    role: str


class Footer(Paper):
    """The keys or a message. ``kept`` has the messages, the newest first."""

    def __init__(self) -> None:
        super().__init__(classes="line keys")
        self.kept: deque[ShownMessage] = deque(maxlen=_KEPT)
        self._shown: ShownMessage | None = None
        self._until_s = 0.0
        self._hints: Line = ()

    @property
    def has_message(self) -> bool:
        """Whether a message is shown, not the keys."""
        return self._shown is not None

    def say(self, message: ShownMessage, elapsed_s: float) -> None:
        """Show a message; an empty one only takes the one before away."""
        self._shown = message if message.text else None
        self._until_s = elapsed_s + (LASTS_S if message.role != "bad" else float("inf"))
        if message.text and (not self.kept or self.kept[0].text != message.text):
            self.kept.appendleft(message)
        self._paint()

    def hint(self, hints: Line) -> None:
        """Show these keys, as soon as there is no message."""
        self._hints = hints
        self._paint()

    def age(self, elapsed_s: float) -> bool:
        """Take a message away whose time is over; returns whether there was one."""
        is_over = self._shown is not None and elapsed_s >= self._until_s
        if is_over:
            self.clear_message()
        return is_over

    def clear_message(self) -> None:
        """Take the message away."""
        self._shown = None
        self._paint()

    def _paint(self) -> None:
        message = self._shown
        self.show([self._hints if message is None else ((f" {safe(message.text)}", message.role),)])
