"""Whether a queue's mode carries out what the plan has for its jobs, and so whether a job starts or would start.

``drive`` carries out all of a plan, ``advise`` only its preemptions, ``observe`` nothing. Nothing is carried out
during a pause, nor in a queue in ``drive`` that the last pass could not drive (docs/hooks.md).
"""

from __future__ import annotations

from tui.state.cluster_view import ClusterView
from tui.state.paused import pause_of
from tui.text.lines import safe

LEFT_UNDONE = {
    "observe": "observe: nothing of this is carried out",
    "advise": "advise: PBS's scheduler starts jobs, pbsteer only preempts",
}
"""What a mode leaves to PBS's scheduler, or undone."""


def is_done(cluster: ClusterView, queue: str, *, preemption: bool) -> bool:
    """Whether starts (or preemptions) are carried out in a queue; for an empty name, in any queue."""
    return any(not why_undone(cluster, each, preemption=preemption) for each in ([queue] if queue else cluster.modes))


def why_undone(cluster: ClusterView, queue: str, *, preemption: bool) -> str:
    """Why starts (or preemptions) are not carried out in a queue; empty if they are."""
    pause = pause_of(cluster)
    if pause:
        return pause
    mode = cluster.modes.get(queue, "observe")
    if mode not in ({"drive", "advise"} if preemption else {"drive"}):
        return f"{queue} is in {LEFT_UNDONE.get(mode, 'no mode')}"
    return _not_driven(cluster, queue) if mode == "drive" else ""


def _not_driven(cluster: ClusterView, queue: str) -> str:
    """Why the last pass did not drive a queue in ``drive``; empty if it did, or if there is no such pass."""
    last = cluster.passes.last
    if last is None or last.table("modes").get(queue) != "drive" or queue in last.started_in:
        return ""
    about = f"queue {queue} is not driven: "
    why = next((note[len(about) :] for note in last.texts("notes") if note.startswith(about)), "")
    return f"the last pass did not drive {queue}" + (f": {safe(why)}" if why else "")
