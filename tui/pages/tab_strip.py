"""The tab strip: every view with its key and what is in it, on one line above the view.

If the line is too narrow, the other views lose their counts first, then the one that is shown does, then the others
lose their names, the last ones first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tui.state.cluster_view import ClusterView, execution_queues
from tui.tables.columns_by_view.quota_rows_and_columns import rows_over_quota
from tui.text.screen_line import Line, Span, fit_line, width


class Tab(NamedTuple):
    """A view: its key, its name, and in a few characters what is in it (empty: not known, or nothing to say)."""

    key: str
    view: str
    about: str = ""


def counts_of_views(cluster: ClusterView) -> dict[str, str]:
    """What is in each view, by its name: rows, entries over quota, the next pass's starts and preemptions."""
    queues = execution_queues(cluster)
    over = sum(map(len, rows_over_quota(cluster).values()))
    reserved = len(cluster.server_status.reservations)
    counts = {
        "queues": f"{len(queues):,}",
        "vnodes": f"{len(cluster.server_status.vnodes):,}",
        "jobs": f"{sum(cluster.counts.states.values()):,}",
        "reservations": f"{reserved:,}" if reserved else "",
        "quotas": f"{over:,} over" if over else "",
    }
    if cluster.decision is not None:
        starts, preempts = len(cluster.decision.plan.starts), len(cluster.decision.plan.preempts)
        counts["plan"] = " ".join([f"+{starts:,}"] * bool(starts) + [f"-{preempts:,}"] * bool(preempts))
    return counts


_NAMELESS = 3
"""The level at which a tab that is not shown has its key alone."""


def tab_strip(tabs: Sequence[Tab], shown: str, cells: int) -> Line:
    """The strip in exactly so many cells; ``shown`` is the view that is shown, which may have no tab."""
    line: Line = ()
    steps = [*((level, len(tabs)) for level in range(_NAMELESS)), *((2, named) for named in reversed(range(len(tabs))))]
    for level, named in steps:
        line = tuple(
            span
            for number, tab in enumerate(tabs)
            for span in _tab(
                tab, level if number < named or tab.view == shown else _NAMELESS, is_shown=tab.view == shown
            )
        )
        if sum(width(text) for text, _ in line) <= cells:
            break
    return fit_line(line, cells)


def view_at(strip: Line, tabs: Sequence[Tab], x: int) -> str:
    """The view whose tab is in this cell of the strip; empty where there is none."""
    at, key = 0, ""
    for text, role in strip:
        if role in ("key", "tab"):
            if at - (role == "key") > x:
                break
            key = text.strip("[")[:1]
        at += width(text)
    return next((tab.view for tab in tabs if tab.key == key), "") if 0 <= x < at else ""


def _tab(tab: Tab, level: int, *, is_shown: bool) -> tuple[Span, ...]:
    about = f" {tab.about}" if tab.about and (level < 1 or (is_shown and level != 2)) else ""
    if is_shown:
        return ((f"[{tab.key} {tab.view}{about}]", "tab"),)
    name = f" {tab.view}" if level < _NAMELESS else ""
    return (" ", ""), (tab.key, "key"), (name, ""), (about, "dim"), (" ", "")
