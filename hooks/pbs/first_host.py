"""The first host of a run, whose MoM answers for it: is it there, so that the server and it know of each other?

A server that was away, and a MoM that was, have to find each other again: until the MoM has had its hello answered and
has told what it runs, its vnodes are down. What the server asks of a job there before that has the MoM tell the ends of
jobs ahead of what its hooks have to say about them (OpenPBS 23.06, where ``is_request`` calls ``send_hellosvr``).
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.model.allocation import PlacementError, parse_exec_vnode

EXEC_VNODE = "exec_vnode"
_NOT_THERE = frozenset({"down", "state-unknown", "stale"})


def find_first_vnode(texts: Mapping[str, str]) -> str:
    """The first vnode of a job's run, which is on its first host; empty where it has none, or it cannot be read."""
    return next(iter(_read_vnodes(texts)), "")


def has_other_hosts(texts: Mapping[str, str], vnodes: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a job runs on more than its first host, as far as is known of the ``vnodes`` and their attributes."""
    return len({host_of(vnode, vnodes) for vnode in _read_vnodes(texts)}) > 1


def host_of(vnode: str, vnodes: Mapping[str, Mapping[str, str]]) -> str:
    """The host of a vnode, by its resource; one that does not tell is a host of its own."""
    return vnodes.get(vnode, {}).get("resources_available.host", "") or vnode


def _read_vnodes(texts: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return parse_exec_vnode(texts.get(EXEC_VNODE, "")).vnodes
    except PlacementError:
        return ()


def is_there(vnode: Mapping[str, str]) -> bool:
    """Whether the MoM of a vnode, of which these are the attributes, has told the server that it is there. One of which
    nothing is known counts as there."""
    return _NOT_THERE.isdisjoint(vnode.get("state", "").replace(" ", "").split(","))
