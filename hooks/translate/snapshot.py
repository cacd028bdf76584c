"""Translates the server status into a snapshot: the one place where PBS's texts become the policy's values.

Never raises on odd data. A job that cannot be read is blocked with the reason, a vnode that cannot be read takes no
job, and for a queue with a limit that cannot be read no pass may act; each is listed among the problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from hooks.checkpoint.save_method.save_method_of_job import read_methods
from hooks.pbs.custom_resources import PLENTY
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles, read_sched_config
from hooks.pbs.job_attributes.job_ids_and_states import is_running, is_subjob, parent_of
from hooks.pbs.reservation_queue_names import is_reservation_queue
from hooks.pbs.scheduler_object_of_queue import find_scheduler
from hooks.pbs.server_status_type_and_attributes import NAME, Attributes, Objects, ServerStatus
from hooks.translate.amounts_of_dynamic_resources import with_dynamic_amounts
from hooks.translate.closures.dedicated_time import close_queue, is_dedicated, read_dedicated_time
from hooks.translate.closures.prime_time import PrimeRules, read_prime_rules
from hooks.translate.closures.reservations import read_reservations
from hooks.translate.closures.reservations_towards_quotas import find_user_reservations
from hooks.translate.host_readings_to_vnodes import read_readings
from hooks.translate.job.jobs import JobContext, read_job, read_run
from hooks.translate.job.long_selects import LongSelects
from hooks.translate.job.non_consumable_mismatch_queue_or_server import find_known
from hooks.translate.job.reserve_resources_for_suspended_jobs import (
    find_resume_needs,
    with_resume_windows,
    without_resume_needs,
)
from hooks.translate.job.running_subjob_own_attributes import Subjobs
from hooks.translate.job.runone import find_alternatives
from hooks.translate.placement_sets import read_placement_sets
from hooks.translate.queues import (
    read_consumables,
    read_measured,
    read_modes,
    read_queue,
    read_server,
    read_sizes,
    without_ample_amounts,
    without_ample_amounts_of_server,
    without_assigned_to_others,
)
from hooks.translate.site_order import read_site_orders
from hooks.translate.uncounted_resources import find_unlimited
from hooks.translate.vnodes import read_run_limits, read_vnode
from policy.model.jobs_runs_vnodes_queues import Job, Queue, Run, Server, Window
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot

_ENDED = ("F", "M", "X")
_NO_FILES: SchedFiles = MappingProxyType({})


class Translation(NamedTuple):
    """The snapshot and what was found on the way. ``modes`` has the managed queues. ``problems`` are sentences.
    ``unread`` has, by queue (empty name: for all), the first limit that could not be read or part of its scheduler's
    order that cannot be honoured. ``methods`` has, by queue, how jobs save that do not say."""

    snapshot: Snapshot
    modes: Mapping[str, str]
    problems: tuple[str, ...]
    unread: Mapping[str, str]
    methods: Mapping[str, str] = MappingProxyType({})


class Known:
    """Cache of translated jobs. If unchanged jobs are the same objects in each server status, pass the same cache to
    :func:`translate` each time: then only changed jobs are translated."""

    def __init__(self) -> None:
        self._context: object = None
        self._jobs: dict[str, tuple[Attributes, Job]] = {}

    def begin(self, context: object) -> None:
        """Begin the next server status; a changed context empties the cache."""
        if context != self._context:
            self._jobs, self._context = {}, context

    def find(self, job_id: str, texts: Attributes) -> Job | None:
        """The cached job of exactly this attributes object, or None."""
        found = self._jobs.get(job_id)
        return found[1] if found is not None and found[0] is texts else None

    def keep(self, job_id: str, texts: Attributes, job: Job) -> None:
        """Add a job to the cache, in the place of its earlier attributes."""
        self._jobs[job_id] = (texts, job)

    def forget_gone(self, jobs: Objects) -> None:
        """Drop the jobs that are not among these any more."""
        for job_id in [job_id for job_id in self._jobs if job_id not in jobs]:
            del self._jobs[job_id]


def translate(
    server_status: ServerStatus, settings: Settings, files: SchedFiles = _NO_FILES, known: Known | None = None
) -> Translation:
    """The snapshot of a server status, and what was found on the way; ``files`` have the schedulers' order and
    dedicated time."""
    known = known or Known()
    problems: list[str] = []
    unread: dict[str, str] = {}

    def report(_queue: str, sentence: str) -> None:
        problems.append(sentence)

    def report_limit(queue: str, sentence: str) -> None:
        problems.append(sentence)
        unread.setdefault(queue, sentence)

    server_status, dynamic = with_dynamic_amounts(server_status, files)
    consumables = read_consumables(server_status.resources)
    everywhere = read_consumables(server_status.resources, "nfq") | dynamic
    measured = read_measured(server_status.resources)
    modes = read_modes(server_status, settings)
    queues = [
        read_queue(name, texts, managed=name in modes, consumables=everywhere, report=report_limit)
        for name, texts in server_status.queues.items()
    ]
    server = read_server(server_status.server.get(NAME, ""), server_status.server, everywhere, report_limit)
    methods = read_methods(server_status, settings, problems.append)
    alternatives = find_alternatives(server_status.jobs, settings.submission)
    subjobs = _find_subjobs(server_status)
    # In advise it is the scheduler itself that orders jobs, by the priorities that pbsteer gives them.
    ordered = [name for name, mode in modes.items() if mode != "advise" and settings.order.by == "site"]
    orders = read_site_orders(server_status, ordered, files)
    for name, order in orders.items():
        if order.obstacle:
            report_limit(name, order.obstacle)
    queues = [replace(each, order=orders[each.name].order) if each.name in orders else each for each in queues]
    context = JobContext(
        consumables,
        read_sizes(server_status.resources),
        settings,
        LongSelects(),
        job_wide=_bound(server, queues).union(server.shared) - consumables,
        methods=methods,
        known=find_known(server_status, everywhere, files),
        measured=measured,
        licences=alternatives.licences,
        running=Counter(map(parent_of, subjobs)),
        orders={name: order.facts for name, order in orders.items()},
        sets=read_placement_sets(server_status),
        vnodes_limit_runs=any(read_run_limits(texts) is not None for texts in server_status.vnodes.values()),
    )
    waiting, runs, arrays = _read_jobs(server_status, context, known, problems)
    of_subjobs = Subjobs(lambda array_id, texts: read_job(array_id, texts, context, report))
    for job_id in subjobs:
        texts, array_id = server_status.jobs[job_id], parent_of(job_id)
        of_array = server_status.jobs.get(array_id, {})
        own = of_subjobs.read(array_id, texts, arrays.get(array_id), of_array)
        run = read_run(job_id, texts, own, server_status.time_s, report)
        if run is not None:
            runs.append(run)
    resume_needs = list(find_resume_needs(server_status))
    held = _sum_held(runs)
    reservations = read_reservations(server_status, report)
    reservations = with_resume_windows(reservations, resume_needs, server_status.time_s)
    unlimited = find_unlimited(server_status, consumables, files)
    plenty = {partition: dict.fromkeys(names, PLENTY) for partition, names in unlimited.items()}
    vnodes = [
        read_vnode(
            name, texts, consumables, held, reservations, server_status.time_s, report, measured,
            plenty[texts.get("partition", "")],
        )
        for name, texts in server_status.vnodes.items()
    ]  # fmt: skip
    queues = [without_ample_amounts(queue, vnodes, runs, consumables) for queue in queues]
    server = without_ample_amounts_of_server(replace(server, sizes=context.sizes), vnodes, consumables)
    if server.shared:
        server = without_assigned_to_others(server, server_status.server, runs)
        server = without_resume_needs(server, resume_needs, server_status.jobs)
    if alternatives.left:
        server = replace(server, shared={**server.shared, **alternatives.left})
    user_reservations = find_user_reservations(server_status, vnodes, queues)
    if user_reservations:
        server = replace(server, user_reservations=user_reservations)
    queues = _with_closures(queues, server_status, files)
    readings = read_readings(server_status.vnodes, vnodes, server_status.time_s, settings.ranking)
    problems += readings.problems
    snapshot = Snapshot.build(
        server_status.time_s, vnodes=vnodes, queues=queues, jobs=waiting, runs=runs, server=server, readings=readings.of
    )
    return Translation(snapshot, modes, tuple(problems), unread, methods)


def _read_jobs(
    server_status: ServerStatus, context: JobContext, known: Known, problems: list[str]
) -> tuple[list[Job], list[Run], dict[str, Job]]:
    """The jobs and arrays that wait, the runs of jobs, and all arrays by id. What cannot be read is added to
    ``problems``."""

    def report(_queue: str, sentence: str) -> None:
        problems.append(sentence)

    known.begin(context.lasting)
    waiting: list[Job] = []
    runs: list[Run] = []
    arrays: dict[str, Job] = {}
    for job_id, texts in _find_jobs(server_status):
        is_lasting = context.is_lasting(job_id, texts)
        job = known.find(job_id, texts) if is_lasting else None
        if job is None:
            reported = len(problems)
            job = read_job(job_id, texts, context, report)
            if is_lasting and len(problems) == reported and job_id not in context.long_selects.left_out:
                known.keep(job_id, texts, job)
        if job.subjobs is not None:
            arrays[job_id] = job
        if is_running(texts):
            run = read_run(job_id, texts, job, server_status.time_s, report)
            if run is not None:
                runs.append(run)
        elif (job.subjobs != () or job.blocked) and texts.get("job_state", "") not in _ENDED:
            waiting.append(job)
    known.forget_gone(server_status.jobs)
    return waiting, runs, arrays


def _with_closures(queues: list[Queue], server_status: ServerStatus, files: SchedFiles) -> list[Queue]:
    """The queues with the windows in which their schedulers' dedicated, prime and non-prime time closes them."""
    closed: dict[tuple[str, bool], tuple[Window, ...]] = {}
    rules: dict[str, PrimeRules] = {}
    found = []
    for queue in queues:
        scheduler = find_scheduler(server_status, queue.name) or ""
        own = files.get(scheduler, {})
        dedicated = "sched_config" in own and is_dedicated(queue.name, read_sched_config(own["sched_config"]))
        kind = (own.get("dedicated_time", ""), dedicated)
        if kind not in closed:
            closed[kind] = close_queue(read_dedicated_time(kind[0]), dedicated)
        if scheduler not in rules:
            rules[scheduler] = read_prime_rules(own)
        windows = (*closed[kind], *rules[scheduler].close_queue(queue.name, server_status.time_s))
        found.append(replace(queue, closed=windows) if windows else queue)
    return found


