"""Asks another cluster over ssh: one verb, one JSON line each way, within a time limit.

A cluster that cannot be reached, is late, or sends an invalid reply raises :class:`NoReply`. Then it is unknown whether
the request was carried out. A cluster that reports a failure counts as reached.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from migration.config.cluster_file import Cluster
from migration.programs.run_external_program_with_limits import Run
from migration.protocol.messages import (
    PREFIX,
    Failed,
    MessageError,
    RecordError,
    Reply,
    from_line_bytes,
    reply_from_data,
    to_line_bytes,
)
from policy.migration.available_to_other_clusters import Answer
from policy.model.printable_text import printable

_WHOLE = 3
"""A call takes at most so many times the limit of its connection: a scheduler has to answer at the other end."""


class NoReply(Exception):  # noqa: N818 - it says what it is
    """The cluster has not answered; the message says what was seen instead."""


class FailedReply(NoReply):
    """The cluster was reached, and could not answer this one question. It may answer others."""


class Call(Protocol):
    """Asks a cluster."""

    def __call__(self, cluster: Cluster, verb: str, body: Mapping[str, Any] | None = None) -> Reply:
        """The reply, never ``Failed``. Raises :class:`NoReply`, or :class:`FailedReply` where the cluster is there."""


class SshCall:
    """Asks by ssh, with the service's own key. Host keys must be known already."""

    def __init__(self, run: Run, timeout_s: int) -> None:
        self._run = run
        self._timeout_s = timeout_s

    def __call__(self, cluster: Cluster, verb: str, body: Mapping[str, Any] | None = None) -> Reply:
        """See :class:`Call`."""
        if not cluster.ssh:
            raise NoReply("cluster.toml has no ssh for it")
        try:
            stdin = b"" if body is None else to_line_bytes(body)
        except MessageError as error:
            raise NoReply(str(error)) from error
        options = ["BatchMode=yes", "StrictHostKeyChecking=yes", f"ConnectTimeout={self._timeout_s}"]
        argv = ["ssh", "-T", *(word for option in options for word in ("-o", option)), cluster.ssh, PREFIX + verb]
        done = self._run(argv, stdin=stdin, timeout_s=_WHOLE * self._timeout_s)
        if not done.out:
            raise NoReply(done.problem)
        try:
            reply = reply_from_data(from_line_bytes(done.out), time.time())
        except RecordError as error:
            raise FailedReply(f"answered about this job what cannot be read: {printable(str(error))}") from error
        except MessageError as error:
            raise NoReply(f"answered what is no reply: {printable(str(error))}") from error
        if isinstance(reply, Failed):
            raise FailedReply(reply.text)
        if isinstance(reply, Answer) and reply.cluster != cluster.name:
            raise NoReply(f"calls itself {reply.cluster!r}: its cluster.toml and this one must agree")
        return reply
