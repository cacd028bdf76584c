"""Carries out a plan within a time budget, queue by queue as the permissions allow: victims requeued, jobs started,
reasons written into comments.

A request that the server refuses is recorded and the rest goes on; what does not fit into the budget is left to the
next pass, which decides anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Callable, NamedTuple

from hooks.act.job_comments_to_write import find_comments
from hooks.act.start_jobs import CHECKED_TOGETHER, Starter
from hooks.checkpoint.save_method.read_save_method_job_asked_for import REQUEUE
from hooks.checkpoint.victims.held_victims_to_release import find_hold_comments, find_to_release
from hooks.checkpoint.victims.plan_victim_requests import VictimRequest, find_silent, forget_hold, plan_asking
from hooks.checkpoint.victims.victim_requests_in_parallel import VictimRequests
from hooks.checkpoint.victims.withdraw_save_requests import find_withdrawn
from hooks.pbs.client.pbs_ifl_client import HOLD, Connection, IflError
from hooks.pbs.client.requests_within_time_budget import Budget, Requests
from hooks.pbs.job_attributes.job_ids_and_states import parent_of
from hooks.pbs.job_attributes.victim_mark import MARK_KEY
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.ledger_between_passes import Earmark
from policy.plan.plan_types import Plan, Preempt, Start
from policy.settings.site_settings import Settings

_Written = Mapping[str, Mapping[str, str]]
"""The attributes that a pass has written, by job or array."""


class Permissions(NamedTuple):
    """The queues in which a plan is carried out: ``start`` (starts, and the comments of waiting jobs) and ``preempt``.

    No job is preempted for a beneficiary in ``not_for``, and none in ``not_again`` is started. In the queues
    ``kept_back`` by a pause only comments are written; ``pause`` is how these name it.
    """

    start: frozenset[str] = frozenset()
    preempt: frozenset[str] = frozenset()
    not_for: frozenset[str] = frozenset()
    not_again: frozenset[str] = frozenset()
    kept_back: frozenset[str] = frozenset()
    pause: str = ""


class Outcome(NamedTuple):
    """What came of a plan.

    ``asked``: victims that were asked to save; ``preempted``: the victims among these and the requeued that no earlier
    pass had asked; ``withdrawn``: victims whose request was withdrawn, with the reasons; ``released``: victims that are
    held no longer; ``refused``: jobs that the server did not start; ``failures``: sentences; ``put_off``: the number of
    requests left to a later pass, mostly for lack of time; ``unstarted``: the starts among these; ``not_requeued``:
    victims whose requeue the server refused.
    """

    started: Sequence[str] = ()
    requeued: Sequence[str] = ()
    comments: int = 0
    failures: Sequence[str] = ()
    put_off: int = 0
    asked: Sequence[str] = ()
    released: Sequence[str] = ()
    refused: Sequence[str] = ()
    withdrawn: Mapping[str, str] = {}
    unstarted: Sequence[str] = ()
    preempted: Sequence[str] = ()
    not_requeued: Sequence[str] = ()

    @property
    def did_something(self) -> bool:
        """Whether there is an effect or a failure to journal."""
        return bool(self.started or self.requeued or self.failures or self.asked or self.released or self.withdrawn)


def apply_plan(
    plan: Plan,
    server_status: ServerStatus,
    permissions: Permissions,
    settings: Settings,
    methods: Mapping[str, str],
    *,
    pbs_ifl: Any,
    connection: Connection,
    budget: Budget,
    release: Callable[[], None],
    digests: Mapping[str, str] = MappingProxyType({}),
    is_judged_on: Callable[[str], bool] = lambda _: True,
) -> Outcome:
    """Carry the plan out as far as ``permissions`` go: victims first, since they take longest to end, comments last.

    Where PBS's scheduler starts the jobs, victims are held until their beneficiary runs. In every queue, victims whose
    beneficiary no longer needs them are released. ``methods``: how jobs of a queue save that do not say. ``release`` is
    called in each child process made here and drops what the child must not keep. ``digests``: what each start was
    decided on, where the pass itself compares it just before. ``is_judged_on``: whether the end of a job on
    this host is judged by our hook.
    """
    attempts = Requests()
    failures = attempts.failures
    withdrawn, written = _withdraw(connection, plan, server_status, permissions.preempt, attempts)
    server_status = _with_written(server_status, written)
    written = _release(connection, server_status, plan.ledger.earmarks, permissions.preempt, settings, attempts)
    server_status, released = _with_written(server_status, written), list(written)
    # Where pbsteer starts the jobs, the comment of a held one has its reason, which says the same.
    advised = permissions.preempt - permissions.start
    comments_of_held = find_hold_comments(server_status, released, advised, settings.quota.give_up_s)
    for job_id, comment in {**find_silent(server_status, released), **comments_of_held}.items():
        attempts.run(partial(connection.set_comment, job_id, comment))
    if not permissions.start and not permissions.preempt and not permissions.kept_back:
        return Outcome(failures=tuple(failures), released=tuple(released), withdrawn=withdrawn)
    requests = _ask(connection, plan, server_status, permissions, settings, methods, attempts, is_judged_on)
    victim_requests = VictimRequests(pbs_ifl, requests, release) if requests else None
    starter = Starter(connection, server_status, plan.started.cluster(), digests)
    starts = _start(starter, plan.starts, permissions, budget, attempts)
    not_started = _find_refused(starter, failures)
    waiting = find_comments(plan, server_status, permissions.start | permissions.kept_back, settings, permissions.pause)
    comments, is_cut_short = _comment(connection, waiting, budget, attempts)
    unasked: set[str] = set()
    not_requeued: list[str] = []
    if victim_requests is not None:
        victim_requests.wait(budget.left_s())
        unasked = victim_requests.failures.keys() | victim_requests.skipped
        failures += victim_requests.failures.values()
        not_requeued = sorted(victim_requests.not_requeued)
    done = [request for request in requests if request.id not in unasked]
    return Outcome(
        [job_id for job_id in starts.started if job_id not in not_started],
        [request.id for request in done if request.how == REQUEUE],
        comments,
        failures,
        starts.not_again + is_cut_short + len(starts.unstarted),
        [request.id for request in done if request.how != REQUEUE],
        released,
        [*starts.refused, *not_started],
        withdrawn,
        starts.unstarted,
        [request.id for request in done if request.is_first],
        not_requeued,
    )


class _Starts(NamedTuple):
    """Ids of starts: sent, refused by the server, and without time left; ``not_again`` counts those put off since an
    earlier pass had sent them."""

    started: list[str]
    refused: list[str]
    unstarted: list[str]
    not_again: int


def _start(
    starter: Starter, planned: Iterable[Start], permissions: Permissions, budget: Budget, attempts: Requests
) -> _Starts:
    """Send the plan's starts in the queues that pbsteer may start in, while there is time."""
    started: list[str] = []
    refused: list[str] = []
    unstarted: list[str] = []
    permitted = [start for start in planned if start.job.queue in permissions.start]
    due = [start for start in permitted if start.id not in permissions.not_again]
    altered: dict[str, str] = {}
    for position, start in enumerate(due):
        if budget.left_s() <= 0:
            unstarted = [each.id for each in due[position:]]
            break
        if position % CHECKED_TOGETHER == 0:
            altered = starter.find_altered(due[position : position + CHECKED_TOGETHER])
            attempts.failures += dict.fromkeys(altered.values())
        may_start = start.id not in altered and attempts.run(partial(starter.start, start))
        (started if may_start else refused).append(start.id)
    return _Starts(started, refused, unstarted, len(permitted) - len(due))


