"""Operations on runs: another walltime, start now, suspend and resume; and a job's comment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hooks.act.start_jobs import find_exec_vnode
from hooks.pbs.job_attributes.job_ids_and_states import is_array, is_subjob
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from hooks.translate.queues import read_sizes
from hooks.translate.snapshot import translate
from policy import Job, Ledger, Reason, Settings, decide
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.pbs_units import show_job
from tui.backends.interface.commands_interface import Change, ChangeError, Commands
from tui.model.typed_attributes import RUNNING_STATES, SUSPENDED_STATES, seconds, vnodes_of
from tui.operations.by_target.look_up_named_job import job_on_server, whole_job
from tui.operations.by_target.runs_ended_by_walltime import WALLTIME, find_ended_by_walltime
from tui.operations.operation_type_and_preview import Operation, changes_to, name_targets
from tui.operations.status_edits_for_preview import edit_jobs, suspended
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import day_and_time, parse_span_s, show_hms

_LONGEST_S = 10 * 365 * 86400
_MORE = re.compile(r"([+-])(.+)")
_LIMITS = ("max_run", "max_user_run", "max_group_run", "max_user_res", "max_group_res")


def set_walltime(cluster: ClusterView, commands: Commands, ids: Sequence[str], text: str) -> Operation:
    """Give jobs another walltime: ``12:00:00``, ``2h``, or more or less than they have, ``+2h``. It ends work where a
    run has used that much already."""
    sign, span_s = _read_span(text)

    def change(job: str) -> Change:
        texts = whole_job(cluster, job, "walltime")
        before_s = seconds(texts, WALLTIME)
        if before_s is None and sign:
            raise ChangeError(f"walltime: {show_job(job)} has no walltime; {text!r} adds to one")
        after_s = int(span_s if not sign else (before_s or 0) + (span_s if sign == "+" else -span_s))
        if not 0 < after_s <= _LONGEST_S:
            raise ChangeError(f"walltime: {show_job(job)} would have {show_hms(after_s)}; allowed is up to ten years")
        found = commands.set_walltime(job, texts, after_s)
        if found.before == found.after:
            raise ChangeError(f"walltime: {show_job(job)} has {found.before} already")
        return found.titled(f"walltime of {show_job(job)} {found.before} → {found.after}")

    changes, left_out = changes_to("walltime", "job", ids, change)
    title = changes[0].title if len(changes) == 1 else f"walltime {text} for {name_targets(changes, 'job')}"
    edit = partial(_with_walltimes, changes=changes)
    ended = find_ended_by_walltime(cluster, edit(cluster.server_status), [change.target.name for change in changes])
    return Operation(
        title,
        changes,
        edit,
        ends_work=bool(ended.jobs),
        ended=ended.jobs,
        left_out=left_out,
        notes=tuple(ended.lines),
    )


def _read_span(text: str) -> tuple[str, float]:
    """The sign, empty for a whole walltime, and the seconds."""
    match = _MORE.fullmatch(text.strip())
    sign, rest = (match.group(1), match.group(2)) if match else ("", text.strip())
    try:
        return sign, parse_span_s(rest)
    except ValueError as error:
        raise ChangeError(f"walltime {error}, with + or - in front to add or to take off") from error


def _with_walltimes(server_status: ServerStatus, changes: Sequence[Change]) -> ServerStatus:
    for change in changes:
        server_status = edit_jobs(server_status, [change.target.name], {WALLTIME: change.after or ""})
    return server_status


def run_now(cluster: ClusterView, commands: Commands, ids: Sequence[str]) -> Operation:
    """Start one waiting job on what is idle now, whatever its place in line, its quota and others' reservations.

    The vnodes are those that the policy gives a job that is alone in line. It never preempts for it.
    """
    if len(ids) > 1:
        raise ChangeError(f"run: one job at a time, this has {len(ids):,}")
    where = ""

    def change(job: str) -> Change:
        nonlocal where
        texts = job_on_server(cluster, job, "run")
        if is_array(job) or is_subjob(job):
            raise ChangeError(f"run: {show_job(job)} is an array or one of its subjobs; only single jobs are started")
        if texts.get("job_state") != "Q":
            raise ChangeError(f"run: {show_job(job)} is not queued")
        status = _only_runs_and(cluster.server_status, job)
        where = _find_room(status, cluster.settings, job)
        room = _Room(status, cluster.settings, job, where)
        return replace(commands.run(job, texts, where), condition=room).titled(f"run {show_job(job)}")

    changes, left_out = changes_to("run", "job", ids, change)
    texts = {"job_state": "R", "exec_vnode": where, "stime": str(int(cluster.now_s)), "run_count": "1"}
    notes: tuple[Line, ...] = (
        (("it starts whatever its place in line, its quota and the reservations of others", "warn"),),
        ((safe(f"on {where}"), ""),),
    )
    edit = partial(edit_jobs, ids=[changes[0].target.name], texts=texts)
    return Operation(changes[0].title, changes, edit, left_out=left_out, notes=notes)


def _only_runs_and(status: ServerStatus, job: str) -> ServerStatus:
    jobs = {
        name: texts for name, texts in status.jobs.items() if name == job or texts.get("job_state") in RUNNING_STATES
    }
    return replace(status, jobs=jobs)


@dataclass(frozen=True)
class _Room:
    """The room that was found for a job is still there: the vnodes, as they are now, are read and it is found again."""

    status: ServerStatus
    settings: Settings
    job: str
    where: str

    def why_not(self, read: Callable[[str, str], Attributes | None]) -> str:
        """Other jobs may be there by now, as long as there is room beside them."""
        now = {name: read("vnode", name) for name in vnodes_of(self.where)}
        there = {name: texts for name, texts in now.items() if texts is not None}
        try:
            found = _find_room(replace(self.status, vnodes=there), self.settings, self.job)
        except ChangeError:
            found = ""
        return "" if found == self.where else f"there is no longer room for it on {self.where}"


def _find_room(status: ServerStatus, settings: Settings, job: str) -> str:
    """The ``exec_vnode`` that a pass would give the job if no other job waited, as in ``status``, and no limit held it
    back."""
    queues = {name: _without_limits(texts) for name, texts in status.queues.items()}
    alone = replace(status, queues=queues, server=_without_limits(status.server))
    # Not striped: the job keeps the chunks that it asked for.
    settings = replace(settings, stripe=replace(settings.stripe, layout="none"))
    snapshot = translate(alone, settings).snapshot
    plan = decide(snapshot, Ledger(), settings)
    start = next((start for start in plan.starts if start.id == job), None)
    if start is None:
        found = [(wait.reason, waits) for wait in plan.waits for waits in wait.jobs if waits.id == job]
        why = _what_is_missing(*found[0], status.time_s) if found else "pbsteer does not decide about its queue"
        raise ChangeError(f"run: {show_job(job)} cannot start now: {why}")
    return find_exec_vnode(start, snapshot.cluster(), read_sizes(status.resources))


def _what_is_missing(reason: Reason, job: Job, now_s: float) -> str:
    """Why a job that is alone in line has no room; that it is the first there says nothing."""
    if reason.code != "reserved":
        return reason.sentence(job, now_s)
    missing, at_s = f"it {reason.shortage(job, now_s)}", reason.number("at_s")
    if not isinstance(at_s, (int, float)) or not now_s < at_s < UNLIMITED_S:
        return missing
    room_from = day_and_time(at_s, now_s)
    return f"{missing}; by the ends of running jobs there is room from {room_from} on, if no other job takes it"


def _without_limits(texts: Attributes) -> Attributes:
    return {name: text for name, text in texts.items() if not name.startswith(_LIMITS)}


def suspend(cluster: ClusterView, commands: Commands, ids: Sequence[str]) -> Operation:
    """Suspend running jobs: they keep their memory, and PBS gives their cores to others."""

    def change(job: str) -> Change:
        texts = _run(cluster, job, "suspend")
        if texts.get("job_state") != "R":
            raise ChangeError(f"suspend: {show_job(job)} is not running")
        return commands.suspend(job, texts).titled(f"suspend {show_job(job)}")

    changes, left_out = changes_to("suspend", "job", ids, change)
    edit = partial(suspended, ids=[change.target.name for change in changes])
    return Operation(f"suspend {name_targets(changes, 'job')}", changes, edit, left_out=left_out)


def resume_jobs(cluster: ClusterView, commands: Commands, ids: Sequence[str]) -> Operation:
    """Let suspended jobs go on, as soon as the scheduler has room for them."""

    def change(job: str) -> Change:
        texts = _run(cluster, job, "resume")
        if texts.get("job_state") not in SUSPENDED_STATES:
            raise ChangeError(f"resume: {show_job(job)} is not suspended")
        return commands.resume(job, texts).titled(f"resume {show_job(job)}")

    changes, left_out = changes_to("resume", "job", ids, change)
    edit = partial(edit_jobs, ids=[change.target.name for change in changes], texts={"job_state": "R"})
    notes: tuple[Line, ...] = ((("they go on as soon as there is room for them again", ""),),)
    return Operation(f"resume {name_targets(changes, 'job')}", changes, edit, left_out=left_out, notes=notes)


def set_comment(cluster: ClusterView, commands: Commands, ids: Sequence[str], text: str) -> Operation:
    """Give jobs a comment, which their owners see."""
    if not commands.can_comment(text):
        raise ChangeError(f"comment {text!r}: allowed are printable ASCII characters, no commas, quotes, backslashes")

    def change(job: str) -> Change:
        found = commands.set_comment(job, _run(cluster, job, "comment"), text)
        if found.before == found.after:
            raise ChangeError(f"comment: {show_job(job)} has it already")
        return found.titled(f"comment on {show_job(job)}")

    changes, left_out = changes_to("comment", "job", ids, change)
    edit = partial(edit_jobs, ids=[change.target.name for change in changes], texts={"comment": text})
    title = f"comment on {name_targets(changes, 'job')}"
    return Operation(title, changes, edit, left_out=left_out, changes_decisions=False)


def _run(cluster: ClusterView, job: str, verb: str) -> Mapping[str, str]:
    """A job that is no array; a single subjob counts as a job."""
    texts = job_on_server(cluster, job, verb)
    if is_array(job):
        raise ChangeError(f"{verb}: {show_job(job)} is an array; name its subjobs (x shows them)")
    return texts
