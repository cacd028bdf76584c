"""The plan of a pass: starts, preemptions, estimates, one reason for each job that waits, and the next ledger.

A plan is data: nothing in it has happened yet, and its executor checks again before acting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Final, NamedTuple

from policy.model.allocation import NO_CORES, Allocation, Cores
from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.model.ledger_between_passes import Ledger
from policy.reasons.reason import Reason
from policy.values.value_made_often import ValueMadeOften

if TYPE_CHECKING:
    from policy.state.cluster_snapshot import Snapshot


class Start(ValueMadeOften):
    """Start this job exactly there; ``id`` is that of the subjob of an array.

    ``backfilled``: it counts as backfilled. ``why``: the reason of its layout, if not only select and place decided.
    ``cores``: which cores of its vnodes it gets, if it asks for a list of them.
    """

    __slots__ = ("allocation", "backfilled", "cores", "id", "job", "subjob", "why")

    def __init__(
        self,
        id: str,  # noqa: A002 - the name of the field
        job: Job,
        allocation: Allocation,
        backfilled: bool = False,
        subjob: int | None = None,
        why: Reason | None = None,
        cores: Cores = NO_CORES,
    ) -> None:
        self.id: Final = id
        self.job: Final = job
        self.allocation: Final = allocation
        self.backfilled: Final = backfilled
        self.subjob: Final = subjob
        self.why: Final = why
        self.cores: Final = cores


class Preempt(NamedTuple):
    """Take this run off its vnodes and requeue its job, for the beneficiary, by the rule that the reason names.

    ``again`` is True if an earlier plan asked for it already and the run still holds its vnodes.
    """

    run: Run
    beneficiary: str
    reason: Reason
    again: bool = False

    @property
    def id(self) -> str:
        """The victim's id."""
        return self.run.id


class Estimate(ValueMadeOften):
    """The reservation of the head of a region: ``at_s`` is its time now, ``promised_s`` the promise."""

    __slots__ = ("at_s", "id", "promised_s")

    def __init__(
        self,
        id: str,  # noqa: A002 - the name of the field
        at_s: float,
        promised_s: float,
    ) -> None:
        self.id: Final = id
        self.at_s: Final = at_s
        self.promised_s: Final = promised_s


class MovedPromise(NamedTuple):
    """The promise of a waiting job that gave way to a beneficiary with a better claim: what it was, and what it is now;
    None until the job heads its region again."""

    id: str
    was_s: float
    at_s: float | None
    beneficiary: str


class Wait(NamedTuple):
    """Jobs that wait for one reason."""

    reason: Reason
    jobs: Sequence[Job]


class Waits(Sequence[Wait]):
    """The jobs that wait, reason by reason; a :class:`Wait` is made on access.

    ``correct`` is applied when the jobs are read for the first time: a replay reads those of few passes.
    """

    __slots__ = ("_correct", "_jobs")

    def __init__(
        self,
        jobs: Mapping[Reason, list[Job]],
        correct: Callable[[Mapping[Reason, list[Job]]], Mapping[Reason, list[Job]]] | None = None,
    ) -> None:
        self._jobs = jobs
        self._correct = correct

    def _corrected(self) -> Mapping[Reason, list[Job]]:
        if self._correct is not None:
            self._jobs, self._correct = self._correct(self._jobs), None
        return self._jobs

    def __iter__(self) -> Iterator[Wait]:
        return (Wait(reason, jobs) for reason, jobs in self._corrected().items() if jobs)

    def __len__(self) -> int:
        return sum(1 for jobs in self._corrected().values() if jobs)

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def by_reason(self) -> dict[Reason, list[Job]]:
        """The jobs of each reason. Do not change the lists."""
        return dict(self._corrected())


class Plan(ValueMadeOften):
    """All that one pass decides.

    ``started``: the snapshot after all starts. ``next_s``: when time alone will change the decisions (a promised time
    comes, a delay is over) if runs end as expected; None if it will not. ``classes``: the class of each waiting job
    above the base class (P2); None if no queue has priorities. ``again``: the plan's own starts change what is decided,
    so another pass is due at once: one was cancelled, or one put its owner over quota after other jobs had found no
    victim. ``moved``: the promises that this pass moved for jobs with a better claim.
    """

    __slots__ = (
        "again", "classes", "estimates", "ledger", "moved", "next_s", "preempts", "started", "starts",
        "time_s", "waits",
    )  # fmt: skip

    def __init__(
        self,
        time_s: float,
        starts: tuple[Start, ...],
        preempts: tuple[Preempt, ...],
        estimates: tuple[Estimate, ...],
        waits: Waits,
        ledger: Ledger,
        started: Snapshot,
        next_s: float | None = None,
        classes: Mapping[str, int] | None = None,
        again: bool = False,
        moved: tuple[MovedPromise, ...] = (),
    ) -> None:
        self.time_s: Final = time_s
        self.starts: Final = starts
        self.preempts: Final = preempts
        self.estimates: Final = estimates
        self.waits: Final = waits
        self.ledger: Final = ledger
        self.started: Final = started
        self.next_s: Final = next_s
        self.classes: Final = classes
        self.again: Final = again
        self.moved: Final = moved

    def reasons(self) -> dict[str, tuple[Job, Reason]]:
        """Each waiting job, by id, with its reason."""
        return {job.id: (job, wait.reason) for wait in self.waits for job in wait.jobs}

    def count(self, code: str) -> int:
        """How many jobs wait for a reason of this code."""
        return sum(len(wait.jobs) for wait in self.waits if wait.reason.code == code)

    def reason_of(self, job_id: str) -> Reason | None:
        """Why this job waits; None if it does not."""
        return next((wait.reason for wait in self.waits for job in wait.jobs if job.id == job_id), None)
