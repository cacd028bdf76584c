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
    if last is None:
        return name_pause(cluster.server_status, stopped=False)
    stopped = bool(last.data.get("stopped", last.data.get("paused"))) and is_stopped(cluster.server_status)
    return name_pause(cluster.server_status, stopped=stopped)


def is_paused_by_scheduling(cluster: ClusterView) -> bool | None:
    """Whether the server's ``scheduling`` is a pause, beside one with a reason or alone; None if only the next pass can
    tell: ``scheduling`` is False, and the last pass did not take it for a pause, or cannot be read."""
    if not is_stopped(cluster.server_status):
        return False
    last = cluster.passes.last
    return True if last is not None and last.data.get("stopped") is True else None
