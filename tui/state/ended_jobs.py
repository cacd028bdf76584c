"""Jobs that have ended, from the server's history; requested only while a view shows them.

Requests are rare and cover the last hours only; in between the last reply is shown. If the server keeps no history or
does not reply, everything else is still shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hooks.pbs.server_status_type_and_attributes import Objects
from tui.backends.interface.backend_protocol import Backend, BackendError
from tui.model.typed_attributes import Attributes, moment

WINDOW_S = 12 * 3600.0
"""A job that ended at most so many seconds ago counts as recent."""

MOST = 2000
_AGAIN_S = 30.0


class EndedJobs(NamedTuple):
    """Recently ended jobs, newest first, at most :data:`MOST`; ``problem`` says why they are unknown."""

    jobs: Objects
    problem: str = ""


class History:
    """The ended jobs of one backend. Only the poller calls :meth:`now`."""

    def __init__(self, backend: Backend, stopwatch: Callable[[], float]) -> None:
        self._backend = backend
        self._stopwatch = stopwatch
        self._asked_s: float | None = None
        self._answer: EndedJobs | None = None
        self.wanted = False

    def now(self) -> EndedJobs | None:
        """The ended jobs; None if no view wants them."""
        if not self.wanted:
            self._asked_s = self._answer = None
            return None
        if self._asked_s is None or self._stopwatch() - self._asked_s >= _AGAIN_S:
            self._answer = self._ask()
            self._asked_s = self._stopwatch()
        return self._answer

    def _ask(self) -> EndedJobs:
        try:
            found = self._backend.finished(WINDOW_S)
        except BackendError as error:
            return EndedJobs({}, str(error))
        newest = sorted(found, key=lambda job_id: -(ended_at(found[job_id]) or 0.0))[:MOST]
        return EndedJobs({job_id: found[job_id] for job_id in newest})


def ended_at(attributes: Attributes) -> float | None:
    """When a job ended, in seconds since 1970; None if the server does not show it."""
    return moment(attributes, "obittime", "history_timestamp", "mtime")
