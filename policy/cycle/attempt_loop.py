"""Attempts to place waiting jobs, within the time that the pass has.

A user whose jobs have taken their share of the time is passed over until all other users' jobs were tried. When the
time is up, the jobs that are left share one reason; the next pass begins with the jobs that this one left out, so that
no job is left out for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Callable

from policy.backfill.regions import Region
from policy.cycle.attempt import Turns
from policy.model.cluster import Job
from policy.plan.context import Scene
from policy.plan.deadline import Deadline, TimeIsUp
from policy.plan.plan_builder import Draft
from policy.reasons.reason import Reason

_NOT_LOOKED_AT = Reason("not-looked-at")


class _Outcome(Enum):
    """What came of a job's attempt: it was made, perhaps until the deadline; :meth:`Attempts.finish` makes it; or
    there was no time for it."""

    TRIED = "tried"
    POSTPONED = "postponed"
    LEFT_OUT = "left out"


class Attempts:
    """The attempts of a pass that has all the time it needs: each is the job's turn, and the next pass has nothing to
    make up for."""

    begins_elsewhere = False
    first_behind = 0
    tried_in_vain = 0

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def in_order(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """All jobs behind the heads in the order in which they are tried."""
        return jobs

    def in_turn(self, job: Job, region: Region) -> None:
        """Let the job have its turn where there is no head yet."""
        self._turns.in_turn(job, region)

    def behind(self, job: Job, region: Region) -> None:
        """Let the job have its turn behind the head."""
        self._turns.behind(job, region)

    def guard(self, attempt: Callable[[], None]) -> None:
        """Make an attempt outside the order of turns."""
        attempt()

    def finish(self) -> None:
        """Try the jobs that were passed over."""


class TimedAttempts:
    """The attempts of a pass with a deadline, and with which jobs the next one is to begin.

    ``first_behind`` is which of the jobs behind a head the next pass tries first, counted in the order in which this
    pass would try them: 0 where this one has tried them all. ``tried_in_vain`` is how many jobs, counted in queue order
    and without those that have a promise, neither started nor became the head: the next pass tries that many after all
    others. It is 0 where no job was left out.
    """

    def __init__(self, scene: Scene, draft: Draft, turns: Turns, deadline: Deadline) -> None:
        self._world = scene.world
        self._draft = draft
        self._turns = turns
        self._deadline = deadline
        self._shares = True
        self._postponed: list[Job] = []
        self._promises = scene.ledger.promises
        self._to_pass_over = scene.ledger.tried_in_vain
        self._passed_over: list[Job] = []
        self._in_vain = 0
        self._left_out = False
        self._of_user: str | None = None
        self._under_way = False
        scene.capacity.check_time = self._check_time
        self._begun_with = scene.ledger.first_behind
        self._tried_behind = self._behind = 0

    @property
    def begins_elsewhere(self) -> bool:
        """Whether the jobs behind the heads are not tried from the first one on."""
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
        """All jobs behind the heads in the order in which they are tried: first those that the last pass left out."""
        if not self.begins_elsewhere or not jobs:
            return jobs
        first = self._begun_with % len(jobs)
        return [*jobs[first:], *jobs[:first]]

    def in_turn(self, job: Job, region: Region) -> None:
        """Let the job have its turn where there is no head yet."""
        if self._to_pass_over and job.id not in self._promises:
            self._to_pass_over -= 1
            self._passed_over.append(job)
            self._in_vain += 1
        elif self._is_in_vain(job, region):
            self._in_vain += 1

    def behind(self, job: Job, region: Region) -> None:
        """Let the job have its turn behind the head."""
        self._behind += 1
        if self._try(self._turns.behind, job, region) is not _Outcome.LEFT_OUT:
            self._tried_behind += 1

    def guard(self, attempt: Callable[[], None]) -> None:
        """Make an attempt outside the order of turns; nothing where the time is up."""
        if not self._deadline.is_over():
            self._until_time_is_up(attempt)

    def finish(self) -> None:
        """Try the jobs that were passed over: those that were tried in vain by an earlier pass, then those of users
        whose share was spent."""
        self._to_pass_over = 0
        if self._passed_over and not self._deadline.is_over():
            self._in_vain = 0
        for job in self._passed_over:
            if self._is_in_vain(job, self._draft.regions[job.queue]):
                self._in_vain += 1
        self._shares = False
        for job in self._postponed:
            self._try_at_last(job, self._draft.regions[job.queue])

    def _is_in_vain(self, job: Job, region: Region) -> bool:
        """Let the job have its turn. Whether that turn neither started it nor made it the head."""
        outcome = self._try_at_last(job, region)
        return outcome is _Outcome.TRIED and region.reservation is None and job.id in self._world.jobs

    def _try_at_last(self, job: Job, region: Region) -> _Outcome:
        """The job's turn, behind the head where there is one by now."""
        return self._try(self._turns.in_turn if region.reservation is None else self._turns.behind, job, region)

    def _try(self, turn: Callable[[Job, Region], None], job: Job, region: Region) -> _Outcome:
        """What comes of the job's turn.

        An attempt that the deadline ends counts as made: the next pass begins with the job behind it, so that one that
        takes all the time does not keep others out for ever.
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
        ended = self._until_time_is_up(lambda: turn(job, region))
        self._of_user = None
        deadline.end()
        if not ended:
            # Of an array some subjobs may have started.
            left = self._world.jobs.get(job.id, job)
            if self._shares and not deadline.is_over():
                self._postponed.append(left)
                return _Outcome.POSTPONED
            self._leave_out(left)
        return _Outcome.TRIED

    def _leave_out(self, job: Job) -> None:
        """Give the job the reason of those that the pass had no time for."""
        self._left_out = True
        self._draft.leave(job, _NOT_LOOKED_AT)

    def _until_time_is_up(self, attempt: Callable[[], None]) -> bool:
        """Whether the attempt came to its end."""
        self._under_way = True
        try:
            attempt()
        except TimeIsUp:
            return False
        finally:
            self._under_way = False
        return True

    def _check_time(self) -> None:
        """End the attempt under way where there is no time left for it."""
        deadline, user = self._deadline, self._of_user
        if self._under_way and (
            deadline.is_over() or (self._shares and user is not None and deadline.is_share_spent(user))
        ):
            raise TimeIsUp