def _comment(
    connection: Connection, comments: Iterable[tuple[str, str]], budget: Budget, attempts: Requests
) -> tuple[int, bool]:
    """Write the comments while there is time; returns how many were written, and whether some were left out."""
    written = 0
    for job_id, comment in comments:
        if budget.left_s() <= 0:
            return written, True
        written += attempts.run(partial(connection.set_comment, job_id, comment))
    return written, False


def _withdraw(
    connection: Connection, plan: Plan, server_status: ServerStatus, queues: Collection[str], attempts: Requests
) -> tuple[dict[str, str], _Written]:
    """Withdraw requests to save that serve no preemption any more; returns the reasons, by job and subjob, and what was
    written."""
    withdrawn: dict[str, str] = {}
    written: dict[str, dict[str, str]] = {}
    victims = {preempt.id for preempt in plan.preempts}
    for hold in plan.ledger.earmarks.values():
        victims.update(hold.victims)
    for job_id, (text, reasons) in find_withdrawn(server_status, victims, queues).items():
        if attempts.run(partial(connection.set_mark, job_id, text)):
            withdrawn.update(reasons)
            written[job_id] = {MARK_KEY: text}
    return withdrawn, written


def _release(
    connection: Connection,
    server_status: ServerStatus,
    holds: Mapping[str, Earmark],
    queues: Collection[str],
    settings: Settings,
    attempts: Requests,
) -> _Written:
    """Release victims whose beneficiary no longer needs them; returns what was written. Drop the PBS hold before the
    mark: a hold without our mark could not be recognised as ours."""
    written = {}
    for job_id, _why in find_to_release(server_status, holds, queues, settings.quota.give_up_s):
        if not attempts.run(partial(connection.release, job_id)):
            continue
        texts = server_status.jobs[job_id]
        mark = forget_hold(texts)
        if attempts.run(partial(connection.set_mark, job_id, mark)):
            left = texts.get("Hold_Types", "").replace(HOLD, "") or "n"
            written[job_id] = {MARK_KEY: mark, "Hold_Types": left}
    return written


