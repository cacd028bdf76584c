"""When a pass has to stop looking at jobs, and carries out what it has decided by then.

The policy knows no clock. Whoever calls :func:`policy.cycle.engine.decide` may hand in a deadline that does; it is
asked between jobs, and within the searches that one job can make long. A deadline that never comes changes no plan.
"""

from __future__ import annotations

from policy.model.cluster import Job


class TimeIsUp(Exception):  # noqa: N818 - it ends an attempt as StopIteration ends a loop
    """The attempt to place a job ends here: the pass has no time left for it."""


class Deadline:
    """Tells how much time is left. This one never comes, and counts nothing."""

    def begin(self, job: Job) -> None:
        """An attempt to place this job begins."""

    def end(self) -> None:
        """The attempt has ended."""

    def is_over(self) -> bool:
        """Whether the time of the whole pass is up."""
        return False

    def is_share_spent(self, user: str) -> bool:
        """Whether the jobs of this user have taken so much of the time that they now come after all others'."""
        return False


NEVER = Deadline()
