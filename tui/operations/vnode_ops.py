"""Operations on vnodes: set them offline, clear that, drain them with or without requeueing their jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from hooks.pbs.raw_server_status import ServerStatus
from policy.model.pbs_units import show_count
from tui.backends.commands_interface import Change, ChangeError, Commands
from tui.backends.readback import IN_USE, OFFLINE, Offline
from tui.operations.drain_plan import comment_before, drain_comment, drain_lines, plan_drain
from tui.operations.job_ops import requeue_change
from tui.operations.operation_changes import Operation, changes_to, told_of
from tui.operations.status_edits_for_preview import requeued
from tui.state.cluster_view import ClusterView

DRAIN_WAYS = ("wait", "requeue")


def offline(cluster: ClusterView, commands: Commands, names: Sequence[str]) -> Operation:
    """Set vnodes offline: their jobs go on, no new job starts there."""
    return _set_state(cluster, commands, names, "offline", OFFLINE)


def clear(cluster: ClusterView, commands: Commands, names: Sequence[str]) -> Operation:
    """Clear the offline state of vnodes; a comment that a drain replaced is restored."""
    return _set_state(cluster, commands, names, "clear", IN_USE)


def _set_state(cluster: ClusterView, commands: Commands, names: Sequence[str], verb: str, wanted: str) -> Operation:
    def change(name: str) -> Change:
        texts = _vnode(cluster, name, verb)
        if Offline().of(texts) == wanted:
            raise ChangeError(f"{verb}: {name} is {wanted} already")
        if wanted == OFFLINE:
            found = commands.set_offline(name, texts)
        else:
            found = commands.set_in_use(name, texts, comment_before(texts.get("comment", "")))
        return found.titled(f"{verb} {name}")

    changes, left_out = changes_to(verb, "vnode", names, change)
    edit = partial(_with_state, names=[change.target.name for change in changes], wanted=wanted)
    return Operation(f"{verb} {told_of(changes, 'vnode')}", changes, edit, left_out=left_out)


def drain(cluster: ClusterView, commands: Commands, names: Sequence[str], way: str, user: str) -> Operation:
    """Set vnodes offline with a comment that names the user who drains them, and requeue their jobs if ``way`` says so.

    The drain's comment includes the earlier one; if the manager's commands cannot quote the two, the earlier one stays
    as it is. Vnodes that are offline already stay as they are. Jobs that are not rerunable run to their end.
    """
    if way not in DRAIN_WAYS:
        raise ChangeError(f"drain {way!r}: allowed is {' or '.join(DRAIN_WAYS)}")
    chosen = [name for name in dict.fromkeys(names) if _vnode(cluster, name, "drain")]
    if not chosen:
        raise ChangeError("drain: which vnode?")
    plan = plan_drain(cluster, chosen)
    changes = []
    for name in chosen:
        texts = cluster.server_status.vnodes[name]
        if Offline().of(texts) != OFFLINE:
            comment = drain_comment(user, texts.get("comment", ""))
            quoted = comment if commands.can_quote(comment) else None
            changes.append(commands.set_offline(name, texts, quoted).titled(f"drain {name}"))
    jobs = [stay.job for stay in plan.stays if stay.rerunable] if way == "requeue" else []
    changes += [requeue_change(cluster, commands, job) for job in jobs]
    if not changes:
        raise ChangeError(f"drain: {told_names(chosen)} is offline already, and there is nothing to requeue")
    edit = partial(_drained, names=chosen, jobs=jobs)
    title = f"drain {chosen[0] if len(chosen) == 1 else f'{len(chosen):,} vnodes'}"
    title += f", requeue {show_count(len(jobs), 'job')}" if jobs else ""
    return Operation(title, tuple(changes), edit, ends_work=bool(jobs), notes=tuple(drain_lines(plan, cluster.now_s)))


def told_names(names: Sequence[str]) -> str:
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
