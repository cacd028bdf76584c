"""Jobs that have ended, as the server remembers them: asked for only while somebody wants to see them.

The server is asked seldom and for the last hours alone; in between, the answer before is shown. A server that keeps no
history, or is too busy for it, is no reason to show nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hooks.pbs.status import Objects
from tui.backends.base import Source, SourceError
from tui.model.typed_attributes import Attributes, moment

WINDOW_S = 12 * 3600.0
"""How long ago a job may have ended to count as recent."""

MOST = 2000
_AGAIN_S = 30.0


class Finished(NamedTuple):
    """The jobs that ended lately, those that ended last first, at most :data:`MOST`; or why they cannot be told."""

    jobs: Objects
    problem: str = ""


class History:
    """The jobs of one source that have ended. :meth:`now` is called by the poller alone."""

    def __init__(self, source: Source, stopwatch: Callable[[], float]) -> None:
        self._source = source
        self._stopwatch = stopwatch
        self._asked_s: float | None = None
        self._answer: Finished | None = None
        self.wanted = False

    def now(self) -> Finished | None:
        """What is known; None where nobody wants it."""
        if not self.wanted:
            self._asked_s = self._answer = None
            return None
        if self._asked_s is None or self._stopwatch() - self._asked_s >= _AGAIN_S:
            self._answer = self._ask()
            self._asked_s = self._stopwatch()
        return self._answer

    def _ask(self) -> Finished:
        try:
            found = self._source.finished(WINDOW_S)
        except SourceError as error:
            return Finished({}, str(error))
        newest = sorted(found, key=lambda job_id: -(ended_at(found[job_id]) or 0.0))[:MOST]
        return Finished({job_id: found[job_id] for job_id in newest})


def ended_at(attributes: Attributes) -> float | None:
    """When a job ended, in seconds since 1970; None where the server does not say."""
    return moment(attributes, "obittime", "history_timestamp", "mtime")