def _with_written(server_status: ServerStatus, written: _Written) -> ServerStatus:
    """The status with what the pass has just written on jobs: what it writes next starts from that."""
    if not written:
        return server_status
    changed = {job_id: {**server_status.jobs[job_id], **texts} for job_id, texts in written.items()}
    return replace(server_status, jobs={**server_status.jobs, **changed})


def _find_held_otherwise(
    connection: Connection, holds: Mapping[str, str], server_status: ServerStatus, attempts: Requests
) -> Collection[str]:
    """The jobs to be held whose holds have changed since the pass read them, or cannot be read. PBS writes holds as a
    whole, so a user's own hold would be lost, or one that is released already would come again."""
    if not holds:
        return ()
    now: dict[str, dict[str, str]] = attempts.read(partial(connection.read_these_jobs, [*holds], ("Hold_Types",)), {})
    return {
        job_id
        for job_id in holds
        if job_id not in now or now[job_id].get("Hold_Types", "n") != server_status.jobs[job_id].get("Hold_Types", "n")
    }


def _find_refused(starter: Starter, failures: list[str]) -> Collection[str]:
    """The jobs that the server did not start; the reasons, where known, go to ``failures``."""
    try:
        refused = starter.find_refused()
    except IflError as error:
        failures.append(str(error))
        return ()
    failures += refused.values()
    return refused.keys()


def _ask(
    connection: Connection,
    plan: Plan,
    server_status: ServerStatus,
    permissions: Permissions,
    settings: Settings,
    methods: Mapping[str, str],
    attempts: Requests,
    is_judged_on: Callable[[str], bool],
) -> list[VictimRequest]:
    """The requests to those victims whose marks could be written: without a mark the next pass would not know of the
    request. Victims that others hold or release meanwhile are left to the next pass."""
    victims = [preempt for preempt in plan.preempts if _may_preempt(preempt, server_status, permissions)]
    held = permissions.preempt - permissions.start
    asking = plan_asking(victims, server_status, settings, methods, held, is_judged_on)
    held_otherwise = _find_held_otherwise(connection, asking.holds, server_status, attempts)
    unmarked = {
        job_id
        for job_id, text in asking.marks.items()
        if job_id in held_otherwise
        or not attempts.run(
            partial(connection.set_mark, job_id, text, asking.holds.get(job_id, ""), asking.comments.get(job_id, ""))
        )
    }
    return [request for request in asking.requests if not unmarked & {request.id, parent_of(request.id)}]


def _may_preempt(preempt: Preempt, server_status: ServerStatus, permissions: Permissions) -> bool:
    """Whether both the victim's and the beneficiary's queue permit preemption, and the beneficiary is not in
    ``not_for``."""
    beneficiary = server_status.jobs.get(
        preempt.beneficiary, server_status.jobs.get(parent_of(preempt.beneficiary), {})
    )
    if preempt.beneficiary in permissions.not_for:
        return False
    return preempt.run.job.queue in permissions.preempt and beneficiary.get("queue", "") in permissions.preempt
