"""The cluster in lines, for ``pbsteer status``: cores, jobs, queues, the plan, the top users, changes, attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tui.audit.read_and_merge_audit_records import AuditRecord
from tui.backends.idle_core_history import IdleHistory
from tui.model.status_counts import suspended_among
from tui.model.typed_attributes import spoken
from tui.pages.cluster.changes_since_opened import changed_lines
from tui.pages.cluster.needs_attention import attention
from tui.pages.plan.console_plan_in_short_and_mode_notes import plan_in_short
from tui.pages.plan.pass_page import would_have
from tui.state.cluster_view import ClusterView, execution_queues
from tui.tables.column_layout import Widths, header, row
from tui.tables.columns import Sort
from tui.tables.columns_by_view.queue_columns import queue_columns
from tui.text.screen_line import Line, joined, safe, spread, width, wrapped
from tui.text.text_bars import heights, share_bar

_NARROW = 70
_LEAST_BAR, _MOST_BAR = 8, 48
_LABEL = 11
_LEAST_CHANGES, _LEAST_NEEDS = 3, 4


def cluster_lines(
    cluster: ClusterView, history: IdleHistory, cells: int, records: Sequence[AuditRecord] = (), height: int = 40
) -> list[Line]:
    """The whole view for a width in cells; ``records`` are the changes in the audit. If ``height`` lines are too few,
    recent changes are shortened first; then the less serious part of what needs attention moves to the end."""
    above = [*_cores(cluster, cells), _jobs(cluster, history, cells), (), *_queues(cluster, cells), ()]
    would = [line for line in [would_have(cluster.passes)] if line]
    below = [
        *_labelled("next pass", [((plan_in_short(cluster), ""),), *would], cells),
        *_labelled("in use by", [_users(cluster, cells - _LABEL)], cells),
    ]
    needs = attention(cluster) or [(("nothing needs attention", "good"),)]
    most = max(_LEAST_NEEDS, height - len(above) - len(below) - _LEAST_CHANGES)
    shown, rest = (needs, []) if len(needs) <= most else (needs[: most - 1], needs[most - 1 :])
    more: list[Line] = [((f"and {len(rest):,} more, at the end", "warn"),)] if rest else []
    room = max(_LEAST_CHANGES, height - len(above) - len(below) - len(shown) - len(more))
    return [
        *above,
        *_labelled("attention", [*shown, *more], cells),
        *below,
        *_labelled("changed", changed_lines(cluster, records, room), cells),
        *_labelled(f"{len(rest):,} more", rest, cells),
    ]


def _users(cluster: ClusterView, cells: int) -> Line:
    """The users with the most cores over all queues, as many as fit."""
    used: Counter[str] = Counter()
    for (_, user), use in cluster.counts.users.items():
        used[user] += use.cores
    shown: list[Line] = []
    room = cells
    for user, cores in used.most_common():
        text = f"{safe(user)} {cores:,}"
        room -= width(text) + 3
        if not cores or room < 0:
            break
        shown.append(((safe(user), "bold"), (f" {cores:,}", "")))
    return joined(shown, " · ") if shown else (("no user", "dim"),)


def _cores(cluster: ClusterView, cells: int) -> list[Line]:
    """Cores of the vnodes that are up with a bar, and vnodes beside it, or below it if the line is too short."""
    vnodes = cluster.counts.vnodes
    # Rounded down: what is not full is not 100%.
    share = 100 * vnodes.used // vnodes.total if vnodes.total else 0
    not_up: Counter[str] = Counter()
    for state, names in vnodes.not_up.items():
        not_up[spoken(state)] += len(names)
    by_state = "".join(f" · {count:,} {safe(state)}" for state, count in sorted(not_up.items()))
    also = f" ({vnodes.used_not_up:,} more cores in use)" if vnodes.used_not_up else ""
    part = f" · {vnodes.part:,} part used" if vnodes.part else ""
    words = f"{vnodes.busy - vnodes.part:,} full{part} · {vnodes.free:,} empty{by_state}{also}"
    numbers, percent = f"cores   {vnodes.used:,} / {vnodes.total:,}  ", f"  {share}%  "
    beside = f"vnodes {words}"
    room = cells - width(numbers) - width(percent) - width(beside)
    fits = room >= _LEAST_BAR
    bar_cells = max(_LEAST_BAR, min(_MOST_BAR, room if fits else cells - width(numbers) - width(percent)))
    left: Line = ((numbers, "bold"), *share_bar(vnodes.used, vnodes.total, bar_cells), (percent, "bold"))
    return (
        [spread(left, ((beside, ""),), cells)]
        if fits
        else [left, *wrapped([(("vnodes  ", "bold"), (words, ""))], cells)]
    )


def _jobs(cluster: ClusterView, history: IdleHistory, cells: int) -> Line:
    counts = cluster.counts
    running = f"R {counts.running:,}{suspended_among(counts)}"
    left: Line = ((f"jobs    {running}  Q {counts.queued:,}  H {counts.states['H']:,}", "bold"),)
    if history.ratio is None or cells <= _NARROW:
        return left
    hours = history.hours
    drawn = heights([hour.mean for hour in hours], 1.0)
    seen = "last" if cluster.passes.idle else "watched"
    watched = "1 h" if len(hours) == 1 else f"{len(hours)} h"
    return spread(left, ((f"idle, {seen} {watched} ", ""), (drawn, "bar"), (f" {history.ratio:.1%}", "")), cells)


def _queues(cluster: ClusterView, cells: int) -> list[Line]:
    names = execution_queues(cluster)
    placed = Widths[str]().place(queue_columns(cluster), names, cells)
    return [header(placed, Sort()), *(row(placed, name) for name in names)]


def _labelled(label: str, lines: list[Line], cells: int) -> list[Line]:
    gap, lines = " " * _LABEL, wrapped(lines, cells - _LABEL)
    return [
        ((f"{label:<{_LABEL}}" if index == 0 else gap, "title" if index == 0 else ""), *line)
        for index, line in enumerate(lines)
    ]
