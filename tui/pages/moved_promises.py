"""What the claims of jobs within quota or of higher classes cost promised heads: their promises that moved.

Counted over the passes of the journal that are kept, and told of the jobs that still wait; never mixed with heads that
are late (docs/policies.md, "A head has no veto").
"""

from __future__ import annotations

from typing import Any

from tui.state.cluster_view import World
from tui.text.durations import short_span
from tui.text.lines import Line


def moved_data(world: World) -> dict[str, Any]:
    """``in_passes`` promises moved since ``since_s``; ``waiting`` jobs whose promises did still wait. The latest of
    these starts ``latest_s`` after its first promise, by what it is promised now, or by this moment."""
    entries = world.passes.entries
    moved = {job: each for job, each in world.ledger.moved.items() if job in world.picture.jobs}
    starts_s = {job: max(world.now_s, world.ledger.promises.get(job, world.now_s)) for job in moved}
    return {
        "in_passes": sum(len(entry.parts("moved")) for entry in entries),
        "since_s": entries[0].time_s if entries else None,
        "waiting": len(moved),
        "latest_s": max((starts_s[job] - each.first_s for job, each in moved.items()), default=None),
    }


def moved_lines(world: World) -> list[Line]:
    """The same in one line; none where no promise has moved."""
    data = moved_data(world)
    if not data["in_passes"] and not data["waiting"]:
        return []
    parts = []
    if data["since_s"] is not None:
        parts.append(f"{data['in_passes']:,} in the last {short_span(world.now_s - data['since_s'])}")
    if data["waiting"]:
        late_s = data["latest_s"]
        latest = f"the latest {short_span(late_s)} after" if late_s >= 1 else "none of them after"
        parts.append(f"{data['waiting']:,} of these jobs still wait, {latest} its first promise")
    return [(("promises moved for better claims: ", ""), ("; ".join(parts), ""))]
