"""Which users count as managers or operators of the server, by PBS's own rules.

Root on the server's own host always does; root of another host does if one of the two lists names it, like any user
(PBS's ``svr_get_privilege`` and ``acl_check``). ``acl_roots`` only says whose root may run jobs.
"""

from __future__ import annotations

import socket
from typing import Any

_ROOT = "root"
_LOCAL = ("localhost", "localhost.localdomain")


def may_manage(pbs: Any) -> bool:
    """Whether the requestor of this event is a manager or operator."""
    event = pbs.event()
    user, host = str(event.requestor), str(event.requestor_host)
    # A pass is root on this host. For all others PBS makes an object of the whole server, most of a millisecond.
    if is_privileged(user, host, _LOCAL[0]):
        return True
    server = pbs.server()
    return is_privileged(
        user, host, str(server.server_host or ""), str(server.managers or ""), str(server.operators or "")
    )


def is_privileged(user: str, host: str, server_host: str, *lists: str) -> bool:
    """Whether PBS takes this user at this host for a manager or operator. ``lists`` are the server's ``managers`` and
    ``operators``, such as ``root@*,anna@login.site,-anna@*.lab``; empty if they are not set."""
    if user == _ROOT and host.lower() in (server_host.lower(), socket.gethostname().lower(), *_LOCAL):
        return True
    return any(_allows(entries, user, host.lower()) for entries in lists)


def _allows(entries: str, user: str, host: str) -> bool:
    """The first entry that matches decides; one with ``-`` before it denies. Host names may begin with ``*``."""
    for entry in filter(None, (part.strip() for part in entries.split(","))):
        name, at, pattern = entry.lstrip("+-").partition("@")
        pattern = pattern.lower()
        known = host.endswith(pattern[1:]) if pattern.startswith("*") else host == pattern
        if name == user and (known or not at):
            return not entry.startswith("-")
    return False
