"""A job of one core, and a vnode whose MoM answers again."""

from __future__ import annotations

from sim.pbs_server.server import SimServer

BEGIN_S = 1_000_000.0


ONE_CORE = {"Resource_List.select": "1:ncpus=1"}


def recover_vnode(server: SimServer, name: str) -> None:
    """Let the vnode's MoM answer again."""
    vnode = server.find_vnode(name)
    vnode.down_since_s = None
    vnode.touch(server.clock.now_s)
