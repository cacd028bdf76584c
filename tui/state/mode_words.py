"""Whether what the plan has for a queue's jobs is done there, and so how to speak of it: it starts, or would start.

``drive`` carries out all of a plan, ``advise`` its preemptions alone, ``observe`` nothing, and so does every mode in a
pause, or where the last pass could not drive the queue (docs/hooks.md).
"""

from __future__ import annotations

from tui.state.cluster_view import World
from tui.state.paused import pause_of
from tui.text.lines import safe

LEFT_UNDONE = {
    "observe": "observe: nothing of this is carried out",
    "advise": "advise: PBS's scheduler starts jobs, pbsteer only preempts",
}
"""What a mode leaves to others, or undone, of what is said."""


def is_done(world: World, queue: str, *, preemption: bool) -> bool:
    """Whether starts, or preemptions, are carried out in a queue; without a queue, in any that there is."""
    return any(not why_undone(world, each, preemption=preemption) for each in ([queue] if queue else world.modes))


def why_undone(world: World, queue: str, *, preemption: bool) -> str:
    """Why starts, or preemptions, are not carried out in a queue; empty where they are."""
    pause = pause_of(world)
    if pause:
        return pause
    mode = world.modes.get(queue, "observe")
    if mode not in ({"drive", "advise"} if preemption else {"drive"}):
        return f"{queue} is in {LEFT_UNDONE.get(mode, 'no mode')}"
    return _not_driven(world, queue) if mode == "drive" else ""


def _not_driven(world: World, queue: str) -> str:
    """What the last pass said kept it from driving a queue that is in ``drive``; empty where it drove it."""
    last = world.passes.last
    if last is None or last.table("modes").get(queue) != "drive" or queue in last.started_in:
        return ""
    about = f"queue {queue} is not driven: "
    why = next((note[len(about) :] for note in last.texts("notes") if note.startswith(about)), "")
    return f"the last pass did not drive {queue}" + (f": {safe(why)}" if why else "")
