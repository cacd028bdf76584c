"""``mgserve CLUSTER``: the forced command of another cluster's key. One verb, one JSON line each way.

So many are answered at once for a cluster, and its line has to be there within a time; more are told to ask again.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from urllib.parse import quote

from migration.cli.for_service.start_job_process import start_mgproc
from migration.config.cluster_file import ClusterFileError
from migration.passes.target.answer_avail_accept_query_withdraw_stop import serve
from migration.protocol.messages import (
    MOST_BYTES,
    STOP,
    Failed,
    MessageError,
    Reply,
    State,
    read_verb,
    reply_to_data,
    to_line_bytes,
)
from migration.spool.spool import SpoolError
from migration.target_job.job_process_lock_and_transfer_slots import take_slot
from migration.target_job.service_context import open_site

_MOST_AT_ONCE = 8
"""Of one cluster, whose passes ask one thing after the other."""
_READ_WITHIN_S = 30
"""The process ends then, before it has done anything."""


def main() -> None:
    """Run by sshd."""
    if len(sys.argv) != 2:
        sys.exit("mgserve: run by sshd, with the name of a cluster")
    sys.stdout.buffer.write(to_line_bytes(reply_to_data(_answer(sys.argv[1]), time.time())))


def _answer(cluster: str) -> Reply:
    try:
        verb = read_verb(os.environ.get("SSH_ORIGINAL_COMMAND", ""))
        site = open_site()
        with take_slot(site.home, f"serving.{quote(cluster, safe='')}", _MOST_AT_ONCE) as taken:
            if not taken:
                return Failed(f"busy with {_MOST_AT_ONCE} questions of cluster {cluster}: ask again later")
            signal.alarm(_READ_WITHIN_S)
            body = sys.stdin.buffer.read(MOST_BYTES + 1)
            signal.alarm(0)
            reply = serve(site, cluster, verb, body)
    except (MessageError, SpoolError, ClusterFileError, OSError) as error:
        return Failed("".join(letter if letter.isprintable() else "?" for letter in str(error))[:300])
    if verb == STOP and isinstance(reply, State) and not reply.record.final:
        start_mgproc(reply.record.gid)
    return reply
