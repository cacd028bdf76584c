"""The hosts of a run: which host a vnode belongs to, and whether a job runs on more than one."""

from __future__ import annotations

from collections.abc import Mapping

from hooks.pbs.first_host_is_up import EXEC_VNODE
from policy.model.allocation import AllocationError, parse_exec_vnode


def has_other_hosts(texts: Mapping[str, str], vnodes: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a job runs on more than its first host, as far as ``vnodes`` (their attributes by name) show."""
    try:
        names = parse_exec_vnode(texts.get(EXEC_VNODE, "")).vnodes
    except AllocationError:
        return False
    return len({host_of(vnode, vnodes) for vnode in names}) > 1


def host_of(vnode: str, vnodes: Mapping[str, Mapping[str, str]]) -> str:
    """The host of a vnode, by its resource; a vnode without one counts as its own host."""
    return vnodes.get(vnode, {}).get("resources_available.host", "") or vnode
