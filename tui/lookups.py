"""What the screen has looked up in threads: one job's page, the audit file, a trace to load.

Each answer is a message. A question that is asked again while it is being answered is answered once more afterwards;
none is asked twice at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui.core.audit_trail import read_trail
from tui.core.job_lines import JobDetail
from tui.core.output_tail import tail_of
from tui.core.source import SimulatedSource, Source, SourceError
from tui.core.story import story_of
from tui.news import JobFound, Loaded, TrailRead

if TYPE_CHECKING:
    from textual.screen import Screen


class Lookups:
    """The questions of one screen on one source."""

    def __init__(self, screen: Screen[None], source: Source, audit_path: Path) -> None:
        self._screen, self._source, self._audit_path = screen, source, audit_path

    def job(self, job_id: str) -> None:
        """All of one job: comes back as :class:`tui.news.JobFound`."""
        self._ask("job", lambda: self._screen.post_message(JobFound(detail_of(self._source, job_id))))

    def trail(self) -> None:
        """The audit file: comes back as :class:`tui.news.TrailRead`."""

        def read() -> None:
            try:
                self._screen.post_message(TrailRead(tuple(read_trail(self._audit_path)), ""))
            except OSError as error:
                self._screen.post_message(TrailRead((), f"{self._audit_path}: {error.strerror}"))

        self._ask("trail", read)

    def load(self, simulation: SimulatedSource, path: Path, size: str) -> None:
        """A trace for the simulated cluster: comes back as :class:`tui.news.Loaded`."""

        def load() -> None:
            try:
                simulation.load(path, size)
            except SourceError as error:
                self._screen.post_message(Loaded(path, str(error)))
            else:
                self._screen.post_message(Loaded(path, ""))

        self._ask("load", load)

    def _ask(self, name: str, work: Callable[[], object]) -> None:
        self._screen.run_worker(work, thread=True, name=name, group=f"look up {name}", exclusive=True)


def detail_of(source: Source, job_id: str) -> JobDetail:
    """All of one job, also of one that has ended; what cannot be read is told in its place."""
    attributes, problem = None, ""
    try:
        attributes = source.read("ended job", job_id)
    except SourceError as error:
        problem = str(error)
    story = story_of(source.journal.about(job_id), job_id)
    tail = tail_of(job_id, attributes, source.spool) if attributes is not None else None
    return JobDetail(job_id, attributes, tuple(story), tail, problem or source.journal.problem)
