"""The names of this server that are known without asking for them: looking up any other name, PBS's server waits for
whatever answers, in its only thread."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any

from hooks.pbs.job_attributes.read_attribute import read_attribute

_OWN_NAMES = ("PBS_SERVER", "PBS_SERVER_HOST_NAME", "PBS_PRIMARY", "PBS_SECONDARY")


def is_own_server(pbs: Any, server: str) -> bool:
    """Whether this is a name of this server; one with a port is none."""
    conf = pbs.pbs_conf
    if _is_among(server, [*(conf.get(name) or "" for name in _OWN_NAMES), socket.gethostname()]):
        return True
    # PBS makes an object of the whole server to say these.
    own = pbs.server()
    return _is_among(server, [read_attribute(own, "name"), read_attribute(own, "server_host")])


def _is_among(server: str, names: Iterable[str]) -> bool:
    """Whether it is one of the names or, of one with a domain, the part before it. A longer form of a short name may be
    another host's."""
    asked = server.lower()
    return any(name and asked in (name.lower(), name.lower().partition(".")[0]) for name in names)
