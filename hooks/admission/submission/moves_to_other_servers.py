"""Refuses users' moves of jobs to other servers (``qmove QUEUE@SERVER``), in every mode.

PBS looks up the server's name in its only thread, before it knows whether there is such a server: ten seconds for each
request where no name server answers for it.
"""

from __future__ import annotations

from typing import Any

from hooks.pbs.managers_and_operators import may_manage
from hooks.pbs.names_of_this_server import is_own_server


def refuse_other_server(pbs: Any, destination: str) -> str:
    """Why a move to this queue is refused; empty for one of this server, by its own name or by none, and for managers
    and operators."""
    # PBS ends the name at a port, at "+" and at "/", and looks up what is before that.
    _, at, server = destination.partition("@")
    if not at or is_own_server(pbs, server) or may_manage(pbs):
        return ""
    return (
        f"the move is to server {server[:80]}; allowed are queues of this server, by its own name and without a port"
        " (submission.depend_servers)"
    )
