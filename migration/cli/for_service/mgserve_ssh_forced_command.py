"""``mgserve CLUSTER``: the forced command of another cluster's key, which answers one verb, a JSON line each way, or
with ``several`` questions one by one.

Connections, the wait for a line, and the length of a connection are limited. No request starts a process here.
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

from migration.config.cluster_file import ClusterFileError
from migration.passes.early_pass import TARGET, call_for_pass
from migration.passes.promised_cores import is_in_flight
from migration.passes.target.answer_avail_accept_query_withdraw_stop import serve
from migration.protocol.message_lines_and_fields import MOST_BYTES, MessageError, to_line_bytes
from migration.protocol.questions import ACCEPT, SEVERAL, STOP, read_several, read_verb
from migration.protocol.replies import Failed, Reply, State, Taken, reply_to_data
from migration.schedulers.remember_what_is_free import RememberedFree
from migration.schedulers.scheduler_interface import LocalScheduler
from migration.spool.queue_file import Queue
from migration.spool.spool import SpoolError
from migration.target_job.job_process_lock_and_transfer_slots import is_leased, take_slot
from migration.target_job.service_context import Site, open_site
from policy.migration.job_states_and_transitions import WAITING

_MOST_AT_ONCE = 8
"""Connections of one cluster, whose passes ask one question after the other."""
_READ_WITHIN_S = 30
"""The time limit for the request; the process then ends before it has done anything."""
_NEXT_WITHIN_S = 120
"""The time limit for the next question; the source may ask others in between."""
_OPEN_FOR_S = 900.0
"""The time after which a connection takes no further question: sshd checks the key only when it begins."""
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
                yield from _answer_several(site, cluster)
            else:
                yield from _answer(site, cluster, verb, _read(_READ_WITHIN_S, whole=True))
    except _ERRORS as error:
        yield _failed(error)


def _answer_several(opened: Site, cluster: str) -> Iterator[Reply]:
    """Answer each question by the cluster file as it is then. For a cluster that has left it, or has another key there,
    the answer says so, and the connection ends."""
    key, until_s, within_s = _key_of(opened, cluster), time.monotonic() + _OPEN_FOR_S, float(_READ_WITHIN_S)
    site = _with_remembered_free(opened)
    while (left_s := until_s - time.monotonic()) > 0:
        line = _read(min(within_s, left_s), whole=False)
        if not line:
            return
        now = opened.renewed()
        if now is not opened:
            opened, site = now, _with_remembered_free(now)
        if _key_of(opened, cluster) != key:
            yield _not_known(cluster)
            return
        yield from _answer_line(site, cluster, line)
        within_s = _NEXT_WITHIN_S


def _key_of(site: Site, cluster: str) -> str | None:
    """The cluster's key in the cluster file; None where it is not in it."""
    other = site.file.other(cluster)
    return None if other is None else other.key


def _not_known(cluster: str) -> Failed:
    return Failed(f"cluster {cluster} may not ask here any more: cluster.toml has changed")


def _with_remembered_free(site: Site) -> Site:
    def find_counted() -> frozenset[str]:
        now_s = site.now()
        return frozenset(one.gid for one in site.spool.read(Queue.RECEIVED) if not is_in_flight(one, now_s))

    return replace(site, scheduler=cast(LocalScheduler, RememberedFree(site.scheduler, find_counted)))


def _read(within_s: float, *, whole: bool) -> bytes:
    """Standard input, or a line of it; the process ends if it does not come in time."""
    signal.setitimer(signal.ITIMER_REAL, within_s)
    read = sys.stdin.buffer.read if whole else sys.stdin.buffer.readline
    data = read(MOST_BYTES + 1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return data


def _answer_line(site: Site, cluster: str, line: bytes) -> Iterator[Reply]:
    try:
        verb, body = read_several(line)
    except MessageError as error:
        yield _failed(error)
        return
    yield from _answer(site, cluster, verb, body)


def _answer(site: Site, cluster: str, verb: str, body: bytes) -> Iterator[Reply]:
    """The one reply. Passes and processes that it calls for are started after it has been sent, and do not change
    it."""
    if _key_of(site, cluster) is None:
        yield _not_known(cluster)
        return
    try:
        reply = serve(site, cluster, verb, body)
    except _ERRORS as error:
        yield _failed(error)
        return
    yield reply
    if _needs_pass(site, verb, reply):
        call_for_pass(site.home, TARGET)


def _needs_pass(site: Site, verb: str, reply: Reply) -> bool:
    """Whether the job can go on now and no process works on it."""
    if verb == ACCEPT:
        return isinstance(reply, Taken) and reply.record.state == WAITING
    if verb == STOP and isinstance(reply, State) and not reply.record.final:
        return not is_leased(site.spool.job_folder(reply.record.gid))
    return False


def _failed(error: Exception) -> Failed:
    return Failed("".join(letter if letter.isprintable() else "?" for letter in str(error))[:300])
