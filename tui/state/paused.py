"""Whether pbsteer is paused, as far as the console can see it, and what that is called.

A pause by name stands on the server. One by the server's ``scheduling`` cannot be told there from what pbsteer itself
has switched off, so it is taken from the last pass, which knows (:mod:`hooks.pbs.pause`).
"""

from __future__ import annotations

from hooks.pbs.pause import is_stopped, name_pause
from tui.state.cluster_view import World


def pause_of(world: World) -> str:
    """The pause and its reason in a few words; empty where there is none to be seen."""
    last = world.passes.last
    stopped = last is not None and bool(last.data.get("paused")) and is_stopped(world.picture)
    return name_pause(world.picture, stopped=stopped)
