"""Plans the requests to victims: save first, with time over several passes, then requeue; or requeue at once.

A victim's mark records what was requested, so a pass that lost its files, or follows one that was killed, continues
from there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Callable, NamedTuple

from hooks.checkpoint.save_method.copy_queue_save_method_to_job import find_method_to_write
from hooks.checkpoint.save_method.read_save_method_job_asked_for import CHECKPOINT, REQUEUE, SAVING, SIGNAL
from hooks.checkpoint.save_method.save_method_of_job import METHOD_OF_JOB, find_method, is_about_to_run
from hooks.checkpoint.victims.runs_that_never_begin import has_nothing_to_save, may_never_end
from hooks.pbs.client.pbs_ifl_client import HOLD
from hooks.pbs.first_host_is_up import find_first_vnode, is_there
from hooks.pbs.host_of_vnode_and_multi_host_job import has_other_hosts, host_of
from hooks.pbs.job_attributes.job_comment_format import make_comment
from hooks.pbs.job_attributes.job_ids_and_states import (
    STAGES_IN,
    index_of,
    is_running,
    is_subjob,
    parent_of,
    read_start_s,
    subjob_id,
    was_deleted,
)
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, read_marks, show_marks
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy.plan.plan_types import Preempt
from policy.settings.site_settings import CheckpointSettings, Settings

_ASKED = "it is asked to save and to make room for another job"


class VictimRequest(NamedTuple):
    """One request to a victim: ``how`` is the method; ``signal`` is the signal to send, empty for none.

    It is meant for the run that began at ``start_s`` (None while the server does not report it). ``host`` is the run's
    first host, whose MoM answers for it. ``is_first``: this run has not been asked before.
    """

    id: str
    how: str
    signal: str = ""
    start_s: float | None = None
    host: str = ""
    is_first: bool = True


class Asking(NamedTuple):
    """What a pass requests of its victims.

    ``marks`` are written first, by job or array. ``holds`` and ``comments`` go into the same request: so no job is ever
    held without a mark that says for which beneficiary. ``comments`` are for jobs that have none: PBS records a
    deletion in a job's comment, but only by appending to one. ``patient`` are the victims that get no request in this
    pass:

    - an earlier pass asked them to save, and they have time left;
    - their first host is not up, or its copy of the hook that judges their end is not on yet;
    - they cannot be checkpointed yet, or a manager holds them and only a checkpoint could save them;
    - the server does not know when they started;
    - a user has deleted them.
    """

    marks: Mapping[str, str]
    requests: tuple[VictimRequest, ...]
    patient: tuple[str, ...] = ()
    holds: Mapping[str, str] = {}
    comments: Mapping[str, str] = {}


def plan_asking(
    victims: Iterable[Preempt],
    server_status: ServerStatus,
    settings: Settings,
    methods: Mapping[str, str],
    held: Collection[str] = (),
    is_judged_on: Callable[[str], bool] = lambda _: True,
) -> Asking:
    """The requests to send to the victims now. ``methods``: how jobs of a queue save that do not say. Victims in the
    queues ``held`` are held until their beneficiary runs. ``is_judged_on``: whether the end of a job on this host
    is judged by our hook, without which a job that saves would have ended for good."""
    marks: dict[str, dict[int | None, Mark]] = {}
    requests: list[VictimRequest] = []
    patient: list[str] = []
    holds: dict[str, str] = {}
    for victim in victims:
        texts = server_status.jobs.get(victim.id, {})
        vnode, is_deleted = find_first_vnode(texts), was_deleted(texts)
        is_ending = is_deleted and not may_never_end(texts, server_status.time_s)
        if is_ending or not is_there(server_status.vnodes.get(vnode, {})):
            patient.append(victim.id)
            continue
        host, index = host_of(vnode, server_status.vnodes), index_of(victim.id)
        marked = victim.id if index is None else parent_of(victim.id)
        known = marks.get(marked) or _current_marks(marked, server_status)
        mark, hold = known.get(index, Mark()), victim.run.job.queue in held and not is_deleted
        # A mark with a time in the future (the clock was set back) does not count.
        asked = mark.is_of_run(victim.run.start_s) and mark.asked_s <= server_status.time_s
        if asked and server_status.time_s < mark.until_s:
            patient.append(victim.id)
            if mark.beneficiary != victim.beneficiary:
                known[index] = mark._replace(beneficiary=victim.beneficiary)
                marks[marked] = known
            continue
        # A victim of an earlier preemption that was given up has run on since, and has more to save by now.
        asked = asked and victim.again
        how = REQUEUE
        # What is still being staged in has nothing to save.
        if not asked and not is_deleted and texts.get("substate", "") != STAGES_IN:
            how = _choose_method(victim, server_status, settings.checkpoint.method, methods)
            # Without a start, no later pass could tell whether this run was asked.
            is_early = read_start_s(texts) is None or (how == CHECKPOINT and is_about_to_run(texts))
            if how in SAVING and (is_early or not is_judged_on(host)):
                patient.append(victim.id)
                continue
        before = server_status.jobs.get(marked, {}).get("Hold_Types", "")
        if HOLD in before and not known.get(None, Mark()).held:
            # A manager's hold, which is not ours to release: it keeps a requeued job as ours would.
            hold = False
            if how == CHECKPOINT:
                patient.append(victim.id)
                continue
        if hold and HOLD not in before:
            holds[marked] = _add_hold(before)
            marks[marked] = known
        if not asked and (how != REQUEUE or hold):
            known[index] = _make_mark(victim, how, mark, server_status.time_s, settings.checkpoint)
            marks[marked] = known
        elif how == REQUEUE and mark.is_of_run(victim.run.start_s) and mark.then_s != mark.saved_s:
            # It has not ended by itself in its time to save, so nothing says that it has saved.
            known[index] = mark._replace(then_s=mark.saved_s)
            marks[marked] = known
        if how == CHECKPOINT or hold:
            # A victim asked to save without a hold may be requeued with one now: a hold without our mark could not be
            # recognised as ours.
            whole = known.get(None, known.get(index, Mark()))._replace(beneficiary=victim.beneficiary, held=True)
            if known.get(None) != whole:
                known[None] = whole
                marks[marked] = known
        signal = settings.checkpoint.signal if how == SIGNAL else ""
        requests.append(VictimRequest(victim.id, how, signal, read_start_s(texts), host, not asked))
    shown = {job_id: show_marks(known) for job_id, known in marks.items()}
    asked_to_save = [request.id for request in requests if request.how != REQUEUE and not is_subjob(request.id)]
    silent = [job_id for job_id in asked_to_save if not server_status.jobs[job_id].get("comment", "")]
    comments = {job_id: make_comment(_ASKED, server_status.time_s) for job_id in silent}
    return Asking(shown, tuple(requests), tuple(patient), holds, comments)


def _choose_method(victim: Preempt, server_status: ServerStatus, of_settings: str, methods: Mapping[str, str]) -> str:
    """How a victim that has not been asked yet makes room: as the job or its queue says, but by a requeue at once where
    a request to save would be lost. ``of_settings`` is the method of the settings, which each host knows too."""
    texts, now_s = server_status.jobs.get(victim.id, {}), server_status.time_s
    # Merged with the array's attributes, which apply where a subjob has none of its own.
    merged = {**server_status.jobs.get(parent_of(victim.id), {}), **texts}
    wide = has_other_hosts(texts, server_status.vnodes)
    how = find_method(victim.id, merged, methods, now_s - victim.run.start_s, wide=wide)
    if how != SIGNAL:
        return how
    if find_method_to_write(merged.get(METHOD_OF_JOB, ""), how, of_settings):
        # The queue got its method after the job had started. The host, which sees no queues, would take its end for
        # final.
        return REQUEUE
    if has_nothing_to_save(texts, now_s) and find_method(victim.id, merged, methods, 0.0) == SIGNAL:
        # A job that PBS's checkpoint has restarted looks the same, and can be signalled.
        return REQUEUE
    return how


def forget_hold(texts: Attributes) -> str:
    """The mark's text without the hold. Saved work stays recorded, and so does a request to save by signal: the job may
    end because of it after its time to save."""
    marks = read_marks(texts)
    mark = marks.get(None, Mark())
    says_more = mark.saved_s or mark.then_s or mark.how == SIGNAL
    marks[None] = mark._replace(beneficiary="", held=False) if says_more else Mark()
    return show_marks(marks)


def find_silent(server_status: ServerStatus, released: Collection[str]) -> dict[str, str]:
    """A comment for each job that was asked to save in this run and has none. PBS clears the comment when the last hold
    is released (``req_releasejob``), whoever released it, and then has nothing to append a deletion to."""
    return {
        job_id: make_comment(_ASKED, server_status.time_s)
        for job_id, texts in server_status.jobs.items()
        if MARK_KEY in texts and _may_say_nothing(texts, is_released=job_id in released)
    }


def _may_say_nothing(texts: Attributes, *, is_released: bool) -> bool:
    mark = read_marks(texts).get(None, Mark())
    is_silent = is_released or not texts.get("comment", "")
    return is_silent and mark.how == SIGNAL and mark.is_of_run(read_start_s(texts))


def _make_mark(victim: Preempt, how: str, before: Mark, now_s: float, checkpoint: CheckpointSettings) -> Mark:
    """The mark of this request. Work counts as saved up to the time of the request: when a program saves after it is
    not known."""
    saved_s = then_s = before.saved_before(victim.run.start_s)
    if how != REQUEUE and victim.run.subjob is None:
        then_s = saved_s + now_s - victim.run.start_s - checkpoint.charge_s(victim.run.job.cores)
    grace_s = checkpoint.grace_s if how != REQUEUE else 0
    return Mark(victim.beneficiary, how, int(now_s), int(now_s + grace_s), int(saved_s), int(then_s))


def _current_marks(job_id: str, server_status: ServerStatus) -> dict[int | None, Mark]:
    """The marks on a job or array, without those of subjobs that no longer run."""
    marks = read_marks(server_status.jobs.get(job_id, {}))
    return {
        index: mark
        for index, mark in marks.items()
        if index is None or is_running(server_status.jobs.get(subjob_id(job_id, index), {}))
    }


def _add_hold(holds: str) -> str:
    return "".join(sorted((set(holds) - {"n"}) | {HOLD}))
