"""A request on a queue, vnode, scheduler, resource, hook or the server is done: it is written into the audit that all
administrators share.

The whole server waits for this hook, so it reads no object of the server, but for a request that PBS could not decode,
and writes one line without a sync. It never refuses: PBS has carried the request out when the hook runs.
"""

from __future__ import annotations

import socket
from typing import Any

from hooks.audit.request_of_management_event import as_line, describe_request
from hooks.audit.shared_audit_file import FULL_BYTES, changes_file
from hooks.pbs.managers_and_operators import may_manage
from hooks.store.append_lines import append_lines


def handle(pbs: Any) -> str | None:
    """Record the request of this event."""
    entry = describe_request(pbs.event(), socket.gethostname().partition(".")[0], lambda: may_manage(pbs))
    if entry is not None:
        path = changes_file(pbs.pbs_conf["PBS_HOME"])
        append_lines(path, as_line(entry), full_bytes=FULL_BYTES, sync=False)
    return None
