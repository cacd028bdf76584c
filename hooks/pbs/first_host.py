"""The first host of a run, whose MoM answers for it, and whether that host is up and known to the server.

After an outage of the server or of a MoM, the MoM's vnodes are down until its hello was answered and it has reported
its jobs. A request of the server for a job there before that makes the MoM report the ends of jobs ahead of its hooks'
requests (OpenPBS 23.06, where ``is_request`` calls ``send_hellosvr``).
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.model.allocation import AllocationError, parse_exec_vnode

EXEC_VNODE = "exec_vnode"
_NOT_THERE = frozenset({"down", "state-unknown", "stale"})


def find_first_vnode(texts: Mapping[str, str]) -> str:
    """The first vnode of a job's run, which is on its first host; empty if it has none or it cannot be read."""
    return next(iter(_read_vnodes(texts)), "")


def has_other_hosts(texts: Mapping[str, str], vnodes: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a job runs on more than its first host, as far as ``vnodes`` (their attributes by name) show."""
    return len({host_of(vnode, vnodes) for vnode in _read_vnodes(texts)}) > 1


def host_of(vnode: str, vnodes: Mapping[str, Mapping[str, str]]) -> str:
    """The host of a vnode, by its resource; a vnode without one counts as its own host."""
    return vnodes.get(vnode, {}).get("resources_available.host", "") or vnode


def _read_vnodes(texts: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return parse_exec_vnode(texts.get(EXEC_VNODE, "")).vnodes
    except AllocationError:
        return ()


def is_there(vnode: Mapping[str, str]) -> bool:
    """Whether the MoM of a vnode with these attributes is up and known to the server. A vnode of unknown state counts
    as up."""
    return _NOT_THERE.isdisjoint(vnode.get("state", "").replace(" ", "").split(","))
