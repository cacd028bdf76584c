"""What running jobs use, by ``resources_used``; asked for once a minute, apart from the poll.

PBS takes the figures from the MoMs every few minutes and counts no change of the job by them, so a poll for changed
jobs would not bring them. If they cannot be read, everything else is still shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hooks.pbs.server_status_type_and_attributes import Objects
from tui.backends.interface.backend_protocol import Backend, BackendError

_AGAIN_S = 60.0
NOTHING: Objects = {}


class UsedResources:
    """The use of one backend's running jobs. Only the poller calls :meth:`now`."""

    def __init__(self, backend: Backend, stopwatch: Callable[[], float]) -> None:
        self._backend = backend
        self._stopwatch = stopwatch
        self._asked_s: float | None = None
        self._answer: Mapping[str, Mapping[str, str]] = NOTHING

    def now(self) -> Objects:
        """The last figures, at most a minute old; those before where the server does not answer this."""
        if self._asked_s is None or self._stopwatch() - self._asked_s >= _AGAIN_S:
            try:
                self._answer = self._backend.used()
            except BackendError:
                self._answer = self._answer or NOTHING
            self._asked_s = self._stopwatch()
        return self._answer
