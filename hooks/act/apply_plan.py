"""A plan carried out: victims requeued, jobs started, reasons written into comments, within a budget of time.

Only what the caller's powers allow, queue by queue. Each request stands alone: one that the server refuses is recorded,
and the rest goes on. What the budget leaves undone is not forgotten, since the next pass decides anew on what it finds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Callable, NamedTuple

from hooks.act.job_comments import find_comments
from hooks.act.start_jobs import Starter
from hooks.checkpoint.ask_in_parallel import Departures
from hooks.checkpoint.ask_to_save import LetGo, find_silent, forget_hold, plan_asking
from hooks.checkpoint.method import REQUEUE
from hooks.checkpoint.victim_holds import find_to_release
from hooks.checkpoint.withdrawn_requests import find_withdrawn
from hooks.pbs.client import Connection, IflError
from hooks.pbs.job_ids import parent_of
from hooks.pbs.requests import Budget
from hooks.pbs.status import Picture
from policy.model.ledger import Hold
from policy.plan.plan import Plan, Preempt
from policy.settings.site_settings import Settings


class Powers(NamedTuple):
    """What of a plan is carried out in which queues: starts, with the reasons of those that wait, and preemptions.
    Nobody is preempted for one of ``not_for``, and none of ``not_again`` is started. In the queues ``kept_back`` by a
    pause nothing is done but to tell those that wait, and of what: ``pause``."""

    start: frozenset[str] = frozenset()
    preempt: frozenset[str] = frozenset()
    not_for: frozenset[str] = frozenset()
    not_again: frozenset[str] = frozenset()
    kept_back: frozenset[str] = frozenset()
    pause: str = ""


class Effects(NamedTuple):
    """What came of a plan. ``asked`` are victims that were asked to save, ``withdrawn`` those of which that was taken
    back, with the reasons, ``released`` those that are held no longer, ``refused`` jobs that the server did not start;
    ``failures`` are sentences; ``put_off`` counts what is left to a later pass, mostly for want of time, ``unstarted``
    are the jobs among it that were to start."""

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

    @property
    def did_something(self) -> bool:
        """Whether anything came of it that somebody may want to read of later."""
        return bool(self.started or self.requeued or self.failures or self.asked or self.released or self.withdrawn)


def carry_out(
    plan: Plan,
    picture: Picture,
    powers: Powers,
    settings: Settings,
    *,
    pbs_ifl: Any,
    connection: Connection,
    budget: Budget,
    release: Callable[[], None],
) -> Effects:
    """Carry the plan out as far as ``powers`` go: victims first, since letting go takes them longest, comments last.

    Where somebody else starts the jobs, victims are held until their beneficiary runs. Whoever is held for nobody any
    more is let go, in every queue. ``release`` is what a child process made here has to let go of.
    """
    failures: list[str] = []
    withdrawn = _withdraw(connection, plan, picture, powers.preempt, failures)
    released = _release(connection, picture, plan.ledger.holds, powers.preempt, settings, failures)
    for job_id, comment in find_silent(picture, released).items():
        _attempt(partial(connection.set_comment, job_id, comment), failures)
    if not powers.start and not powers.preempt and not powers.kept_back:
        return Effects(failures=tuple(failures), released=tuple(released), withdrawn=withdrawn)
    put_off = 0
    requests = _ask(connection, plan, picture, powers, settings, failures)
    departures = Departures(pbs_ifl, requests, release) if requests else None
    started: list[str] = []
    refused: list[str] = []
    unstarted: list[str] = []
    starter = Starter(connection, picture, plan.started.world())
    for start in plan.starts:
        if start.job.queue not in powers.start:
            continue
        if start.id in powers.not_again:
            put_off += 1
            continue
        if budget.left_s() <= 0:
            unstarted.append(start.id)
            continue
        try:
            starter.start(start)
            started.append(start.id)
        except IflError as error:
            refused.append(start.id)
            failures.append(str(error))
    not_started = _find_refused(starter, failures)
    comments = 0
    for job_id, comment in find_comments(plan, picture, powers.start | powers.kept_back, settings, powers.pause):
        if budget.left_s() <= 0:
            put_off += 1
            break
        try:
            connection.set_comment(job_id, comment)
            comments += 1
        except IflError as error:
            failures.append(str(error))
    unasked: set[str] = set()
    if departures is not None:
        departures.wait(budget.left_s())
        unasked = departures.failures.keys() | departures.let_alone
        failures += departures.failures.values()
    done = [request for request in requests if request.id not in unasked]
    return Effects(
        [job_id for job_id in started if job_id not in not_started],
        [request.id for request in done if request.how == REQUEUE],
        comments,
        failures,
        put_off + len(unstarted),
        [request.id for request in done if request.how != REQUEUE],
        released,
        [*refused, *not_started],
        withdrawn,
        unstarted,
    )


def _withdraw(
    connection: Connection, plan: Plan, picture: Picture, queues: Collection[str], failures: list[str]
) -> dict[str, str]:
    """Withdraw requests to save that serve no preemption any more; the reasons, by job and subjob."""
    withdrawn: dict[str, str] = {}
    victims = {preempt.id for preempt in plan.preempts}
    for hold in plan.ledger.holds.values():
        victims.update(hold.victims)
    for job_id, (text, reasons) in find_withdrawn(picture, victims, queues).items():
        if _attempt(partial(connection.set_mark, job_id, text), failures):
            withdrawn.update(reasons)
    return withdrawn


def _release(
    connection: Connection,
    picture: Picture,
    holds: Mapping[str, Hold],
    queues: Collection[str],
    settings: Settings,
    failures: list[str],
) -> list[str]:
    """Let go whoever is held for nobody; the hold first, since one without a mark would be nobody's."""
    released = []
    for job_id, _why in find_to_release(picture, holds, queues, settings.quota.give_up_s):
        let_go = _attempt(partial(connection.release, job_id), failures)
        if let_go and _attempt(partial(connection.set_mark, job_id, forget_hold(picture.jobs[job_id])), failures):
            released.append(job_id)
    return released


def _find_refused(starter: Starter, failures: list[str]) -> Collection[str]:
    """The jobs that the server did not start; what is known of why goes to the failures."""
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
    picture: Picture,
    powers: Powers,
    settings: Settings,
    failures: list[str],
) -> list[LetGo]:
    """The requests for the victims whose marks could be written: nobody is asked whom the next pass cannot know of."""
    victims = [preempt for preempt in plan.preempts if _may_preempt(preempt, picture, powers)]
    asking = plan_asking(victims, picture, settings, powers.preempt - powers.start)
    unmarked = {
        job_id
        for job_id, text in asking.marks.items()
        if not _attempt(
            partial(connection.set_mark, job_id, text, asking.holds.get(job_id, ""), asking.comments.get(job_id, "")),
            failures,
        )
    }
    return [request for request in asking.requests if not unmarked & {request.id, parent_of(request.id)}]


def _attempt(request: Callable[[], None], failures: list[str]) -> bool:
    """Whether the server did it; what it said against it goes to the failures."""
    try:
        request()
    except IflError as error:
        failures.append(str(error))
        return False
    return True


def _may_preempt(preempt: Preempt, picture: Picture, powers: Powers) -> bool:
    """Whether both the victim's and the beneficiary's queue are ours to preempt in."""
    beneficiary = picture.jobs.get(preempt.beneficiary, picture.jobs.get(parent_of(preempt.beneficiary), {}))
    if preempt.beneficiary in powers.not_for:
        return False
    return preempt.run.job.queue in powers.preempt and beneficiary.get("queue", "") in powers.preempt
