"""How a victim lets go: asked to save first, given its time over several passes, then requeued; or requeued at once.

Which of the methods it is says the job, else its queue, else the settings. What was asked already is in the victim's
mark, so a pass that lost its files, or follows one that was killed, goes on where that was. Nothing is waited for here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from hooks.checkpoint.method import CHECKPOINT, REQUEUE, SIGNAL, find_untold
from hooks.checkpoint.save_method import _WISH, _is_about_to_run, find_method, read_methods
from hooks.pbs.client import HOLD
from hooks.pbs.first_host import find_first_vnode, has_other_hosts, host_of, is_there
from hooks.pbs.job_comment import make_comment
from hooks.pbs.job_ids import index_of, is_running, is_subjob, parent_of, read_start_s, was_deleted
from hooks.pbs.job_mark import MARK_KEY, Mark, read_marks, show_marks
from hooks.pbs.status import Attributes, Picture
from policy.plan.plan import Preempt
from policy.settings.site_settings import CheckpointSettings, Settings

_ASKED = "it is asked to save and to make room for another job"


class LetGo(NamedTuple):
    """One thing to ask of a victim: ``how`` is one of the methods; ``signal`` is what to send, empty for none.

    Meant is the run that began at ``start_s`` (None where the server has not told yet), first of all on ``host``, whose
    MoM answers for it.
    """

    id: str
    how: str
    signal: str = ""
    start_s: float | None = None
    host: str = ""


class Asking(NamedTuple):
    """What a pass asks of its victims. ``marks`` are to be written first, by job or array, in one request with
    ``holds``, where these have some: there is no moment at which one is held and nothing tells by whom; and with
    ``comments``, for those that have none: PBS tells in a job's comment that somebody has deleted it, but only adds to
    one. ``patient`` are the victims that were asked by an earlier pass and have time left, or cannot be asked, as their
    first host is not there yet, or they are ending for somebody who deleted them."""

    marks: Mapping[str, str]
    requests: tuple[LetGo, ...]
    patient: tuple[str, ...] = ()
    holds: Mapping[str, str] = {}
    comments: Mapping[str, str] = {}


def plan_asking(victims: Iterable[Preempt], picture: Picture, settings: Settings, held: Collection[str] = ()) -> Asking:
    """What to ask of each victim now. Those in the queues ``held`` are held until their beneficiary runs."""
    methods = read_methods(picture, settings, lambda _: None)
    marks: dict[str, dict[int | None, Mark]] = {}
    requests: list[LetGo] = []
    patient: list[str] = []
    holds: dict[str, str] = {}
    for victim in victims:
        texts = picture.jobs.get(victim.id, {})
        vnode = find_first_vnode(texts)
        if was_deleted(texts) or not is_there(picture.vnodes.get(vnode, {})):
            patient.append(victim.id)
            continue
        index = index_of(victim.id)
        marked = victim.id if index is None else parent_of(victim.id)
        known = marks.get(marked) or _current_marks(marked, picture)
        mark, hold = known.get(index, Mark()), victim.run.job.queue in held
        # A mark of the future, where the clock was set back, is nobody's.
        asked = mark.is_of_run(victim.run.start_s) and mark.asked_s <= picture.time_s
        if asked and picture.time_s < mark.until_s:
            patient.append(victim.id)
            if mark.beneficiary != victim.beneficiary:
                known[index] = mark._replace(beneficiary=victim.beneficiary)
                marks[marked] = known
            continue
        # Who was asked for a preemption that was given up, and ran on, has more to save by now.
        asked = asked and victim.again
        how = REQUEUE
        if not asked:
            # With the array's, which is what settles where a subjob says nothing of its own.
            told = {**picture.jobs.get(marked, {}), **texts}
            wide = has_other_hosts(texts, picture.vnodes)
            how = find_method(victim.id, told, methods, picture.time_s - victim.run.start_s, wide=wide)
            if how == SIGNAL and find_untold(told.get(_WISH, ""), how, settings.checkpoint.method):
                # Its queue said so after it had started, and its host, which sees no queue, would take it for done.
                how = REQUEUE
            if how == CHECKPOINT and _is_about_to_run(texts):
                patient.append(victim.id)
                continue
        before = picture.jobs.get(marked, {}).get("Hold_Types", "")
        if hold and HOLD not in before:
            holds[marked] = _add_hold(before)
            marks[marked] = known
        if not asked and (how != REQUEUE or hold):
            known[index] = _make_mark(victim, how, mark, picture.time_s, settings.checkpoint)
            marks[marked] = known
        if how == CHECKPOINT or hold:
            # Whoever was asked while nobody is held may go when victims are: a hold that no mark tells of is nobody's.
            whole = known.get(None, known.get(index, Mark()))._replace(beneficiary=victim.beneficiary, held=True)
            if known.get(None) != whole:
                known[None] = whole
                marks[marked] = known
        signal, host = settings.checkpoint.signal if how == SIGNAL else "", host_of(vnode, picture.vnodes)
        requests.append(LetGo(victim.id, how, signal, read_start_s(texts), host))
    shown = {job_id: show_marks(known) for job_id, known in marks.items()}
    asked_to_save = [request.id for request in requests if request.how != REQUEUE and not is_subjob(request.id)]
    silent = [job_id for job_id in asked_to_save if not picture.jobs[job_id].get("comment", "")]
    comments = {job_id: make_comment(_ASKED, picture.time_s) for job_id in silent}
    return Asking(shown, tuple(requests), tuple(patient), holds, comments)


def forget_hold(texts: Attributes) -> str:
    """A mark's text without what it says of a hold; what was saved stays, and that it was asked to save: it may end of
    that later than it was given time."""
    marks = read_marks(texts)
    mark = marks.get(None, Mark())
    says_more = mark.saved_s or mark.then_s or mark.how == SIGNAL
    marks[None] = mark._replace(beneficiary="", held=False) if says_more else Mark()
    return show_marks(marks)


def find_silent(picture: Picture, released: Collection[str]) -> dict[str, str]:
    """A comment for each job that was asked to save in this run and has none: PBS takes it away with the last hold
    (``req_releasejob``), whoever released the job, and then has nothing to add to when somebody deletes it."""
    return {
        job_id: make_comment(_ASKED, picture.time_s)
        for job_id, texts in picture.jobs.items()
        if MARK_KEY in texts and _may_say_nothing(texts, is_released=job_id in released)
    }


def _may_say_nothing(texts: Attributes, *, is_released: bool) -> bool:
    mark = read_marks(texts).get(None, Mark())
    is_silent = is_released or not texts.get("comment", "")
    return is_silent and mark.how == SIGNAL and mark.is_of_run(read_start_s(texts))


def _make_mark(victim: Preempt, how: str, before: Mark, now_s: float, checkpoint: CheckpointSettings) -> Mark:
    """What is asked now. Saved counts up to the moment of asking: when a program saves after it, nobody knows."""
    saved_s = then_s = before.saved_before(victim.run.start_s)
    if how != REQUEUE and victim.run.subjob is None:
        then_s = saved_s + now_s - victim.run.start_s - checkpoint.charge_s(victim.run.job.cores)
    grace_s = checkpoint.grace_s if how != REQUEUE else 0
    return Mark(victim.beneficiary, how, int(now_s), int(now_s + grace_s), int(saved_s), int(then_s))


def _current_marks(job_id: str, picture: Picture) -> dict[int | None, Mark]:
    """The marks on a job or array, those of subjobs that run no longer left out."""
    marks = read_marks(picture.jobs.get(job_id, {}))
    return {
        index: mark
        for index, mark in marks.items()
        if index is None or is_running(picture.jobs.get(job_id.replace("[]", f"[{index}]", 1), {}))
    }


def _add_hold(holds: str) -> str:
    return "".join(sorted((set(holds) - {"n"}) | {HOLD}))
