"""The interface to a local scheduler; one module implements it for each kind.

Every call runs the scheduler's own programs. If they do not answer, :class:`SchedulerSilent` is raised and nothing is
concluded about its jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from policy.migration.available_to_other_clusters import FreeNodes
from policy.migration.job_demand import Demand

QUEUED, RUNNING, HELD, ENDED = "queued", "running", "held", "ended"
"""The states of a local job. ``ended`` is a job that the scheduler still shows."""


class SchedulerSilent(Exception):  # noqa: N818 - it says what it is
    """The scheduler did not answer, or not in its own words; the message has the program and its output."""


class RequestUnanswered(SchedulerSilent):
    """A request for one job, made as its user, failed: that user's account or program may be the cause, so nothing is
    concluded about the scheduler either."""


class SubmitUnclear(SchedulerSilent):
    """The program that submits a job has ended without an answer of the scheduler that is known to be one, so the job
    may be there: killed by a signal, a message of something else, or no id."""


class SubmitRefused(Exception):  # noqa: N818
    """The scheduler itself refused the job. ``lasting``: the same request will be refused again."""

    def __init__(self, text: str, *, lasting: bool) -> None:
        super().__init__(text)
        self.lasting = lasting


class LocalJob(NamedTuple):
    """A job to submit for ``user``: run ``wrapper`` in ``cwd``, output to ``out`` and ``err``.

    ``wrapper`` is the path of an executable; all paths are absolute, below the job's folder.
    """

    name: str
    user: str
    demand: Demand
    cwd: str
    wrapper: str
    out: str
    err: str


class Verdict(NamedTuple):
    """Whether the scheduler would start a job now; None where it cannot say. ``text`` is why not."""

    now: bool | None
    text: str = ""


class JobState(NamedTuple):
    """``state`` is one of the words above. ``runs`` counts starts where the scheduler does (0: never started); whether
    a job that has ended had started is said by :meth:`LocalScheduler.history` alone."""

    state: str
    runs: int = 0
    text: str = ""


class Ended(NamedTuple):
    """History's record of a job that has ended. ``exit`` is a status, ``signal N``, or the scheduler's word for another
    end, such as ``TIMEOUT``; empty if unknown. ``ran``: it had started. ``not_started`` is what the scheduler says of a
    job that it has tried to start in vain."""

    exit: str
    ran: bool
    not_started: str = ""

    @property
    def reason(self) -> str:
        """What ended the job, where its program did not end by itself; else empty."""
        return "" if not self.exit or self.exit.isdigit() else f"ended by {self.exit}"

    def find_failure(self, local_id: str, *, seen_running: bool) -> str:
        """Why the job has failed; empty where its program, or its run, has ended in a known way."""
        if self.not_started:
            return f"the local job {local_id} could not be started: {self.not_started}"
        if not (self.ran or seen_running):
            return f"the local job {local_id} was deleted before it ran"
        return "" if self.exit else f"the local job {local_id} has ended with an exit status that is not known"


class LocalScheduler(Protocol):
    """One cluster's scheduler. Methods that change a job do so as its user."""

    kind: str

    def free(self) -> FreeNodes:
        """The idle cores of the landing queue."""

    def would_start_now(self, job: LocalJob) -> Verdict:
        """The scheduler's own test, without submitting."""

    def submit(self, job: LocalJob) -> str:
        """The local id. Raises :class:`SubmitRefused`, and :class:`SubmitUnclear` where the job may be there."""

    def states(self, ids: Iterable[str]) -> Mapping[str, JobState]:
        """The jobs that the scheduler still knows, by few calls; an id that is missing is gone."""

    def find_by_name(self, name: str, user: str) -> str | None:
        """The id of the user's job of this name that has not ended."""

    def find_ended_run(self, name: str, user: str) -> str | None:
        """The id of the user's job of this name that has run and has ended, as long as the scheduler remembers it."""

    def hold(self, job_id: str, user: str) -> None:
        """Keep a queued job from starting."""

    def release(self, job_id: str, user: str) -> None:
        """Undo :meth:`hold`."""

    def delete(self, job_id: str, user: str) -> None:
        """Delete the job, queued or running. A job that is gone already is no error."""

    def history(self, job_id: str) -> Ended | None:
        """The history of a job that has ended; None if there is none."""


def find_submitted(scheduler: LocalScheduler, job: LocalJob) -> str:
    """The id of the job that was submitted a moment ago, by the scheduler's own word: what the program has printed that
    submitted it may be its user's. Raises :class:`SubmitUnclear`.
    """
    found = scheduler.find_by_name(job.name, job.user) or scheduler.find_ended_run(job.name, job.user)
    if found is None:
        raise SubmitUnclear(f"{job.name} was submitted, but the scheduler has no job of this name of {job.user}")
    return found
