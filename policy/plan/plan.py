"""What a pass decides: starts, preemptions, estimates, one reason for each job left alone, and the next ledger.

A plan is data. Nothing in it has happened yet; whoever carries it out checks again before acting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from policy.model.allocation import NO_CORES, Cores, Placement
from policy.model.cluster import Job, Run
from policy.model.ledger import Ledger
from policy.reasons.reason import Reason

if TYPE_CHECKING:
    from policy.state.snapshot import Snapshot


class Start(NamedTuple):
    """Start this job (``id`` names the subjob of an array) exactly there. ``backfilled`` tells how it got in,
    ``why`` why it is laid out so, where anything but select and place decided; ``cores`` which cores of its vnodes it
    gets, where it wants a list of them."""

    id: str
    job: Job
    placement: Placement
    backfilled: bool = False
    subjob: int | None = None
    why: Reason | None = None
    cores: Cores = NO_CORES


class Preempt(NamedTuple):
    """Take this run off its vnodes and requeue its job, for the beneficiary, by the reason's rule.

    ``again`` is True where an earlier plan already asked and the run still holds its vnodes.
    """

    run: Run
    beneficiary: str
    reason: Reason
    again: bool = False

    @property
    def id(self) -> str:
        """The victim's id."""
        return self.run.id


class Estimate(NamedTuple):
    """The job at the head of its partition is reserved to start at ``at_s``; ``promised_s`` is the first such time."""

    id: str
    at_s: float
    promised_s: float


class MovedPromise(NamedTuple):
    """The promised start of a waiting job that gave way to a beneficiary with a better claim: what it was, and what it
    is now; None where the job is promised none until it heads its region again."""

    id: str
    was_s: float
    at_s: float | None
    beneficiary: str


class Wait(NamedTuple):
    """Jobs left alone for one reason."""

    reason: Reason
    jobs: Sequence[Job]


class Waits(Sequence[Wait]):
    """The jobs left alone, reason by reason; each :class:`Wait` is made when it is asked for."""

    __slots__ = ("_jobs",)

    def __init__(self, jobs: Mapping[Reason, list[Job]]) -> None:
        self._jobs = jobs

    def __iter__(self) -> Iterator[Wait]:
        return (Wait(reason, jobs) for reason, jobs in self._jobs.items() if jobs)

    def __len__(self) -> int:
        return sum(1 for jobs in self._jobs.values() if jobs)

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def by_reason(self) -> dict[Reason, list[Job]]:
        """The jobs of each reason; the lists are not to be changed."""
        return dict(self._jobs)


class Plan(NamedTuple):
    """All that one pass decides. ``started`` is the snapshot as it is once all starts are carried out; ``next_s`` when
    time alone will change what is decided (a promised time comes, a delay is over), as long as runs end when they are
    expected to, None where it does not; ``classes`` the class of each waiting job above the base class (P2), None where
    no queue has priorities; ``again`` is True where the plan's own starts change what is decided: one was taken back,
    or one put somebody over quota when others had found no victim; ``moved`` the promises that this pass moved for
    jobs with a better claim."""

    time_s: float
    starts: tuple[Start, ...]
    preempts: tuple[Preempt, ...]
    estimates: tuple[Estimate, ...]
    waits: Waits
    ledger: Ledger
    started: Snapshot
    next_s: float | None = None
    classes: Mapping[str, int] | None = None
    again: bool = False
    moved: tuple[MovedPromise, ...] = ()

    def reasons(self) -> dict[str, tuple[Job, Reason]]:
        """Each job left alone, by id, with its reason."""
        return {job.id: (job, wait.reason) for wait in self.waits for job in wait.jobs}

    def count(self, code: str) -> int:
        """How many jobs were left alone for a reason of this code."""
        return sum(len(wait.jobs) for wait in self.waits if wait.reason.code == code)

    def reason_of(self, job_id: str) -> Reason | None:
        """Why this job was left alone; None where it was not."""
        return next((wait.reason for wait in self.waits for job in wait.jobs if job.id == job_id), None)
