"""The time at which a pass stops attempting jobs and carries out what it has decided.

The policy has no clock: the caller of :func:`policy.cycle.engine.decide` may pass a deadline that has one, which is
checked between jobs and within searches that can be long.
"""

from __future__ import annotations

from typing import Final, Protocol

from policy.model.jobs_runs_vnodes_queues import Job


class TimeIsUp(Exception):  # noqa: N818 - it ends an attempt as StopIteration ends a loop
    """Ends the attempt to place a job: the pass has no time left for it."""


class Deadline(Protocol):
    """How much time is left."""

    def begin(self, job: Job) -> None:
        """An attempt to place this job begins."""

    def end(self) -> None:
        """The attempt has ended."""

    def is_over(self) -> bool:
        """Whether the time of the whole pass is up."""

    def is_share_spent(self, user: str) -> bool:
        """Whether this user's jobs have used so much of the time that they now come after all others'."""


class _Never:
    """A deadline that never comes and counts nothing."""

    def begin(self, job: Job) -> None:
        pass

    def end(self) -> None:
        pass

    def is_over(self) -> bool:
        return False

    def is_share_spent(self, user: str) -> bool:
        return False


NEVER: Final[Deadline] = _Never()
