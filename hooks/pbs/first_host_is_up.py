"""The first host of a run, whose MoM answers for it, and whether that host is up and known to the server.

After an outage of the server or of a MoM, the MoM's vnodes are down until its hello was answered and it has reported
its jobs. A request of the server for a job there before that makes the MoM report the ends of jobs ahead of its hooks'
requests (OpenPBS 23.06, where ``is_request`` calls ``send_hellosvr``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

EXEC_VNODE = "exec_vnode"
_FIRST_VNODE = re.compile(r"\(?([^():+\s]+)(?:[:+)]|$)")
"""PBS omits the parentheses after ``qrun -H VNODE`` (``n1:ncpus=8``)."""
MOM_AWAY = frozenset({"down", "state-unknown", "unresolvable"})
"""States of a vnode whose MoM does not answer."""
STALE = "Stale"
"""The state of a vnode that its MoM no longer reports, in PBS's spelling."""


def find_first_vnode(texts: Mapping[str, str]) -> str:
    """The first vnode of a job's run, which is on its first host; empty if it has none or it cannot be read."""
    first = _FIRST_VNODE.match(texts.get(EXEC_VNODE, ""))
    return first.group(1) if first else ""


def is_there(vnode: Mapping[str, str]) -> bool:
    """Whether the MoM of a vnode with these attributes is up and known to the server. A vnode of unknown state counts
    as up."""
    states = states_of(vnode)
    return states.isdisjoint(MOM_AWAY) and STALE not in states


def states_of(vnode: Mapping[str, str]) -> frozenset[str]:
    """The states of a vnode with these attributes, each a word of PBS's."""
    return frozenset(vnode.get("state", "").replace(" ", "").split(","))
