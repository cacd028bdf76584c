"""Lookups in threads: one job's page, counts of rows, the audit file, migration's files, loading a trace, exports.

Each result arrives as a message. A new lookup marks the one before it of the same kind as cancelled, which only
:meth:`Lookups.count` checks; exports run side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.worker import get_current_worker

from tui.audit.read_and_merge_audit_records import find_problem, read_trail
from tui.backends.interface.backend_protocol import Backend, BackendError, SteeredBackend
from tui.backends.migration_spool import MigrationSpool
from tui.pages.job.collect_job_details import detail_of, files_of
from tui.screen.workers.worker_messages import (
    Counted,
    JobFilesFound,
    JobFound,
    Loaded,
    MigrationRead,
    TakenOut,
    TrailRead,
)
from tui.tables.export_table import ExportError

if TYPE_CHECKING:
    from textual.screen import Screen


class Lookups:
    """The lookups of one screen on one backend."""

    def __init__(self, screen: Screen[None], backend: Backend, audit_path: Path) -> None:
        self._screen, self._backend, self._audit_path = screen, backend, audit_path

    def job(self, job_id: str) -> None:
        """Look up one job; posts :class:`tui.screen.workers.worker_messages.JobFound`."""
        self._ask("job", lambda: self._screen.post_message(JobFound(detail_of(self._backend, job_id))))

    def job_files(self, job_id: str, age_s: float) -> None:
        """Look up one job's script and log; posts :class:`tui.screen.workers.worker_messages.JobFilesFound`."""
        self._ask("files", lambda: self._screen.post_message(JobFilesFound(files_of(self._backend, job_id, age_s))))

    def trail(self) -> None:
        """Read the audit, own and shared; posts :class:`tui.screen.workers.worker_messages.TrailRead`."""

        def read() -> None:
            try:
                shared = self._backend.shared_audit()
                found = read_trail(self._audit_path, shared, self._backend.names())
                self._screen.post_message(TrailRead(tuple(found), find_problem(shared)))
            except OSError as error:
                self._screen.post_message(TrailRead((), f"{self._audit_path}: {error.strerror}"))

        self._ask("trail", read)

    def migration(self, spool: MigrationSpool) -> None:
        """Read the migrating jobs; posts :class:`tui.screen.workers.worker_messages.MigrationRead`."""
        self._ask("migration", lambda: self._screen.post_message(MigrationRead(spool.read_migration())))

    def load(self, simulation: SteeredBackend, path: Path, size: str) -> None:
        """Load a trace into the simulated cluster; posts :class:`tui.screen.workers.worker_messages.Loaded`."""

        def load() -> None:
            try:
                simulation.load(path, size)
            except BackendError as error:
                self._screen.post_message(Loaded(path, str(error)))
            else:
                self._screen.post_message(Loaded(path, ""))

        self._ask("load", load)

    def count(self, count: Callable[[Callable[[], bool]], int | None], text: str) -> None:
        """Count the rows that the filter ``text`` would show; posts
        :class:`tui.screen.workers.worker_messages.Counted`.
        ``count`` gets a function that says whether the lookup was cancelled, and then returns None.
        """

        def work() -> None:
            worker = get_current_worker()
            rows = count(lambda: worker.is_cancelled)
            if rows is not None:
                self._screen.post_message(Counted(text, rows))

        self._ask("count", work)

    def take_out(self, work: Callable[[], str]) -> None:
        """Write an export; posts :class:`tui.screen.workers.worker_messages.TakenOut`. Exports do not cancel one
        another."""

        def write() -> None:
            try:
                outcome = TakenOut(work(), ok=True)
            except ExportError as error:
                outcome = TakenOut(str(error), ok=False)
            self._screen.post_message(outcome)

        self._screen.run_worker(write, thread=True, name="take out")

    def _ask(self, name: str, work: Callable[[], object]) -> None:
        self._screen.run_worker(work, thread=True, name=name, group=f"look up {name}", exclusive=True)