def _bound(server: Server, queues: list[Queue]) -> frozenset[str]:
    """The resources for which the server or a queue limits what jobs hold together."""
    of_queues = (frozenset(queue.hard.max_run_res).union(queue.quotas_by_resource()) for queue in queues)
    return frozenset(server.hard.max_run_res).union(server.quotas, *of_queues)


def _find_jobs(server_status: ServerStatus) -> Iterator[tuple[str, Attributes]]:
    """All jobs and arrays but those of reservations, which PBS schedules."""
    outside = _queues_of_reservations(server_status)
    for job_id, texts in server_status.jobs.items():
        queue = texts.get("queue", "")
        if not (queue in outside or is_reservation_queue(queue) or ("[" in job_id and is_subjob(job_id))):
            yield job_id, texts


def _find_subjobs(server_status: ServerStatus) -> list[str]:
    """The subjobs that run, but those of reservations."""
    outside = _queues_of_reservations(server_status)
    return [
        job_id
        for job_id, texts in server_status.jobs.items()
        if "[" in job_id
        and is_subjob(job_id)
        and is_running(texts)
        and not (texts.get("queue", "") in outside or is_reservation_queue(texts.get("queue", "")))
    ]


def _queues_of_reservations(server_status: ServerStatus) -> frozenset[str]:
    return frozenset(texts.get("queue", "") for texts in server_status.reservations.values())


def _sum_held(runs: list[Run]) -> dict[str, dict[str, int]]:
    held: dict[str, dict[str, int]] = {}
    for run in runs:
        for vnode, amounts, chunks, _ in run.allocation.spots:
            mine = held.setdefault(vnode, {})
            for resource, amount in amounts:
                mine[resource] = mine.get(resource, 0) + amount * chunks
    return held
