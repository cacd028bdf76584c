"""What threads tell the screen: each is a message that a worker posts and only the screen acts on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.message import Message

from tui.audit.trail import Record
from tui.operations.change import Outcome
from tui.operations.operation import Deed
from tui.pages.job_page import JobDetail
from tui.state.poller import News
from tui.text.lines import Line


class FromPoller(Message):
    """A poll went well or failed."""

    def __init__(self, news: News) -> None:
        super().__init__()
        self.news = news


class JobFound(Message):
    """One job was looked up."""

    def __init__(self, detail: JobDetail) -> None:
        super().__init__()
        self.detail = detail


class TrailRead(Message):
    """The audit file was read, or why it cannot be."""

    def __init__(self, records: tuple[Record, ...], problem: str) -> None:
        super().__init__()
        self.records, self.problem = records, problem


class Loaded(Message):
    """A trace was loaded, or ``problem`` says why it was not."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__()
        self.path, self.problem = path, problem


class Counted(Message):
    """The filter ``text`` would show so many rows."""

    def __init__(self, text: str, rows: int) -> None:
        super().__init__()
        self.text, self.rows = text, rows


class TakenOut(Message):
    """Something was written out, or ``text`` says why it was not."""

    def __init__(self, text: str, *, ok: bool) -> None:
        super().__init__()
        self.text, self.ok = text, ok


class NotKept(Message):
    """Something that was to last could not be written; ``problem`` says why."""

    def __init__(self, problem: str) -> None:
        super().__init__()
        self.problem = problem


class Foreseen(Message):
    """What a deed would do, as lines."""

    def __init__(self, deed: Deed, lines: list[Line]) -> None:
        super().__init__()
        self.deed, self.lines = deed, lines


class Made(Message):
    """A deed was done, whole or in part; ``undone`` where it took back an earlier one."""

    def __init__(self, deed: Deed, outcomes: Sequence[Outcome], *, undone: bool) -> None:
        super().__init__()
        self.deed, self.outcomes, self.undone = deed, outcomes, undone


class Making(Message):
    """A deed of several changes is under way, so many of them made."""

    def __init__(self, deed: Deed, made: int) -> None:
        super().__init__()
        self.deed, self.made = deed, made
