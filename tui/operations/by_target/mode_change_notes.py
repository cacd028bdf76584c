"""What another mode would mean for queues, shown before the switch: obstacles, and what the next pass does about their
schedulers.

The sentences come from the hooks' own functions, run on the server status as it would be (docs/hooks.md). Files of PBS
that this user cannot read are named, their contents not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hooks.control.pbs_scheduler.drive_mode_obstacles import find_obstacles
from hooks.control.pbs_scheduler.qsub_priority_orders_all_users import find_queues_ordered_by_users
from hooks.control.pbs_scheduler.scheduler_sorts_by_priority import find_unsorted
from hooks.control.pbs_scheduler.scheduler_switch import Switched, assign_schedulers
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles, read_sched_files
from hooks.pbs.scheduler_object_of_queue import find_scheduler, is_down, is_scheduling
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.snapshot import translate
from policy.model.pbs_units import show_count
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, safe

_MEANS = {
    "observe": "pbsteer does nothing there and writes down what it would have done",
    "advise": "PBS's own scheduler starts the jobs; pbsteer sets estimates and preempts",
    "drive": "pbsteer starts the jobs",
}


def find_unmet(cluster: ClusterView, after: ServerStatus, queues: Sequence[str], mode: str) -> list[str]:
    """Why queues switched to ``drive`` would not be driven; a sentence for each."""
    if mode != "drive":
        return []
    files, _ = _read_files(after)
    found = translate(after, cluster.settings, files)
    obstacles = find_obstacles(after, found.modes, found.unread, files)
    return [f"queue {queue} is not driven: {obstacles[queue]}" for queue in queues if queue in obstacles]


def mode_lines(cluster: ClusterView, after: ServerStatus, queues: Sequence[str], mode: str) -> list[Line]:
    """Lines for the switch of these queues to a mode; ``after`` is the server status as it would be."""
    files, unread_files = _read_files(after)
    found = translate(after, cluster.settings, files)
    obstacles = find_obstacles(after, found.modes, found.unread, files)
    assignment = assign_schedulers(after, found.modes, obstacles, _switched(cluster))
    advised = {queue for queue in queues if found.modes.get(queue) == "advise"}
    lines: list[Line] = [((f"{mode}: {_MEANS[mode]}", ""),)]
    unsorted = find_unsorted(_switched_on(after, assignment.on), advised, files)
    for queue, why in {**obstacles, **unsorted}.items():
        lines.append(((safe(f"obstacle, queue {queue}: {why}"), "bad"),))
    modes = {queue: found.modes[queue] for queue in queues if queue in found.modes}
    remarks = find_queues_ordered_by_users(found.snapshot.cluster().queues, modes, cluster.settings)
    lines += [((safe(f"queue {queue}: {what}"), "warn"),) for queue, what in remarks.items()]
    lines += [((safe(note), "warn"),) for note in assignment.notes]
    for name in assignment.on:
        away = (
            f", but does not run: its jobs are not started before pbs_sched -I {name}" if is_down(after, name) else ""
        )
        lines.append(((safe(f"scheduler {name} is switched on again by the next pass{away}"), "warn"),))
    if unread_files:
        lines.append(((safe(f"not looked at: {unread_files}"), "dim"),))
    free = [queue for queue in queues if queue not in obstacles]
    return [*lines, *(_first_pass(cluster, free) if mode == "drive" else _left_undone(cluster, queues, mode))]


def _read_files(server_status: ServerStatus) -> tuple[SchedFiles, str]:
    """The schedulers' files, and a text that names those which this user or this host cannot read."""
    try:
        files = read_sched_files(server_status)
    except OSError as error:
        return {}, f"fair share, dedicated time and the like, in {error.filename}: {error.strerror}"
    missing = [name for name in server_status.scheds if not files.get(name)]
    return files, f"sched_config of {', '.join(missing)}, which is not on this host" if missing else ""


def _switched(cluster: ClusterView) -> Switched:
    """What pbsteer has probably switched off: each disabled scheduler whose queues are all driven."""
    served: dict[str, set[str]] = {}
    for queue, mode in cluster.modes.items():
        name = find_scheduler(cluster.server_status, queue)
        if name is not None and not is_scheduling(cluster.server_status, name):
            served.setdefault(name, set()).add(mode)
    return Switched(frozenset(name for name, modes in served.items() if modes == {"drive"}))


def _switched_on(server_status: ServerStatus, names: Sequence[str]) -> ServerStatus:
    """The server status once the next pass has switched these schedulers on."""
    scheds = {
        name: {**texts, "scheduling": "True"} if name in names else texts
        for name, texts in server_status.scheds.items()
    }
    return replace(server_status, scheds=scheds)


def _left_undone(cluster: ClusterView, queues: Sequence[str], mode: str) -> list[Line]:
    """What of the console's own plan for queues that leave a mode is no longer carried out."""
    driven = [queue for queue in queues if cluster.modes.get(queue) == "drive"]
    preempted_in = [queue for queue in queues if cluster.modes.get(queue) in ("drive", "advise")]
    return not_carried_out(cluster, driven, preempted_in if mode == "observe" else ())


def not_carried_out(cluster: ClusterView, starts_in: Sequence[str], preempts_in: Sequence[str]) -> list[Line]:
    """How many starts and preemptions of the next pass will not be made in these queues; none if there is no plan."""
    if cluster.decision is None or not (starts_in or preempts_in):
        return []
    plan = cluster.decision.plan
    starts = sum(start.job.queue in starts_in for start in plan.starts)
    preempts = sum(preempt.run.job.queue in preempts_in for preempt in plan.preempts)
    if not (starts and starts_in) and not (preempts and preempts_in):
        return [(("the next pass has nothing to start or preempt there", "dim"),)]
    parts = [show_count(starts, "start")] if starts_in else []
    parts += [show_count(preempts, "preemption")] if preempts_in else []
    return [((f"{' and '.join(parts)} of the next pass will not be made by pbsteer", "warn"),)]


def _first_pass(cluster: ClusterView, queues: Sequence[str]) -> list[Line]:
    """What the console's own plan has for these queues: a driving pass would do the same."""
    if cluster.decision is None or not queues:
        return []
    plan = cluster.decision.plan
    starts = sum(start.job.queue in queues for start in plan.starts)
    preempts = sum(preempt.run.job.queue in queues for preempt in plan.preempts)
    return [((f"the first pass that drives starts {show_count(starts, 'job')} there and preempts {preempts:,}", ""),)]
