"""A change that a pass makes on its own account, in the audit that all administrators of the server share.

It has the form of a console's lines: one before the request is sent, and one with the outcome. The request's own line
in the server's log is then shown together with them.
"""

from __future__ import annotations

import json
import secrets
import socket
from datetime import datetime, timezone
from typing import NamedTuple

from hooks.audit.shared_audit_file import CHANGES, FULL_BYTES
from hooks.store.state_files import State


class OwnChange(NamedTuple):
    """A request: to which server, on whose account (``quota plan by alice``), the command, and the values before and
    after it as texts. ``change`` is the same for its lines, and for no other change."""

    server: str
    account: str
    command: str
    before: str
    after: str
    change: str


def new_change(server: str, account: str, command: str, before: str, after: str) -> OwnChange:
    """A change with a number of its own."""
    return OwnChange(server, account, command, before, after, secrets.token_hex(4))


def write_own_change(state: State, change: OwnChange, stage: str, now_s: float, reply: str = "") -> None:
    """Append the line of a stage: ``sending``, ``done`` or ``failed``. Raises OSError."""
    line = {
        "time": datetime.fromtimestamp(now_s, tz=timezone.utc).isoformat(timespec="milliseconds"),
        "stage": stage,
        "user": f"root ({change.account})",
        "origin": f"a pass on {socket.gethostname()}",
        "server": change.server,
        "command": change.command,
        "before": change.before,
        "after": change.after,
        "reply": reply,
        "change": change.change,
    }
    state.append(CHANGES, (json.dumps(line) + "\n").encode("ascii"), full_bytes=FULL_BYTES)
