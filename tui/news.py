"""What threads tell the screen: each is a message that a worker posts and only the screen acts on."""

from __future__ import annotations

from textual.message import Message

from tui.core.lines import Line
from tui.core.poller import News
from tui.core.quota_change import Outcome, QuotaChange


class FromPoller(Message):
    """A poll went well or failed."""

    def __init__(self, news: News) -> None:
        super().__init__()
        self.news = news


class Foreseen(Message):
    """What a change would do, as lines."""

    def __init__(self, change: QuotaChange, lines: list[Line]) -> None:
        super().__init__()
        self.change, self.lines = change, lines


class Made(Message):
    """A change was made, refused or failed; ``undone`` where it took back an earlier one."""

    def __init__(self, outcome: Outcome, *, undone: bool) -> None:
        super().__init__()
        self.outcome, self.undone = outcome, undone
