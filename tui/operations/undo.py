"""The operation that undoes another one, with an edit for its preview.

Before an operation is made, the attributes that it is expected to change are kept with their texts, so that the preview
of its undo can put them back into the server status of that moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from tui.backends.interface.commands_interface import Change, ChangeError, Target
from tui.operations.by_target.mode_change_notes import mode_lines
from tui.operations.by_target.runs_ended_by_walltime import WALLTIME, find_ended_by_walltime
from tui.operations.by_target.stopped_queue_notes import stopped_lines
from tui.operations.operation_type_and_preview import SAME_PLAN, UNAFFECTED, Operation
from tui.operations.status_edits_for_preview import edit_queue, edit_server
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line

Kept = Mapping[Target, Attributes]
"""By target the attributes that an operation changes, with their texts before it; empty where they were not set."""


def keep_before(operation: Operation, server_status: ServerStatus) -> Kept:
    """The attributes that the operation is expected to change."""
    after = operation.edit(server_status)
    kept: dict[Target, Attributes] = {}
    for target in dict.fromkeys(change.target for change in operation.changes):
        old, new = _texts_of(server_status, target), _texts_of(after, target)
        if old is not None and new is not None:
            names = {name for name in {*old, *new} if old.get(name, "") != new.get(name, "")}
            kept[target] = {name: old.get(name, "") for name in names}
    return kept


def undo_of(cluster: ClusterView, operation: Operation, changes: Sequence[Change], kept: Kept) -> Operation:
    """The operation that takes these changes back, the last one first. Raises :class:`ChangeError` if none can be."""
    back = tuple(undo for undo in (change.undo() for change in reversed(changes)) if undo is not None)
    if not back:
        raise ChangeError(f"{operation.title} cannot be undone")
    edit = partial(_put_back, kept={change.target: kept.get(change.target, {}) for change in back})
    after = edit(cluster.server_status)
    notes: list[Line] = []
    modes = {
        change.target.name: after.queues.get(change.target.name, {}).get(MODE_ATTRIBUTE, "")
        for change in back
        if change.target.kind == "queue" and MODE_ATTRIBUTE in kept.get(change.target, {})
    }
    for mode in sorted(filter(None, modes.values())):
        notes += mode_lines(cluster, after, [queue for queue, its in modes.items() if its == mode], mode)
    notes += stopped_lines(cluster, after)
    other_walltime = [change.target.name for change in back if WALLTIME in kept.get(change.target, {})]
    ended = find_ended_by_walltime(cluster, after, other_walltime)
    notes += ended.lines
    return Operation(
        f"undo: {operation.title}",
        back,
        edit,
        ends_work=bool(ended.jobs),
        ended=ended.jobs,
        notes=tuple(notes),
        unaffected=SAME_PLAN if modes else UNAFFECTED,
        undoes=operation,
        changes_decisions=operation.changes_decisions,
    )


def _texts_of(server_status: ServerStatus, target: Target) -> Attributes | None:
    objects = {"job": server_status.jobs, "vnode": server_status.vnodes, "queue": server_status.queues}
    return server_status.server if target.kind == "server" else objects.get(target.kind, {}).get(target.name)


def _put_back(server_status: ServerStatus, kept: Kept) -> ServerStatus:
    for target, before in kept.items():
        now = _texts_of(server_status, target)
        if now is None:
            continue
        if target.kind == "server":
            server_status = edit_server(server_status, before)
        elif target.kind == "queue":
            server_status = edit_queue(server_status, target.name, before)
        elif target.kind == "vnode":
            texts = {**now, **before, "state": _state(now, before)}
            server_status = replace(server_status, vnodes={**server_status.vnodes, target.name: _filled(texts)})
        else:
            # PBS counts a job that is moved back as the last to arrive.
            moved = {"qtime": str(int(server_status.time_s))} if "queue" in before else {}
            put_back = _filled({**now, **before, **moved})
            server_status = replace(server_status, jobs={**server_status.jobs, target.name: put_back})
    return server_status


def _state(now: Attributes, before: Attributes) -> str:
    """The vnode's present states, offline or not as it was."""
    states = [state for state in now.get("state", "").split(",") if state not in ("", "offline", "free")]
    return ",".join([*states, *(["offline"] if "offline" in before.get("state", "") else [])]) or "free"


def _filled(texts: Attributes) -> Attributes:
    return {name: text for name, text in texts.items() if text}
