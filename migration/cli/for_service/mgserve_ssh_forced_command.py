"""``mgserve CLUSTER``: the forced command of another cluster's key. One verb, one JSON line each way; of ``several``
as many as are asked, each answered before the next is read.

So many connections are answered at once for a cluster, and each line has to be there within a time; more are told to
ask again.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import cast
from urllib.parse import quote

from migration.cli.for_service.start_job_process import start_mgproc
from migration.config.cluster_file import ClusterFileError
from migration.passes.promised_cores import is_in_flight
from migration.passes.target.answer_avail_accept_query_withdraw_stop import serve
from migration.protocol.messages import (
    ACCEPT,
    MOST_BYTES,
    SEVERAL,
    STOP,
    Failed,
    MessageError,
    Reply,
    State,
    Taken,
    read_several,
    read_verb,
    reply_to_data,
    to_line_bytes,
)
from migration.schedulers.remember_what_is_free import RememberedFree
from migration.schedulers.scheduler_interface import LocalScheduler
from migration.spool.queue_file import Queue
from migration.spool.spool import SpoolError
from migration.target_job.job_process_lock_and_transfer_slots import take_slot
from migration.target_job.jobs_with_something_to_do import find_turns
from migration.target_job.service_context import Site, open_site

_MOST_AT_ONCE = 8
"""Of one cluster, whose passes ask one thing after the other."""
_READ_WITHIN_S = 30
"""The process ends then, before it has done anything."""
_NEXT_WITHIN_S = 120
"""The same for the next question, before which the source may have asked others."""
_ERRORS = (MessageError, SpoolError, ClusterFileError, OSError)


def main() -> None:
    """Run by sshd."""
    if len(sys.argv) != 2:
        sys.exit("mgserve: run by sshd, with the name of a cluster")
    for reply in _answers(sys.argv[1]):
        sys.stdout.buffer.write(to_line_bytes(reply_to_data(reply, time.time())))
        sys.stdout.buffer.flush()


def _answers(cluster: str) -> Iterator[Reply]:
    try:
        verb = read_verb(os.environ.get("SSH_ORIGINAL_COMMAND", ""))
        site = open_site()
        with take_slot(site.home, f"serving.{quote(cluster, safe='')}", _MOST_AT_ONCE) as taken:
            if not taken:
                yield Failed(f"busy with {_MOST_AT_ONCE} questions of cluster {cluster}: ask again later")
            elif verb == SEVERAL:
                within_s, site = _READ_WITHIN_S, _with_remembered_free(site)
                while line := _read(within_s, whole=False):
                    yield _answer_line(site, cluster, line)
                    within_s = _NEXT_WITHIN_S
            else:
                yield _answer(site, cluster, verb, _read(_READ_WITHIN_S, whole=True))
    except _ERRORS as error:
        yield _failed(error)


def _with_remembered_free(site: Site) -> Site:
    def find_counted() -> frozenset[str]:
        now_s = site.now()
        return frozenset(one.gid for one in site.spool.read(Queue.RECEIVED) if not is_in_flight(one, now_s))

    return replace(site, scheduler=cast(LocalScheduler, RememberedFree(site.scheduler, find_counted)))


def _read(within_s: int, *, whole: bool) -> bytes:
    """Standard input, or a line of it; the process ends if it is not there in time."""
    signal.alarm(within_s)
    read = sys.stdin.buffer.read if whole else sys.stdin.buffer.readline
    data = read(MOST_BYTES + 1)
    signal.alarm(0)
    return data


def _answer_line(site: Site, cluster: str, line: bytes) -> Reply:
    try:
        verb, body = read_several(line)
    except MessageError as error:
        return _failed(error)
    return _answer(site, cluster, verb, body)


def _answer(site: Site, cluster: str, verb: str, body: bytes) -> Reply:
    try:
        reply = serve(site, cluster, verb, body)
        _start_process(site, verb, reply)
    except _ERRORS as error:
        return _failed(error)
    return reply


def _start_process(site: Site, verb: str, reply: Reply) -> None:
    """Start the job's process where there is something to do at once. Otherwise another one, or a pass, goes on."""
    if verb == STOP and isinstance(reply, State) and not reply.record.final:
        start_mgproc(reply.record.gid)
    elif verb == ACCEPT and isinstance(reply, Taken):
        gid = reply.record.gid
        if gid in find_turns(site, site.spool.read(Queue.RECEIVED)):
            start_mgproc(gid)


def _failed(error: Exception) -> Failed:
    return Failed("".join(letter if letter.isprintable() else "?" for letter in str(error))[:300])
