"""What the screen has done in threads: one job's page looked up, rows counted, the audit file read, files written.

Each answer is a message. A question that is asked again while it is being answered is answered once more afterwards;
none is asked twice at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.worker import get_current_worker

from tui.audit.trail import find_problem, read_trail
from tui.backends.base import SimulatedSource, Source, SourceError
from tui.pages.job_detail import detail_of
from tui.screen.workers.messages import Counted, JobFound, Loaded, TakenOut, TrailRead
from tui.tables.export import ExportError

if TYPE_CHECKING:
    from textual.screen import Screen


class Lookups:
    """The questions of one screen on one source."""

    def __init__(self, screen: Screen[None], source: Source, audit_path: Path) -> None:
        self._screen, self._source, self._audit_path = screen, source, audit_path

    def job(self, job_id: str) -> None:
        """All of one job: comes back as :class:`tui.screen.workers.messages.JobFound`."""
        self._ask("job", lambda: self._screen.post_message(JobFound(detail_of(self._source, job_id))))

    def trail(self) -> None:
        """The audit, own and shared: comes back as :class:`tui.screen.workers.messages.TrailRead`."""

        def read() -> None:
            try:
                shared = self._source.shared_audit()
                found = read_trail(self._audit_path, shared, self._source.names())
                self._screen.post_message(TrailRead(tuple(found), find_problem(shared)))
            except OSError as error:
                self._screen.post_message(TrailRead((), f"{self._audit_path}: {error.strerror}"))

        self._ask("trail", read)

    def load(self, simulation: SimulatedSource, path: Path, size: str) -> None:
        """A trace for the simulated cluster: comes back as :class:`tui.screen.workers.messages.Loaded`."""

        def load() -> None:
            try:
                simulation.load(path, size)
            except SourceError as error:
                self._screen.post_message(Loaded(path, str(error)))
            else:
                self._screen.post_message(Loaded(path, ""))

        self._ask("load", load)

    def count(self, count: Callable[[Callable[[], bool]], int | None], text: str) -> None:
        """The rows that the filter ``text`` would show: comes back as :class:`tui.screen.workers.messages.Counted`.
        ``count`` is told when nobody waits for it any more, and then gives None."""

        def work() -> None:
            worker = get_current_worker()
            rows = count(lambda: worker.is_cancelled)
            if rows is not None:
                self._screen.post_message(Counted(text, rows))

        self._ask("count", work)

    def take_out(self, work: Callable[[], str]) -> None:
        """Something that is written out: comes back as :class:`tui.screen.workers.messages.TakenOut`; one does not stop
        another."""

        def write() -> None:
            try:
                said = TakenOut(work(), ok=True)
            except ExportError as error:
                said = TakenOut(str(error), ok=False)
            self._screen.post_message(said)

        self._screen.run_worker(write, thread=True, name="take out")

    def _ask(self, name: str, work: Callable[[], object]) -> None:
        self._screen.run_worker(work, thread=True, name=name, group=f"look up {name}", exclusive=True)
