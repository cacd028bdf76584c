"""Operations on the server as a whole: pause pbsteer, with a reason, and resume it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hooks.pbs.custom_resources import PAUSED, PAUSED_ATTRIBUTE
from hooks.pbs.pause_in_server_attributes import is_stopped
from hooks.pbs.server_status_type_and_attributes import NAME, ServerStatus
from tui.backends.interface.commands_interface import ChangeError, Commands, Target, demand_supported
from tui.backends.interface.read_value_before_and_after_change import NONE
from tui.operations.by_target.mode_change_notes import not_carried_out
from tui.operations.operation_type_and_preview import SAME_PLAN, Operation
from tui.state.cluster_view import ClusterView
from tui.state.pbsteer_pause import is_paused_by_scheduling
from tui.text.screen_line import Line, safe

REASON = "paused"
"""The reason of a pause if the user gives none."""

_LONGEST = 200


def pause(cluster: ClusterView, commands: Commands, reason: str) -> Operation:
    """Pause pbsteer: from the next pass on it starts and preempts nothing, in any mode."""
    demand_supported(commands, "pause-pbsteer")
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
    return _operation(cluster, commands, "pause pbsteer", reason)


def resume(cluster: ClusterView, commands: Commands) -> Operation:
    """End a pause made by :func:`pause`."""
    demand_supported(commands, "resume-pbsteer")
    before = cluster.server_status.server.get(PAUSED_ATTRIBUTE, "")
    if not before:
        more = ""
        if is_stopped(cluster.server_status):
            more = f"; scheduling of the server is False: {_switch_on(cluster, commands)} ends that"
        raise ChangeError(f"pbsteer is not paused by name{more}")
    return _operation(cluster, commands, "resume pbsteer", "")


def _operation(cluster: ClusterView, commands: Commands, title: str, after: str) -> Operation:
    server = cluster.server_status.server
    change = commands.set_attribute(_server(cluster), server, PAUSED_ATTRIBUTE, after, NONE).titled(title)
    means = (
        f"nothing is started or preempted by pbsteer, in any mode, until it is resumed; jobs that run go on ({after})"
        if after
        else _after_resume(cluster, commands)
    )
    notes: list[Line] = [((safe(means), "warn"),)]
    if after:
        driven, preempted_in = (
            [queue for queue, mode in sorted(cluster.modes.items()) if mode in modes]
            for modes in (("drive",), ("drive", "advise"))
        )
        notes += not_carried_out(cluster, driven, preempted_in)
    edit = partial(_edited, after=after)
    return Operation(title, (change,), edit, notes=tuple(notes), unaffected=SAME_PLAN)


def _after_resume(cluster: ClusterView, commands: Commands) -> str:
    """What the next pass does once the pause with a reason is over."""
    stays = is_paused_by_scheduling(cluster)
    goes_on = "the next pass starts and preempts again, as the modes say"
    if stays is False:
        return goes_on
    ends_it = f"{_switch_on(cluster, commands)} ends that pause"
    if stays:
        return f"pbsteer stays paused: an administrator has set scheduling of the server to False; {ends_it}"
    return f"{goes_on}, unless an administrator has set scheduling of the server to False, as it is now; {ends_it}"


def _switch_on(cluster: ClusterView, commands: Commands) -> str:
    """The command that ends a pause by the server's ``scheduling``."""
    return commands.set_attribute(_server(cluster), cluster.server_status.server, "scheduling", "True", "True").line


def _server(cluster: ClusterView) -> Target:
    return Target("server", cluster.server_status.server.get(NAME, cluster.server_name))


def _edited(server_status: ServerStatus, after: str) -> ServerStatus:
    server = {name: text for name, text in server_status.server.items() if name != PAUSED_ATTRIBUTE}
    return replace(server_status, server={**server, PAUSED_ATTRIBUTE: after} if after else server)
