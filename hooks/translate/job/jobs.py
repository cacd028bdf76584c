"""Jobs: attribute texts as waiting jobs and runs. Each job is made once, with all facts at hand.

A job that must not start even on idle vnodes (held, dependent, moving, suspended), or with an attribute that cannot be
read, is blocked with the reason: it stays where it is and is shown, and no pass acts on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from hooks.checkpoint.save_method.read_save_method_job_asked_for import SAVING, SIGNAL
from hooks.pbs.custom_resources import OWN_SELECT, PLACE, PREFERENCES
from hooks.pbs.job_attributes.job_ids_and_states import (
    FAILED_STARTS,
    STAGES_IN,
    index_of,
    is_array,
    is_held_after_failed_starts,
    is_running,
    read_indices,
    read_moment_s,
    read_start_s,
    waits_to_resume,
)
from hooks.pbs.job_attributes.own_dependencies import own_dependencies
from hooks.pbs.job_attributes.select_before_striping import own_place
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, NO_MARK, Mark, read_marks
from hooks.pbs.server_status_type_and_attributes import Attributes, read_whole
from hooks.translate.job.job_preferences import NO_PREFERENCES, Preferences, read_preferences, read_saves
from hooks.translate.job.long_selects import LEFT_UNREAD, LongSelects
from hooks.translate.job.non_consumable_mismatch_queue_or_server import OwnerValue, find_unmet
from hooks.translate.job.walltime import read_walltime_s
from hooks.translate.placement_sets import PlacementSets
from hooks.translate.queues import Report
from hooks.translate.site_order import OrderFacts
from policy.eligibility.request_text_limits import find_excess, find_many_dependencies
from policy.model.allocation import Allocation, AllocationError, parse_exec_vnode
from policy.model.job_request import Amounts, Chunk, Request, RequestError
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.pbs_units import UnitError, parse_resource
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.simulated_queues import MOST_PRIORITY
from policy.settings.site_settings import Settings

_WAITING = {
    "T": "it is being moved or its files are being brought",
    "S": "it is suspended, until qsig -s resume",
    "U": "it is suspended, as the owner of its workstation is using it",
}
_HOLDS = {"u": "its owner", "o": "an operator", "s": "a manager or the system", "p": "PBS, for a bad password"}
_ENVIRONMENTS = frozenset({"aoe", "eoe"})
"""Operating system and power profile: PBS changes a vnode for a job that asks for another one than it has."""
_SEQUENCE = re.compile(r"[0-9]+")
_OWN_SELECT = f"Resource_List.{OWN_SELECT}"
_PLACE = f"Resource_List.{PLACE}"
_MOST_SUBJOBS = "max_run_subjobs"
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NO_ORDER = OrderFacts()
_PREFERENCE_ATTRIBUTES = dict.fromkeys(f"Resource_List.{name}" for name in PREFERENCES)


class JobContext(NamedTuple):
    """What jobs of one server status are read with, beside their own attributes.

    ``job_wide``: the resources that count for a job as a whole; ``methods``: how jobs of a queue save that do not say;
    ``known``: by queue, what a job may ask for of the queue and the server
    (:mod:`~hooks.translate.job.non_consumable_mismatch_queue_or_server`), with the ``measured`` resources. These
    are the same for equal servers; the other two change with the jobs: ``licences``: the licence of each job of which
    others are alternatives (:mod:`~hooks.translate.job.runone`); ``running``: how many subjobs of each array run.
    ``orders``: by queue, what its scheduler orders jobs by (:mod:`~hooks.translate.site_order`). ``long_selects`` are
    those of this server status. ``sets``: by queue, its placement sets (:mod:`~hooks.translate.placement_sets`).
    ``vnodes_limit_runs``: some vnode limits how many jobs of one owner run on it.
    """

    consumables: frozenset[str]
    sizes: frozenset[str]
    settings: Settings
    long_selects: LongSelects
    job_wide: frozenset[str] = frozenset()
    methods: Mapping[str, str] = _NOTHING
    known: Mapping[str, Sequence[OwnerValue]] = _NOTHING
    measured: frozenset[str] = frozenset()
    licences: Mapping[str, str] = _NOTHING
    running: Mapping[str, int] = _NOTHING
    orders: Mapping[str, OrderFacts] = _NOTHING
    sets: Mapping[str, PlacementSets] = _NOTHING
    vnodes_limit_runs: bool = False

    @property
    def lasting(self) -> object:
        """The part that does not change with the jobs."""
        return (
            self.consumables, self.sizes, self.settings, self.job_wide, self.methods, self.known, self.measured,
            self.orders, self.sets, self.vnodes_limit_runs,
        )  # fmt: skip

    def is_lasting(self, job_id: str, texts: Attributes) -> bool:
        """Whether this job depends on nothing but its own attributes and the lasting part."""
        return job_id not in self.licences and _MOST_SUBJOBS not in texts


def read_job(job_id: str, texts: Attributes, context: JobContext, report: Report) -> Job:
    """One job or job array. Never raises: an attribute that cannot be read blocks the job.

    PBS keeps no record of what a job had used before it was requeued, so saved work comes from the job's mark. Subjobs
    share the array's one entry, so no saved work counts for them; nor for a job altered to save none.
    """
    queue, settings = texts.get("queue", ""), context.settings
    unread: list[str] = []
    user = texts.get("euser", "") or texts.get("Job_Owner", "").partition("@")[0]
    group = texts.get("egroup", "")
    select = texts.get(_OWN_SELECT, "") or texts.get("Resource_List.select", "")
    runs = is_running(texts)
    if runs or texts.get("job_state", "") == "B" or context.long_selects.may_read(job_id, user, select):
        excess = find_excess(select, settings.submission)
    else:
        excess = LEFT_UNREAD
    depend = texts.get("depend", "")
    too_many = find_many_dependencies(own_dependencies(depend), settings.submission) if depend else ""
    request = _without_chunks(texts) if excess else _read_request(texts, context, unread)
    pinned = _read_pinned(texts, unread)
    if pinned is not None:
        request = _request_of(pinned, request)
    elif context.sets and queue in context.sets:
        request = context.sets[queue].apply(request)
    estimate_s = _read_estimate(texts, unread)
    preferences = _read_preferences(texts, settings.ranking)
    unread += preferences.unread
    subjobs: tuple[int, ...] | None = None
    if is_array(job_id):
        subjobs = read_indices(texts.get("array_indices_remaining", ""), unread, settings.submission.array_size)
    if unread:
        report(queue, f"job {job_id}: {'; '.join(unread)}")
    not_before_s = read_moment_s(texts.get("Execution_Time", ""))
    order = context.orders.get(queue, _NO_ORDER)
    priority, own_priority = _read_priorities(texts, settings, order)
    mark = read_marks(texts).get(None, NO_MARK) if MARK_KEY in texts else NO_MARK
    if context.vnodes_limit_runs:
        request = request.of_owner((user, group))
    number = _SEQUENCE.match(job_id)
    blocked = (
        f"{unread[0]}, which cannot be read"
        if unread
        else _read_block(texts, not_before_s, mark) or excess or too_many or _unable(request)
    )
    job_wide: Amounts = ()
    if context.job_wide:
        job_wide, not_read = _read_job_wide(texts, context.job_wide)
        blocked = blocked or not_read
    if not runs:
        if subjobs is not None and not blocked and _MOST_SUBJOBS in texts:
            subjobs, blocked = _limit_subjobs(subjobs, texts, context.running.get(job_id, 0))
        known = context.known.get(queue)
        if known and not blocked:
            blocked = find_unmet(texts, known, context.measured)
        licence = context.licences.get(job_id)
        if licence is not None:
            job_wide = (*job_wide, (licence, 1))
    saves = read_saves(texts.get("Checkpoint", ""), preferences, array=subjobs is not None)
    if saves is None and context.methods.get(queue) in (SAVING if subjobs is None else (SIGNAL,)):
        saves = True
    return Job(
        job_id,
        user,
        request,
        queue,
        read_moment_s(texts.get("qtime", "")) or read_moment_s(texts.get("ctime", "")) or 0.0,
        estimate_s,
        group=group,
        project=texts.get("project", ""),
        priority=priority,
        # PBS requeues no job without the attribute, which qsub always sends and other programs may leave out; and none
        # that names a reservation, of which users may name any at their submission.
        rerunable=texts.get("Rerunable", "") == "True" and not texts.get("reserve_ID"),
        blocked=blocked,
        not_before_s=not_before_s,
        subjobs=subjobs,
        name=texts.get("Job_Name", ""),
        sequence=int(number.group()) if number else 0,
        job_wide=job_wide,
        saves=saves,
        saved_s=0.0 if mark is NO_MARK or saves is False else mark.saved_before(read_start_s(texts)),
        deferrable=preferences.deferrable,
        application=preferences.application,
        rank=preferences.rank,
        layout=preferences.layout,
        pinned=pinned.vnodes if pinned is not None else (),
        own_priority=own_priority,
        entity=order.entity_of(texts, queue),
        order_values=order.values_of(texts),
        topjob_ineligible=texts.get("topjob_ineligible", "") == "True",
    )


def _read_job_wide(texts: Attributes, names: frozenset[str]) -> tuple[Amounts, str]:
    """The job-wide requests, which are not in chunks, and why the job is blocked if one cannot be read."""
    amounts, not_read = [], ""
    for name in sorted(names):
        text = texts.get(f"Resource_List.{name}", "0")
        amount = parse_resource(name, text)
        if amount is None:
            not_read = not_read or f"it asks for {name}={text[:80]} as a whole, which cannot be read"
        elif amount:
            amounts.append((name, amount))
    return tuple(amounts), not_read


def _limit_subjobs(subjobs: tuple[int, ...], texts: Attributes, running: int) -> tuple[tuple[int, ...], str]:
    """No more waiting subjobs than the array's ``max_run_subjobs`` allows beside its running ones, and why it is
    blocked if that is none."""
    why = explain_subjob_limit(texts, running)
    most = read_whole(texts.get(_MOST_SUBJOBS, ""), 0)
    return (subjobs, why) if why or most <= 0 else (subjobs[: most - running], "")


def explain_subjob_limit(texts: Attributes, running: int) -> str:
    """Why an array of which so many subjobs run starts no further one until one of them has ended; empty if it may."""
    most = read_whole(texts.get(_MOST_SUBJOBS, ""), 0)
    return f"{running} of its subjobs run, and max_run_subjobs = {most}" if 0 < most <= running else ""


def read_manager_priority(texts: Attributes) -> int:
    """The priority that a manager or an operator gave the job; 0 without one."""
    return max(-MOST_PRIORITY, min(MOST_PRIORITY, read_whole(texts.get(_PLACE, ""), 0)))


def _read_priorities(texts: Attributes, settings: Settings, order: OrderFacts) -> tuple[int, int]:
    """The job's priority among all users' jobs, which managers set, and among its owner's jobs, which its owner sets.
    PBS does not record who set ``Priority``: it counts as the owner's, unless the site's own order uses it."""
    of_manager = read_manager_priority(texts)
    priority = read_whole(texts.get("Priority", ""), 0)
    kind = settings.order.user_priority if not order.is_explicit else "none"
    if kind == "all":
        return of_manager + priority, 0
    return of_manager, priority if kind == "within-user" else 0


def read_run(job_id: str, texts: Attributes, job: Job, time_s: float, report: Report) -> Run | None:
    """A job, or a subjob of the array ``job``, that holds vnodes; None if its vnodes cannot be read."""
    try:
        allocation = parse_exec_vnode(texts.get("exec_vnode", ""))
    except AllocationError as error:
        report(job.queue, f"job {job_id}: {error}; what it has counts as used by others")
        return None
    start_s = read_moment_s(texts.get("stime", "")) or time_s
    if texts.get("substate", "") == STAGES_IN:
        # A subjob that begins at the moment of the pass is no victim, and this may last as long as its owner likes.
        start_s = time_s - 1
    end_s = start_s + job.left_s
    if end_s <= time_s:
        # A program that was asked to save may have saved nothing, and PBS gives each run the whole walltime.
        end_s = start_s + job.longest_s
    return Run(
        job_id,
        job,
        start_s,
        allocation,
        end_s,
        exiting=texts.get("job_state", "") == "E",
        subjob=index_of(job_id),
    )


def _read_request(texts: Attributes, context: JobContext, unread: list[str]) -> Request:
    """The job's chunks: those before it was cut for a stripe, else with the defaults that PBS added (``schedselect``),
    else those requested, else the plain form without ``select``."""
    own, place = texts.get(_OWN_SELECT, ""), texts.get("Resource_List.place", "")
    select = own or texts.get("schedselect", "") or texts.get("Resource_List.select", "")
    if not select:
        return _read_plain_request(texts, context.consumables, unread)
    try:
        return context.long_selects.parse(
            select, own_place(place) if own else place, context.consumables, context.sizes
        )
    except RequestError as error:
        unread.append(str(error))
        return _without_chunks(texts)


def _without_chunks(texts: Attributes) -> Request:
    """As many single cores as a job has whose chunks are not read; such a job does not start."""
    return Request.of_cores(max(1, read_whole(texts.get("Resource_List.ncpus", ""), 1)))


def _read_plain_request(texts: Mapping[str, str], consumables: frozenset[str], unread: list[str]) -> Request:
    """A job without ``select``: all that it asks for on one vnode, as PBS converts ``-l ncpus=2,mem=1gb``."""
    amounts = {"ncpus": 1}
    for attribute, text in texts.items():
        kind, _, resource = attribute.partition(".")
        if kind == "Resource_List" and resource in consumables:
            amount = parse_resource(resource, text)
            if amount is None:
                unread.append(f"{attribute} is {text!r}")
            else:
                amounts[resource] = amount
    return Request((Chunk(1, tuple(sorted((name, amount) for name, amount in amounts.items() if amount))),))


def _read_pinned(texts: Attributes, unread: list[str]) -> Allocation | None:
    """The allocation to which PBS's own checkpoint pins a waiting job: it still has its ``exec_vnode`` and runs only
    there. None for any other job."""
    vnodes = texts.get("exec_vnode", "")
    if not vnodes or texts.get("job_state", "") not in ("Q", "H", "W"):
        return None
    try:
        return parse_exec_vnode(vnodes)
    except AllocationError as error:
        unread.append(str(error))
        return None


def _request_of(allocation: Allocation, requested: Request) -> Request:
    """The allocation as a request that fits nowhere else."""
    chunks = [Chunk(spot.chunks, spot.amounts, (("vnode", spot.vnode),)) for spot in allocation.spots]
    return Request(tuple(chunks), sharing=requested.sharing)


def _read_estimate(texts: Attributes, unread: list[str]) -> float:
    """The walltime, or for a waiting shrink-to-fit job its ``max_walltime``; infinite without either."""
    text = texts.get("Resource_List.walltime", "") or texts.get("Resource_List.max_walltime", "")
    if not text:
        return UNLIMITED_S
    try:
        return read_walltime_s(text)
    except UnitError as error:
        unread.append(f"walltime {error}")
        return UNLIMITED_S


def _read_preferences(texts: Attributes, ranking: RankingSettings) -> Preferences:
    if _PREFERENCE_ATTRIBUTES.keys().isdisjoint(texts):
        return NO_PREFERENCES
    return _read_same_preferences(tuple([texts.get(attribute, "") for attribute in _PREFERENCE_ATTRIBUTES]), ranking)


@lru_cache(maxsize=8192)
def _read_same_preferences(values: tuple[str, ...], ranking: RankingSettings) -> Preferences:
    return read_preferences(dict(zip(PREFERENCES, values)), ranking)


def _unable(request: Request) -> str:
    """Why pbsteer cannot start such a job at all; empty if it can."""
    for chunk in request.chunks:
        for name, value in chunk.wants:
            if name in _ENVIRONMENTS:
                return f"it asks for {name}={value[:80]}, and pbsteer provisions no vnodes"
    return ""


def _read_block(texts: Attributes, not_before_s: float | None, mark: Mark) -> str:
    state = texts.get("job_state", "")
    if state in ("Q", "B", "R", "E"):
        return ""
    if state == "H":
        if mark.held and texts.get("Hold_Types", "") == "s":
            return f"it made room for {mark.beneficiary} and is held until that runs"
        if is_held_after_failed_starts(texts):
            return f"PBS holds it after {FAILED_STARTS}: releasing it lets it run once its host can run it"
        depend = own_dependencies(texts.get("depend", ""))
        waits_for = [f"waits for other jobs ({depend[:200]})"] if depend else []
        if depend and texts.get("Hold_Types", "n") in ("n", "s", ""):
            return f"it {waits_for[0]}"
        holders = [who for letter, who in _HOLDS.items() if letter in texts.get("Hold_Types", "")]
        held = f"it is held by {' and '.join(holders) or 'an unknown hold type'}"
        # PBS clears the start time once it has come.
        waits_for += ["has a start time that is still to come"] if not_before_s is not None else []
        return f"{held}, and {' and '.join(waits_for)}" if waits_for else f"{held}: releasing it lets it run"
    if waits_to_resume(texts):
        return "it was suspended, and goes on when PBS's scheduler finds its vnodes idle"
    if state == "W":
        return "" if not_before_s is not None else "it waits, for its files or its start time"
    return _WAITING.get(state, f"its state is {state!r}, which pbsteer does not know")
