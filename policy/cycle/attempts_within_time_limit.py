"""Attempts to place waiting jobs within the time limit of the pass: when it is up, the remaining jobs share one reason,
and the next pass begins with them.

A user whose jobs have used up their share of the time is postponed until all other users' jobs were tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Callable

from policy.backfill.queues_sharing_vnodes import Region
from policy.cycle.job_attempt import JobAttempts
from policy.model.jobs_runs_vnodes_queues import Job
from policy.plan.pass_context import Context
from policy.plan.pass_time_limit import Deadline, TimeIsUp
from policy.plan.plan_builder import PlanBuilder
from policy.reasons.reason import Reason

_NOT_LOOKED_AT = Reason("not-looked-at")


class _Outcome(Enum):
    """Outcome of an attempt: it was made (perhaps until the deadline ended it), it is postponed to
    :meth:`AttemptLoop.finish`, or there was no time for it."""

    TRIED = "tried"
    POSTPONED = "postponed"
    LEFT_OUT = "left out"


class AttemptLoop:
    """The attempts of a pass without a deadline: every job is attempted, and nothing is left for the next pass."""

    begins_elsewhere = False
    first_behind = 0
    tried_in_vain = 0

    def __init__(self, job_attempts: JobAttempts) -> None:
        self._job_attempts = job_attempts

    def in_order(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """The jobs behind the heads in the order in which they are tried."""
        return jobs

    def attempt(self, job: Job, region: Region) -> None:
        """Attempt the job in a region without a head."""
        self._job_attempts.attempt(job, region)

    def attempt_behind_head(self, job: Job, region: Region) -> None:
        """Attempt the job behind the head."""
        self._job_attempts.attempt_behind_head(job, region)

    def attempt_later(self, job: Job, region: Region) -> None:
        """Attempt a job that the pass has put off."""
        self._job_attempts.attempt_later(job, region)

    def guard(self, attempt: Callable[[], None]) -> None:
        """Make an attempt that is not part of the queue order."""
        attempt()

    def finish(self) -> None:
        """Try the jobs that were postponed; there are none."""


class TimedAttemptLoop:
    """The attempts of a pass with a deadline; notes with which jobs the next pass is to begin.

    ``first_behind``: which of the jobs behind the heads the next pass tries first, as an index into the argument of
    :meth:`in_order`; 0 if this pass tried them all. ``tried_in_vain``: how many jobs, in queue order and without those
    that hold a promise, neither started nor became the head; the next pass tries that many after all others. It is 0
    if no job was left out.
    """

    def __init__(self, context: Context, builder: PlanBuilder, job_attempts: JobAttempts, deadline: Deadline) -> None:
        self._cluster = context.cluster
        self._builder = builder
        self._job_attempts = job_attempts
        self._deadline = deadline
        self._shares = True
        self._postponed: list[Job] = []
        self._promises = context.ledger.promises
        self._to_pass_over = context.ledger.tried_in_vain
        self._passed_over: list[Job] = []
        self._in_vain = 0
        self._left_out = False
        self._of_user: str | None = None
        self._under_way = False
        context.capacity.check_time = self._check_time
        self._begun_with = context.ledger.first_behind
        self._tried_behind = self._behind = 0

    @property
    def begins_elsewhere(self) -> bool:
        """Whether the walk over the jobs behind the heads does not begin with the first of them."""
        return self._begun_with > 0

    @property
    def first_behind(self) -> int:
        """See the class."""
        if self._tried_behind == self._behind:
            return 0
        return (self._begun_with + self._tried_behind) % self._behind

    @property
    def tried_in_vain(self) -> int:
        """See the class."""
        return self._in_vain if self._left_out else 0

    def in_order(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """The jobs behind the heads in the order in which they are tried: first those that the last pass left out."""
        if not self.begins_elsewhere or not jobs:
            return jobs
        first = self._begun_with % len(jobs)
        return [*jobs[first:], *jobs[:first]]

    def attempt(self, job: Job, region: Region) -> None:
        """Attempt the job in a region without a head."""
        if self._to_pass_over and job.id not in self._promises:
            self._to_pass_over -= 1
            self._passed_over.append(job)
            self._in_vain += 1
        elif self._is_in_vain(self._job_attempts.attempt, job, region):
            self._in_vain += 1

    def attempt_behind_head(self, job: Job, region: Region) -> None:
        """Attempt the job behind the head."""
        self._behind += 1
        if self._try(self._job_attempts.attempt_behind_head, job, region) is not _Outcome.LEFT_OUT:
            self._tried_behind += 1

    def attempt_later(self, job: Job, region: Region) -> None:
        """Attempt a job that the pass has put off, behind the head if there is one by now."""
        self._try(self._job_attempts.attempt_later, job, region)

    def guard(self, attempt: Callable[[], None]) -> None:
        """Make an attempt that is not part of the queue order; does nothing if the time is up."""
        if not self._deadline.is_over():
            self._until_time_is_up(attempt)

    def finish(self) -> None:
        """Try the jobs that were postponed: first those that an earlier pass tried in vain, then those of users whose
        share was spent."""
        self._to_pass_over = 0
        if self._passed_over and not self._deadline.is_over():
            self._in_vain = 0
        for job in self._passed_over:
            if self._is_in_vain(self._job_attempts.attempt_later, job, self._builder.regions[job.queue]):
                self._in_vain += 1
        self._shares = False
        for job in self._postponed:
            self.attempt_later(job, self._builder.regions[job.queue])

    def _is_in_vain(self, attempt: Callable[[Job, Region], None], job: Job, region: Region) -> bool:
        """Make the attempt; True if the job neither started nor became the head."""
        outcome = self._try(attempt, job, region)
        return outcome is _Outcome.TRIED and region.reservation is None and job.id in self._cluster.jobs

    def _try(self, attempt: Callable[[Job, Region], None], job: Job, region: Region) -> _Outcome:
        """Make the attempt and return its outcome.

        An attempt that the deadline ends counts as made: the next pass begins with the job behind it, so that a job
        that takes all the time does not keep others out for ever.
        """
        deadline = self._deadline
        if deadline.is_over():
            self._leave_out(job)
            return _Outcome.LEFT_OUT
        if self._shares and deadline.is_share_spent(job.user):
            self._postponed.append(job)
            return _Outcome.POSTPONED
        deadline.begin(job)
        self._of_user = job.user
        ended = self._until_time_is_up(lambda: attempt(job, region))
        self._of_user = None
        deadline.end()
        if not ended:
            # Some subjobs of an array may have started.
            left = self._cluster.jobs.get(job.id, job)
            if self._shares and not deadline.is_over():
                self._postponed.append(left)
                return _Outcome.POSTPONED
            self._leave_out(left)
        return _Outcome.TRIED

    def _leave_out(self, job: Job) -> None:
        """Leave the job, for the reason that the pass had no time for it."""
        self._left_out = True
        self._builder.leave(job, _NOT_LOOKED_AT)

    def _until_time_is_up(self, attempt: Callable[[], None]) -> bool:
        """Make the attempt; False if the deadline ended it."""
        self._under_way = True
        try:
            attempt()
        except TimeIsUp:
            return False
        finally:
            self._under_way = False
        return True

    def _check_time(self) -> None:
        """End the current attempt if no time is left for it."""
        deadline, user = self._deadline, self._of_user
        if self._under_way and (
            deadline.is_over() or (self._shares and user is not None and deadline.is_share_spent(user))
        ):
            raise TimeIsUp
