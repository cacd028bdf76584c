"""Operations on the server as a whole: pause pbsteer, with a reason, and resume it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hooks.pbs.resources import PAUSED, PAUSED_ATTRIBUTE
from hooks.pbs.status import NAME, ServerStatus
from tui.operations.change import Change, ChangeError
from tui.operations.operation import Operation
from tui.operations.readback import NONE, Plain, Target
from tui.state.cluster_view import ClusterView
from tui.text.lines import Line, safe

REASON = "paused"
"""The reason of a pause if the user gives none."""

_LONGEST = 200


def pause(cluster: ClusterView, reason: str) -> Operation:
    """Pause pbsteer: from the next pass on it starts and preempts nothing, in any mode."""
    allowed = reason.isascii() and reason.isprintable() and not set(reason) & set("'\"\\") and reason.strip() == reason
    if not reason or len(reason) > _LONGEST or not allowed:
        raise ChangeError(
            f"reason {reason[:_LONGEST]!r}: allowed are up to {_LONGEST} printable ASCII characters, no quotes"
        )
    if PAUSED not in cluster.server_status.resources:
        raise ChangeError(f"the server has no resource {PAUSED}: pbsteer hooks apply defines it")
    before = cluster.server_status.server.get(PAUSED_ATTRIBUTE, "")
    if before == reason:
        raise ChangeError(f"pbsteer is paused already: {before}")
    return _operation(cluster, "pause pbsteer", before, reason)


def resume(cluster: ClusterView) -> Operation:
    """End a pause made by :func:`pause`."""
    before = cluster.server_status.server.get(PAUSED_ATTRIBUTE, "")
    if not before:
        more = ""
        if cluster.server_status.server.get("scheduling", "") == "False":
            more = "; scheduling of the server is False: qmgr -c 'set server scheduling = True' ends that"
        raise ChangeError(f"pbsteer is not paused by name{more}")
    return _operation(cluster, "resume pbsteer", before, "")


def _operation(cluster: ClusterView, title: str, before: str, after: str) -> Operation:
    target = Target("server", cluster.server_status.server.get(NAME, cluster.server_name))
    readback = Plain(PAUSED_ATTRIBUTE)
    change = Change(target, title, _argv(after), readback, before or NONE, after or NONE, _argv(before))
    means = (
        f"nothing is started or preempted by pbsteer, in any mode, until it is resumed; jobs that run go on ({after})"
        if after
        else "the next pass starts and preempts again, as the modes say"
    )
    notes: tuple[Line, ...] = (((safe(means), "warn"),),)
    return Operation(title, (change,), partial(_edited, after=after), notes=notes)


def _argv(reason: str) -> tuple[str, ...]:
    line = f'set server {PAUSED_ATTRIBUTE} = "{reason}"' if reason else f"unset server {PAUSED_ATTRIBUTE}"
    return ("qmgr", "-c", line)


def _edited(server_status: ServerStatus, after: str) -> ServerStatus:
    server = {name: text for name, text in server_status.server.items() if name != PAUSED_ATTRIBUTE}
    return replace(server_status, server={**server, PAUSED_ATTRIBUTE: after} if after else server)
