"""The promises of heads that moved in favour of jobs within quota or of higher priority classes.

Counted over the journal's passes that are kept, and reported for jobs that still wait; heads that are late for other
reasons are not included (docs/policies.md, "A head has no veto").
"""

from __future__ import annotations

from typing import Any

from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line
from tui.text.times_and_durations import short_span


def moved_data(cluster: ClusterView) -> dict[str, Any]:
    """``in_passes`` promises moved since ``since_s``; ``waiting`` of their jobs still wait. ``latest_s`` is the longest
    time in seconds from a job's first promise to its present one, or to now if that is later."""
    entries = cluster.passes.entries
    moved = {job: each for job, each in cluster.ledger.moved.items() if job in cluster.server_status.jobs}
    starts_s = {job: max(cluster.now_s, cluster.ledger.promises.get(job, cluster.now_s)) for job in moved}
    return {
        "in_passes": sum(len(entry.parts("moved")) for entry in entries),
        "since_s": entries[0].time_s if entries else None,
        "waiting": len(moved),
        "latest_s": max((starts_s[job] - each.first_s for job, each in moved.items()), default=None),
    }


def moved_lines(cluster: ClusterView) -> list[Line]:
    """The same in one line; none if no promise has moved."""
    data = moved_data(cluster)
    if not data["in_passes"] and not data["waiting"]:
        return []
    parts = []
    if data["since_s"] is not None:
        parts.append(f"{data['in_passes']:,} in the last {short_span(cluster.now_s - data['since_s'])}")
    if data["waiting"]:
        late_s = data["latest_s"]
        latest = f"the latest {short_span(late_s)} after" if late_s >= 1 else "none of them after"
        parts.append(f"{data['waiting']:,} of these jobs still wait, {latest} its first promise")
    return [(("promises moved for better claims: ", ""), ("; ".join(parts), ""))]
