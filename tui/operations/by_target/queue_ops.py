"""Operations on queues: start, stop, enable, disable, and set the mode, which is what pbsteer carries out in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.settings.settings_of_server_and_passes import MODES
from tui.backends.interface.commands_interface import Change, ChangeError, Commands, Target
from tui.model.reservation_of_queue import SCHEDULER_STARTS, reservation_of
from tui.operations.by_target.mode_change_notes import find_unmet, mode_lines
from tui.operations.by_target.stopped_queue_notes import stopped_lines
from tui.operations.operation_type_and_preview import CONSOLE, SAME_PLAN, Operation, changes_to, name_targets
from tui.operations.status_edits_for_preview import edit_queue
from tui.state.cluster_view import ClusterView

SWITCHES = {
    "start": ("started", "True"),
    "stop": ("started", "False"),
    "enable": ("enabled", "True"),
    "disable": ("enabled", "False"),
}


def switch_queues(
    cluster: ClusterView, commands: Commands, queues: Sequence[str], verb: str, before_verb: str = CONSOLE
) -> Operation:
    """Start or stop queues (whether their jobs start), enable or disable them (whether they accept new jobs).
    ``before_verb``: what the user types before a verb, for the notes."""
    attribute, value = SWITCHES[verb]
    changes, left_out = _set(cluster, commands, queues, verb, attribute, value, "False")
    title = f"{verb} {'queue ' if len(changes) == 1 else ''}{name_targets(changes, 'queue')}"
    edit = _edit(changes, attribute, value)
    notes = tuple(stopped_lines(cluster, edit(cluster.server_status), before_verb))
    return Operation(title, changes, edit, left_out=left_out, notes=notes)


def set_mode(cluster: ClusterView, commands: Commands, queues: Sequence[str], mode: str) -> Operation:
    """Set the mode of queues."""
    if mode not in MODES:
        raise ChangeError(f"mode {mode!r}: allowed is {', '.join(MODES)}")
    changes, left_out = _set(cluster, commands, queues, "mode", MODE_ATTRIBUTE, mode, "")
    edit = _edit(changes, MODE_ATTRIBUTE, mode)
    names = [change.target.name for change in changes]
    after = edit(cluster.server_status)
    notes, unmet = mode_lines(cluster, after, names, mode), find_unmet(cluster, after, names, mode)
    title = changes[0].title if len(changes) == 1 else f"mode {mode} for {name_targets(changes, 'queue')}"
    return Operation(
        title, changes, edit, left_out=left_out, notes=tuple(notes), unmet=tuple(unmet), unaffected=SAME_PLAN
    )


_SWITCHED = {
    ("started", "True"): "is started",
    ("started", "False"): "is stopped",
    ("enabled", "True"): "takes new jobs",
    ("enabled", "False"): "takes no new jobs",
    (MODE_ATTRIBUTE, "observe"): "is in observe",
    (MODE_ATTRIBUTE, "advise"): "is in advise",
    (MODE_ATTRIBUTE, "drive"): "is in drive",
}
"""What a queue is that has an attribute's value already."""


_NOT_OF_RESERVATIONS = {
    "started": "PBS itself starts and stops it (see pbs_ralter)",
    MODE_ATTRIBUTE: f"it has no mode, {SCHEDULER_STARTS}",
}
"""What is not set on the queue of a reservation, and why."""


def _set(
    cluster: ClusterView,
    commands: Commands,
    queues: Sequence[str],
    verb: str,
    attribute: str,
    value: str,
    missing: str,
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    def change(queue: str) -> Change:
        texts = cluster.server_status.queues.get(queue)
        if texts is None:
            raise ChangeError(
                f"{verb}: no queue {queue!r}; the server has {', '.join(sorted(cluster.server_status.queues))}"
            )
        reservation = reservation_of(cluster.server_status, queue)
        if reservation is not None and attribute in _NOT_OF_RESERVATIONS:
            about = f"queue {queue} is that of {reservation.describe(cluster.now_s)}"
            raise ChangeError(f"{verb}: {about}: {_NOT_OF_RESERVATIONS[attribute]}")
        found = commands.set_attribute(Target("queue", queue), texts, attribute, value, missing)
        if found.before == value:
            is_so = _SWITCHED.get((attribute, value), f"has {attribute} = {value}")
            raise ChangeError(f"{verb}: queue {queue} {is_so} already")
        changed = f"queue {queue}: {found.before or 'default'} → {value}"
        return found.titled(f"{verb} queue {queue}" if verb in SWITCHES else changed)

    return changes_to(verb, "queue", queues, change)


def _edit(changes: Sequence[Change], attribute: str, value: str) -> partial[ServerStatus]:
    return partial(_edited, queues=[change.target.name for change in changes], attribute=attribute, value=value)


def _edited(server_status: ServerStatus, queues: Sequence[str], attribute: str, value: str) -> ServerStatus:
    for queue in queues:
        server_status = edit_queue(server_status, queue, {attribute: value})
    return server_status
