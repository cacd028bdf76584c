"""Operations on vnodes: set them offline, clear that, drain them with or without requeueing their jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.pbs_units import show_count
from tui.backends.interface.commands_interface import Change, ChangeError, Commands
from tui.backends.interface.read_value_before_and_after_change import IN_USE, OFFLINE, Offline
from tui.operations.by_target.drain_plan import (
    BEFORE,
    booking_lines,
    comment_before,
    drain_comment,
    drain_lines,
    offline_comment,
    plan_drain,
    stay_lines,
)
from tui.operations.by_target.job_ops import requeue_change
from tui.operations.operation_type_and_preview import Operation, changes_to, name_targets
from tui.operations.status_edits_for_preview import requeued
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line
from tui.text.times_and_durations import day_and_time

DRAIN_WAYS = ("wait", "requeue")


def offline(
    cluster: ClusterView, commands: Commands, names: Sequence[str], reason: str = "", user: str = ""
) -> Operation:
    """Set vnodes offline: their jobs go on, no new job starts there. The reason is kept in the vnodes' comments."""
    if reason and (BEFORE in reason or not commands.can_quote(reason)):
        raise ChangeError(f"reason {reason!r}: allowed is printable text without both kinds of quotes")
    operation = _set_state(cluster, commands, names, "offline", OFFLINE, reason, user)
    plan = plan_drain(cluster, operation.targets)
    lasting = [stay for stay in plan.stays if stay.until_s is not None]
    lines: list[Line] = []
    if plan.stays:
        last = lasting[-1].until_s if len(lasting) == len(plan.stays) else None
        end = "some have no estimate" if last is None else f"the last ends {day_and_time(last, cluster.now_s)}"
        runs = "runs there and goes" if len(plan.stays) == 1 else "run there and go"
        lines.append(((f"{show_count(len(plan.stays), 'job')} {runs} on, {end}", ""),))
        lines += stay_lines(plan.stays, cluster.now_s)
    return replace(operation, notes=(*lines, *booking_lines(plan, cluster.now_s)))


def clear(cluster: ClusterView, commands: Commands, names: Sequence[str]) -> Operation:
    """Clear the offline state of vnodes; a comment that a drain replaced is restored."""
    return _set_state(cluster, commands, names, "clear", IN_USE)


def _set_state(
    cluster: ClusterView,
    commands: Commands,
    names: Sequence[str],
    verb: str,
    wanted: str,
    reason: str = "",
    user: str = "",
) -> Operation:
    def change(name: str) -> Change:
        texts = _vnode(cluster, name, verb)
        if Offline().of(texts) == wanted:
            is_so = f"is {OFFLINE} already" if wanted == OFFLINE else f"is not {OFFLINE}"
            raise ChangeError(f"{verb}: {name} {is_so}")
        if wanted == OFFLINE:
            comment = offline_comment(user, texts.get("comment", ""), reason) if reason else None
            if comment is not None and not commands.can_quote(comment):
                comment = offline_comment(user, "", reason)
            found = commands.set_offline(name, texts, comment)
        else:
            found = commands.set_in_use(name, texts, comment_before(texts.get("comment", "")))
        return found.titled(f"{verb} {name}")

    changes, left_out = changes_to(verb, "vnode", names, change)
    edit = partial(_with_state, names=[change.target.name for change in changes], wanted=wanted)
    return Operation(f"{verb} {name_targets(changes, 'vnode')}", changes, edit, left_out=left_out)


def drain(cluster: ClusterView, commands: Commands, names: Sequence[str], way: str, user: str) -> Operation:
    """Set vnodes offline with a comment that names the user who drains them, and requeue their jobs if ``way`` says so.
    A reason may follow in ``way``, as in ``wait fan 2 replaced``.

    The drain's comment includes the earlier one; if the manager's commands cannot quote the two, the earlier one stays
    as it is. Vnodes that are offline already stay as they are. Jobs that are not rerunnable run to their end.
    """
    way, _, reason = way.partition(" ")
    if way not in DRAIN_WAYS:
        raise ChangeError(f"drain {way!r}: allowed is {' or '.join(DRAIN_WAYS)}, and then a reason")
    if reason and (BEFORE in reason or not commands.can_quote(reason)):
        raise ChangeError(f"reason {reason!r}: allowed is printable text without both kinds of quotes")
    chosen = [name for name in dict.fromkeys(names) if _vnode(cluster, name, "drain")]
    if not chosen:
        raise ChangeError("drain: which vnode?")
    plan = plan_drain(cluster, chosen)
    changes = []
    for name in chosen:
        texts = cluster.server_status.vnodes[name]
        if Offline().of(texts) != OFFLINE:
            comment = drain_comment(user, texts.get("comment", ""), reason)
            quoted = comment if commands.can_quote(comment) else drain_comment(user, "", reason) if reason else None
            changes.append(commands.set_offline(name, texts, quoted).titled(f"drain {name}"))
    jobs = [stay.job for stay in plan.stays if stay.rerunable] if way == "requeue" else []
    changes += [requeue_change(cluster, commands, job) for job in jobs]
    if not changes:
        raise ChangeError(f"drain: {name_vnodes(chosen)} is offline already, and there is nothing to requeue")
    edit = partial(_drained, names=chosen, jobs=jobs)
    title = f"drain {chosen[0] if len(chosen) == 1 else f'{len(chosen):,} vnodes'}"
    title += f", requeue {show_count(len(jobs), 'job')}" if jobs else ""
    notes = tuple(drain_lines(plan, cluster.now_s, jobs))
    return Operation(title, tuple(changes), edit, ends_work=bool(jobs), notes=notes)


def name_vnodes(names: Sequence[str]) -> str:
    """The name of a single vnode, or the number of vnodes."""
    return names[0] if len(names) == 1 else f"each of {len(names):,} vnodes"


def _drained(server_status: ServerStatus, names: Sequence[str], jobs: Sequence[str]) -> ServerStatus:
    return _with_state(requeued(server_status, jobs), names, OFFLINE)


def _with_state(server_status: ServerStatus, names: Sequence[str], wanted: str) -> ServerStatus:
    """The vnodes offline or not; other states, such as down, stay."""
    changed = dict(server_status.vnodes)
    for name in names:
        states = [state for state in changed[name].get("state", "").split(",") if state not in ("", "free", "offline")]
        states += ["offline"] if wanted == OFFLINE else []
        changed[name] = {**changed[name], "state": ",".join(states) or "free"}
    return replace(server_status, vnodes=changed)


def _vnode(cluster: ClusterView, name: str, verb: str) -> Mapping[str, str]:
    texts = cluster.server_status.vnodes.get(name)
    if texts is None:
        raise ChangeError(f"{verb}: there is no vnode {name!r}")
    return texts
