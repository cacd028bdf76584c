"""Whether what the plan has for a queue's jobs is done there, and so how to speak of it: it starts, or would start.

``drive`` carries out all of a plan, ``advise`` its preemptions alone, ``observe`` nothing (docs/hooks.md).
"""

from __future__ import annotations

from tui.core.world import World

LEFT_UNDONE = {
    "observe": "observe: nothing of this is carried out",
    "advise": "advise: PBS's scheduler starts jobs, pbsteer only preempts",
}
"""What a mode leaves to others, or undone, of what is said."""


def is_done(world: World, queue: str, *, preemption: bool) -> bool:
    """Whether starts, or preemptions, are carried out in a queue; without a queue, in any that there is."""
    modes = {world.modes.get(queue, "observe")} if queue else set(world.modes.values())
    return not modes.isdisjoint({"drive", "advise"} if preemption else {"drive"})
