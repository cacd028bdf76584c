"""The facts that a decision is made from: vnodes, queues, waiting jobs and runs.

They are frozen values whose methods use only their own fields. A waiting job is a :class:`Job`; a running one is a
:class:`Run` around the same job, so a requeue gives back exactly what was submitted, with its age.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from policy.model.allocation import Allocation
from policy.model.job_preferences import Layout, RankPreference
from policy.model.job_request import Amounts, Request
from policy.model.limit_attributes import Limits
from policy.model.pbs_units import SIZES
from policy.values.frozen_value import FrozenValue
from policy.values.value_made_often import ValueMadeOften

if TYPE_CHECKING:
    from policy.order.site_order_settings import SiteOrder

UNLIMITED_S: Final = float("inf")
ONE_OF = "one of "
"""Prefix of the names of job-wide consumables that are not licences, but let only one of several jobs start."""


RUNS, STARTS, CROSSING = "runs", "starts", "crossing"
"""What a window is closed to: to runs at any moment of it; only to starts in it; or to runs that start in it and go on
past its end."""


class Window(NamedTuple):
    """A time in which something is closed to ordinary jobs, from ``start_s`` until before ``end_s`` (seconds of the
    snapshot's clock, infinite where it never ends).

    ``name`` is its name in sentences, such as ``reservation R12``. ``amounts`` are what it keeps of a vnode (sizes in
    KiB); None for all of it. ``closed_to`` is one of :data:`RUNS`, :data:`STARTS` and :data:`CROSSING`; a window of a
    vnode is closed to :data:`RUNS`. ``past_end_s``: by how much a run may go on past its end all the same.
    """

    start_s: float
    end_s: float
    name: str
    amounts: Amounts | None = None
    closed_to: str = RUNS
    past_end_s: float = 0.0

    def meets(self, start_s: float, end_s: float) -> bool:
        """Whether the window is closed to a run from ``start_s`` until before ``end_s``."""
        return end_s > self.latest_end_s(start_s)

    def latest_end_s(self, start_s: float) -> float:
        """The latest end of a run from ``start_s`` on that the window is not closed to: infinite if it is closed to
        none, and negative infinity if it is closed to all."""
        if self.closed_to == STARTS:
            return -UNLIMITED_S if self.start_s <= start_s < self.end_s else UNLIMITED_S
        if self.closed_to == CROSSING:
            return self.end_s + self.past_end_s if self.start_s <= start_s < self.end_s else UNLIMITED_S
        return self.start_s if start_s < self.end_s else UNLIMITED_S


class RunLimits(NamedTuple):
    """How many jobs may run on a vnode at a time: in all, of one user, and of one group; None without a limit (PBS's
    ``max_running``, ``max_user_run`` and ``max_group_run``). A job counts once, whatever it has there."""

    in_all: int | None = None
    of_user: int | None = None
    of_group: int | None = None


@dataclass(frozen=True)
class Vnode(FrozenValue):
    """A vnode: what it has, what is used outside of the snapshot's runs, and whether it takes jobs.

    ``available`` and ``elsewhere`` are amounts per consumable (sizes in KiB). ``attributes`` are its other
    ``resources_available`` as texts (a list of strings is comma separated); ``measures`` are those of them that are
    numbers, of which a job asks for a least value (sizes in bytes). ``state`` is PBS's, ``""`` if unknown. ``usable``
    is False for a vnode that must get no new job. ``queue`` and ``partition`` bind it where set. ``closed`` are the
    windows that keep it, or a part of it; what they keep is not in ``elsewhere``. ``run_limits`` are None where any
    number of jobs may run. If some vnode has them, every request of the snapshot names its owner
    (:attr:`policy.model.job_request.Request.owner`).
    """

    name: str
    available: Mapping[str, int]
    host: str = ""
    state: str = "free"
    usable: bool = True
    attributes: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    queue: str | None = None
    partition: str | None = None
    sharing: str = "default_shared"
    closed: tuple[Window, ...] = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    run_limits: RunLimits | None = None


@dataclass(frozen=True)
class HardLimits(FrozenValue):
    """PBS's own hard limits of a queue or of the server: on the number of running jobs and on what they hold."""

    max_run: Limits = field(default_factory=Limits)
    max_run_res: Mapping[str, Limits] = field(default_factory=dict)

    def by_resource(self) -> Mapping[str, Limits]:
        """All of them, by resource; the number of running jobs is under the empty name."""
        limits = {resource: limits for resource, limits in self.max_run_res.items() if limits}
        return {"": self.max_run, **limits} if self.max_run else limits


class UserReservation(NamedTuple):
    """What a user's reservation has while it runs. It counts like the user's running jobs, towards the quotas of the
    server and of ``queue`` ("" for none)."""

    user: str
    group: str
    queue: str
    amounts: Amounts


@dataclass(frozen=True)
class Server(FrozenValue):
    """What binds every queue: the server's hard limits, its soft quotas by resource, which count the jobs of all queues
    together, and what the runs of the snapshot and jobs that start may hold together of its consumables (``shared``):
    licences, and also what vnodes have, such as cores. ``user_reservations`` are the running reservations of users.
    ``sizes`` are the resources that are sizes: PBS's own and the site's."""

    name: str = ""
    hard: HardLimits = field(default_factory=HardLimits)
    shared: Mapping[str, int] = field(default_factory=dict)
    quotas: Mapping[str, Limits] = field(default_factory=dict)
    user_reservations: tuple[UserReservation, ...] = ()
    sizes: frozenset[str] = SIZES


@dataclass(frozen=True)
class Queue(FrozenValue):
    """An execution queue: whether it starts jobs, its soft quotas, hard limits, and the partition it belongs to.

    ``quotas`` are the soft limits on cores (P1), ``other_quotas`` those on other resources, ``priorities`` those of
    users and groups (P2). ``priority`` is the queue's own: jobs of the queue with the higher one come first.
    ``managed`` is False for queues that pbsteer must leave alone. ``destinations`` are those of a routing queue; None
    for an execution queue. ``deferrable`` marks all its jobs as such. ``closed``
    are the windows in which none of its jobs may run on any vnode: dedicated time or, for a queue whose jobs run in
    dedicated time only, any other time. ``order`` is that of the queue's scheduler; None where it is not known or not
    followed.
    """

    name: str
    started: bool = True
    enabled: bool = True
    managed: bool = True
    quotas: Limits = field(default_factory=Limits)
    hard: HardLimits = field(default_factory=HardLimits)
    partition: str | None = None
    priority: int = 0
    priorities: Limits = field(default_factory=Limits)
    deferrable: bool = False
    closed: tuple[Window, ...] = ()
    other_quotas: Mapping[str, Limits] = field(default_factory=dict)
    order: SiteOrder | None = None
    destinations: tuple[str, ...] | None = None

    @property
    def is_express(self) -> bool:
        """Whether the queue is an express queue of its scheduler, whose order is followed."""
        least = None if self.order is None else self.order.express_from
        return least is not None and self.priority >= least

    def quotas_by_resource(self) -> Mapping[str, Limits]:
        """All soft quotas of the queue, by resource."""
        quotas = {resource: limits for resource, limits in self.other_quotas.items() if limits}
        return {"ncpus": self.quotas, **quotas} if self.quotas else quotas


class Job(NamedTuple):
    """A job as it was submitted.

    ``submit_s`` is when it entered the queue, and survives requeues. ``estimate_s`` is the walltime, infinite without
    one. ``blocked`` is empty, or says why it may not start whatever is free (``held``, ``waits for other jobs``, ...);
    ``not_before_s`` is a start time set by the user. A job array is one entry: ``subjobs`` are the indices still
    waiting. ``urgent`` lets it preempt without delay. ``job_wide`` are consumables that no vnode holds, such as
    licences. ``saves``: whether it can save its work when it is preempted (None: as the settings say). ``saved_s`` is
    how much of its run earlier runs have saved, less the cost of saving and restarting (it may be negative).
    ``deferrable`` jobs are preempted first among equals (P2). ``application`` is the key that striping learns by (P5).
    A job with ``pinned`` vnodes goes back to exactly these, as its request says: PBS's own checkpoint keeps it there.
    ``priority`` orders it among all users' jobs, ``own_priority`` among its owner's in the queue. ``entity`` is its
    fair share entity, and ``order_values`` are the numbers that its queue's order needs
    (:attr:`policy.order.site_order_settings.SiteOrder.needs`). One that is ``topjob_ineligible`` never becomes head.
    """

    id: str
    user: str
    request: Request
    queue: str
    submit_s: float
    estimate_s: float = UNLIMITED_S
    group: str = ""
    project: str = ""
    priority: int = 0
    rerunable: bool = True
    urgent: bool = False
    blocked: str = ""
    not_before_s: float | None = None
    subjobs: tuple[int, ...] | None = None
    name: str = ""
    sequence: int = 0
    job_wide: Amounts = ()
    saves: bool | None = None
    saved_s: float = 0.0
    deferrable: bool = False
    application: str = ""
    rank: RankPreference | None = None
    layout: Layout | None = None
    pinned: tuple[str, ...] = ()
    own_priority: int = 0
    entity: str = ""
    order_values: tuple[float, ...] = ()
    topjob_ineligible: bool = False

    @property
    def left_s(self) -> float:
        """What is left to run by the estimate, in seconds, at least 1."""
        return max(1.0, self.estimate_s - self.saved_s) if self.saved_s else self.estimate_s

    @property
    def longest_s(self) -> float:
        """The most that a run of it may last, in seconds: PBS gives each run the whole walltime, whatever is saved."""
        return self.estimate_s if self.saved_s >= 0 else self.left_s

    @property
    def cores(self) -> int:
        """The cores that the job (one subjob of an array) asks for."""
        return self.request.cores

    def amount(self, resource: str) -> int:
        """How much of a resource the job (one subjob of an array) asks for, in its chunks and job-wide."""
        amount = self.request.amount(resource)
        return amount + sum(asked for name, asked in self.job_wide if name == resource) if self.job_wide else amount

    def quota_amount(self, resource: str) -> int:
        """How much of a resource the job (one subjob of an array) counts with where quotas are for it: as much as it
        asks for, of cores at least one for each chunk (docs/policies.md, P1, 5)."""
        return self.request.quota_cores if resource == "ncpus" else self.amount(resource)

    def subjob_id(self, index: int) -> str:
        """The id of one subjob: ``12[].server`` and 3 give ``12[3].server``."""
        return self.id.replace("[]", f"[{index}]", 1)


class Run(ValueMadeOften):
    """A job that holds resources: since when, in which allocation, and its expected end. ``subjob`` is the index of a
    subjob."""

    __slots__ = ("allocation", "end_s", "exiting", "id", "job", "start_s", "subjob")

    def __init__(
        self,
        id: str,  # noqa: A002 - the name of the field
        job: Job,
        start_s: float,
        allocation: Allocation,
        end_s: float,
        exiting: bool = False,
        subjob: int | None = None,
    ) -> None:
        self.id: Final = id
        self.job: Final = job
        self.start_s: Final = start_s
        self.allocation: Final = allocation
        self.end_s: Final = end_s
        self.exiting: Final = exiting
        self.subjob: Final = subjob

    def __eq__(self, other: object) -> bool:
        # Of two runs the ids differ, which is seen at once; allocations take long to compare.
        if self is other:
            return True
        if not isinstance(other, Run):
            return NotImplemented
        return self.id == other.id and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash((self.id, self.start_s))


class Reading(NamedTuple):
    """What a vnode reported at ``at_s``: what is left of compute, memory and network bandwidth, the totals, its
    temperature and the highest that it tolerates (P4). None where it has no such sensor."""

    at_s: float
    compute: float | None = None
    compute_all: float | None = None
    memory_kib: float | None = None
    memory_all_kib: float | None = None
    network: float | None = None
    network_all: float | None = None
    temperature: float | None = None
    temperature_most: float | None = None


class Finished(NamedTuple):
    """A run that has ended by itself: the input of P3's predictor and of P5's learning.

    ``vnodes`` is how many it was on, ``fewest`` how few would have held it. ``cpu_s`` is its CPU time over all cores,
    None where it was not measured. ``asked_layout``: its job asked for a layout.
    """

    id: str
    user: str
    application: str
    cores: int
    start_s: float
    end_s: float
    estimate_s: float
    vnodes: int = 1
    fewest: int = 1
    cpu_s: float | None = None
    asked_layout: bool = False
