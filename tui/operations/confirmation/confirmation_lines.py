"""An operation as lines to read before it is confirmed: what is lost, all its targets, the commands, and its notes.

The targets that lose most come first. Where there are many, the rest comes after all other lines
(:func:`further_lines`), so that no effect is hidden behind a long list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policy.model.pbs_units import show_count, show_job
from tui.backends.interface.commands_interface import Change
from tui.model.typed_attributes import amount, state_in_words, user_of
from tui.operations.operation_type_and_preview import Operation
from tui.operations.work_lost_if_run_ends import Cost, cost_of
from tui.state.cluster_view import ClusterView
from tui.state.typed_job_id import id_to_type
from tui.text.screen_line import Line, Span, fit, safe, width
from tui.text.times_and_durations import short_span

_FIRST = 8
"""The targets before the commands and effects; all are shown there if they are no more than twice as many."""
_COMMANDS = 3
_LONGEST_NAME = 24
_HOUR_S = 3600


def operation_lines(operation: Operation, cluster: ClusterView) -> list[Line]:
    """What is lost, the targets, the first few commands to the letter, the reasons for targets left out, the notes."""
    rows = _rows(operation, cluster)
    first = _first(rows)
    lines = [*_lost(operation, cluster), *first]
    if len(first) < len(rows):
        lines.append(((f"  and {len(rows) - len(first):,} more: below", "dim"),))
    lines += [_command(change) for change in operation.changes[:_COMMANDS]]
    more = len(operation.changes) - _COMMANDS
    if more > 0:
        lines.append(((f"and {more:,} more such commands", "dim"),))
    lines += [((safe(f"left out: {reason}"), "warn"),) for reason in operation.left_out[:_COMMANDS]]
    more = len(operation.left_out) - _COMMANDS
    if more > 0:
        lines.append(((f"and {more:,} more left out: below", "warn"),))
    return [*lines, *operation.notes]


def further_lines(operation: Operation, cluster: ClusterView) -> list[Line]:
    """The targets and the reasons that :func:`operation_lines` has no room for."""
    rows = _rows(operation, cluster)
    lines: list[Line] = []
    more = rows[len(_first(rows)) :]
    if more:
        lines += [(("the other targets", "title"),), *more]
    more_left_out = operation.left_out[_COMMANDS:]
    if more_left_out:
        lines += [(("left out too", "title"),), *(((safe(f"  {why}"), "warn"),) for why in more_left_out)]
    return lines


def _first(rows: list[Line]) -> list[Line]:
    return rows if len(rows) <= 2 * _FIRST else rows[:_FIRST]


def _jobs(operation: Operation) -> list[str]:
    return list(dict.fromkeys(change.target.name for change in operation.changes if change.target.kind == "job"))


def _lost(operation: Operation, cluster: ClusterView) -> list[Line]:
    """One line: how many people and cores an operation that ends work is about, and the core-hours that are lost."""
    jobs = operation.ended or _jobs(operation)
    if not operation.ends_work or not jobs:
        return []
    costs = [cost_of(cluster, job) for job in jobs]
    users = {user_of(cluster.job(job) or {}) for job in jobs}
    cores, hours = sum(cost.cores for cost in costs), sum(cost.core_s for cost in costs) / _HOUR_S
    parts = [show_count(len(jobs), "job"), show_count(len(users), "user")]
    parts.append(f"{show_count(cores, 'core')} in use now" if cores else "none runs")
    spans: list[Span] = [(" · ".join(parts), "bold")]
    if cores:
        spans.append((f" · up to {hours:,.1f} core-hours are lost", "bad"))
    return [tuple(spans)]


def _rows(operation: Operation, cluster: ClusterView) -> list[Line]:
    """A line for each job that is a target or ends, those that lose most first; and for each vnode, or queue of
    several."""
    jobs = list(dict.fromkeys([*_jobs(operation), *operation.ended]))
    costs = {job: cost_of(cluster, job) for job in jobs}
    jobs.sort(key=lambda job: (-costs[job].core_s, -costs[job].cores))
    rows = _columns([_job_cells(cluster, job, costs[job]) for job in jobs])
    others = list(dict.fromkeys(change.target for change in operation.changes if change.target.kind != "job"))
    vnodes = [target.name for target in others if target.kind == "vnode"]
    rows += _columns([_vnode_cells(cluster, name) for name in vnodes])
    queues = [target.name for target in others if target.kind == "queue"]
    if len(queues) > 1:
        rows += _columns([_queue_cells(cluster, name) for name in queues])
    return rows


def _job_cells(cluster: ClusterView, job: str, cost: Cost) -> list[Span]:
    """Id (the whole one of another server's job), user, name, cores, and what it ran since when, or its state."""
    texts = cluster.job(job) or {}
    cores = cost.cores or amount(texts, f"Resource_List.{cluster.counted}")
    name = texts.get("Job_Name", "")
    cells = [
        (id_to_type(job, cluster.server_name), "bold"),
        (user_of(texts), ""),
        (name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…", ""),
        (f"{cores:,}c", ""),
    ]
    if cost.since_s is None:
        return [*cells, ("waits" if texts.get("job_state") in ("Q", "W", "B") else "is held", "dim")]
    ran = short_span(cluster.now_s - cost.since_s)
    return [*cells, (f"ran {ran}", ""), (f"{cost.core_s / _HOUR_S:,.1f} core-h", "warn")]


def _vnode_cells(cluster: ClusterView, name: str) -> list[Span]:
    texts = cluster.server_status.vnodes.get(name, {})
    used, whole = (amount(texts, f"resources_{part}.{cluster.counted}") for part in ("assigned", "available"))
    jobs = len({part.partition("/")[0].strip() for part in texts.get("jobs", "").split(",") if part.strip()})
    comment = texts.get("comment", "")
    return [
        (name, "bold"),
        (state_in_words(texts, cluster.counted), ""),
        (f"{used:,} of {whole:,} cores in use", ""),
        (show_count(jobs, "job"), ""),
        (comment if len(comment) <= _LONGEST_NAME * 2 else f"{comment[: _LONGEST_NAME * 2 - 1]}…", "dim"),
    ]


def _queue_cells(cluster: ClusterView, name: str) -> list[Span]:
    states: Mapping[str, int] = cluster.counts.queue_states.get(name) or {}
    words = (("R", "run"), ("Q", "wait"), ("H", "are held"))
    return [(name, "bold"), (", ".join(f"{states.get(state, 0):,} {word}" for state, word in words), "")]


def _columns(rows: Sequence[list[Span]]) -> list[Line]:
    """The cells of the rows below one another; numbers to the right."""
    count = max((len(row) for row in rows), default=0)
    widths = [max((width(safe(row[at][0])) for row in rows if at < len(row)), default=0) for at in range(count)]
    lines: list[Line] = []
    for row in rows:
        spans: list[Span] = [("  ", "")]
        for (text, role), cells in zip(row, widths):
            shown = safe(text)
            spans.append((fit(shown, cells, ">" if shown[:1].isdigit() and role != "bold" else "<"), role))
            spans.append(("  ", ""))
        lines.append(tuple(spans[:-1]))
    return lines


def _command(change: Change) -> Line:
    """The command to the letter; the server's name in a job id is dimmed, since elsewhere ids are shown without it."""
    line, job = change.line, change.target.name
    if change.target.kind != "job" or not line.endswith(job):
        return ((safe(line), "bold"),)
    server = len(job) - len(show_job(job))
    return ((safe(line[: len(line) - server]), "bold"), (safe(line[len(line) - server :]), "dim"))
