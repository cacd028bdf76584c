"""Whether pbsteer is paused, as far as the console can see, and why.

A pause with a reason is an attribute of the server. A pause by the server's ``scheduling`` attribute looks the same as
schedulers switched off by pbsteer itself, so it is taken from the last pass
(:mod:`hooks.pbs.pause_in_server_attributes`).
"""

from __future__ import annotations

from hooks.pbs.pause_in_server_attributes import is_stopped, name_pause
from tui.state.cluster_view import ClusterView


def pause_of(cluster: ClusterView) -> str:
    """The pause and its reason in a few words; empty if none is visible."""
    last = cluster.passes.last
    stopped = last is not None and bool(last.data.get("paused")) and is_stopped(cluster.server_status)
    return name_pause(cluster.server_status, stopped=stopped)
