"""The messages that worker threads post to the screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from tui.audit.read_and_merge_audit_records import AuditRecord
from tui.operations.compare_and_set import Outcome
from tui.operations.operation_type_and_preview import Operation
from tui.pages.job.job_page import JobDetail, JobFiles
from tui.state.server_poller import PollResult
from tui.text.screen_line import Line

if TYPE_CHECKING:
    from tui.model.migrating_jobs import Migration


class FromPoller(Message):
    """A poll succeeded or failed."""

    def __init__(self, news: PollResult) -> None:
        super().__init__()
        self.news = news


class JobFound(Message):
    """The lookup of one job has ended."""

    def __init__(self, detail: JobDetail) -> None:
        super().__init__()
        self.detail = detail


class JobFilesFound(Message):
    """The lookup of one job's script and log has ended."""

    def __init__(self, files: JobFiles) -> None:
        super().__init__()
        self.files = files


class TrailRead(Message):
    """The audit file was read, or ``problem`` says why it cannot be."""

    def __init__(self, records: tuple[AuditRecord, ...], problem: str) -> None:
        super().__init__()
        self.records, self.problem = records, problem


class MigrationRead(Message):
    """Migration's files were read; None where the site has no other clusters."""

    def __init__(self, migration: Migration | None) -> None:
        super().__init__()
        self.migration = migration


class Loaded(Message):
    """A trace was loaded, or ``problem`` says why it was not."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__()
        self.path, self.problem = path, problem


class Counted(Message):
    """How many rows the filter ``text`` would show."""

    def __init__(self, text: str, rows: int) -> None:
        super().__init__()
        self.text, self.rows = text, rows


class TakenOut(Message):
    """An export was written, or ``text`` says why it was not."""

    def __init__(self, text: str, *, ok: bool) -> None:
        super().__init__()
        self.text, self.ok = text, ok


class NotKept(Message):
    """Preferences or typed lines could not be written; ``problem`` says why."""

    def __init__(self, problem: str) -> None:
        super().__init__()
        self.problem = problem


class PreviewLines(Message):
    """The effects of an operation, as lines."""

    def __init__(self, operation: Operation, lines: list[Line]) -> None:
        super().__init__()
        self.operation, self.lines = operation, lines


class OperationEnded(Message):
    """An operation has ended, done in whole or in part."""

    def __init__(self, operation: Operation, outcomes: Sequence[Outcome]) -> None:
        super().__init__()
        self.operation, self.outcomes = operation, outcomes


class OperationProgress(Message):
    """An operation of several changes is under way; ``made`` of them are done."""

    def __init__(self, operation: Operation, made: int) -> None:
        super().__init__()
        self.operation, self.made = operation, made
