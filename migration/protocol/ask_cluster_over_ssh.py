"""Asks another cluster over ssh: one verb, one JSON line each way, within a time limit.

A cluster that cannot be reached, is late, or sends an invalid reply raises :class:`NoReply`; whether it has carried out
the request is then unknown. A cluster that reports a failure counts as reached.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple, Protocol

from migration.config.cluster_file import Cluster
from migration.programs.converse_with_program import Conversation, NoAnswerError
from migration.programs.run_external_program_with_limits import TIMED_OUT, Run
from migration.protocol.message_lines_and_fields import (
    MOST_BYTES,
    MessageError,
    RecordError,
    from_line_bytes,
    to_line_bytes,
)
from migration.protocol.questions import PREFIX, SEVERAL, several_to_data
from migration.protocol.replies import Failed, Reply, is_unknown_verb, reply_from_data
from policy.migration.available_to_other_clusters import Answer
from policy.model.printable_text import printable

_REUSED_WITHIN_S = 60
"""A connection that was not used for longer may have been closed at the other end."""
_OPEN_FOR_S = 600
"""No connection is used longer: the other end closes it some minutes later."""
_CLOSED_WITHIN_S = 1.0
_WHOLE = 3
"""A call takes at most so many times the limit of its connection: a scheduler has to answer at the other end."""


class NoReply(Exception):  # noqa: N818 - it says what it is
    """The cluster has not answered; the message has what came instead."""


class FailedReply(NoReply):
    """The cluster was reached, and could not answer this one question. It may answer others."""


class Call(Protocol):
    """Asks a cluster."""

    def __call__(self, cluster: Cluster, verb: str, body: Mapping[str, Any] | None = None) -> Reply:
        """The reply, never ``Failed``. Raises :class:`NoReply`, or :class:`FailedReply` where the cluster is there."""


class _Talk(NamedTuple):
    """A connection for several questions: since when it is open, and when it was used last."""

    program: Conversation
    opened_s: float
    used_s: float


class SshCall:
    """Asks by ssh, with the service's own key. Host keys must be known already.

    With ``converse`` all questions to a cluster go over one connection, which ends with this process.
    """

    def __init__(
        self, run: Run, timeout_s: int, converse: Callable[[Sequence[str]], Conversation] | None = None
    ) -> None:
        self._run = run
        self._timeout_s = timeout_s
        self._converse = converse
        self._older: set[str] = set()
        self._open: dict[str, _Talk] = {}

    def __call__(self, cluster: Cluster, verb: str, body: Mapping[str, Any] | None = None) -> Reply:
        """See :class:`Call`."""
        if not cluster.ssh:
            raise NoReply("cluster.toml has no ssh for it")
        try:
            data = b"" if body is None else to_line_bytes(body)
            asked = to_line_bytes(several_to_data(verb, body))
        except MessageError as error:
            raise NoReply(str(error)) from error
        reply = None
        if self._converse is not None and cluster.name not in self._older:
            reply = self._ask(cluster, asked, self._converse)
        if reply is None:
            done = self._run(self._argv(cluster, verb), stdin=data, timeout_s=_WHOLE * self._timeout_s)
            if not done.out:
                raise NoReply(done.problem)
            reply = _read_reply(done.out)
        if isinstance(reply, Failed):
            raise FailedReply(reply.text)
        if isinstance(reply, Answer) and reply.cluster != cluster.name:
            raise NoReply(f"calls itself {reply.cluster!r}: its cluster.toml and this one must agree")
        return reply

    def _argv(self, cluster: Cluster, verb: str) -> list[str]:
        options = ["BatchMode=yes", "StrictHostKeyChecking=yes", f"ConnectTimeout={self._timeout_s}"]
        return ["ssh", "-T", *(word for option in options for word in ("-o", option)), cluster.ssh, PREFIX + verb]

    def _ask(self, cluster: Cluster, data: bytes, converse: Callable[[Sequence[str]], Conversation]) -> Reply | None:
        """The reply over the connection for all questions; None where the cluster knows no such connections.

        A connection that was used before may have ended at the other end without this question. Then it is asked once
        more over a new one: a question that is repeated has the same answer.
        """
        until_s = time.monotonic() + _WHOLE * self._timeout_s
        talk = self._take_open(cluster.name)
        if talk is not None:
            try:
                return self._ask_over(cluster.name, talk, data, until_s)
            except NoAnswerError as error:
                talk.program.close(_CLOSED_WITHIN_S)
                if error.status == TIMED_OUT:
                    raise NoReply(str(error)) from error
        try:
            now_s = time.monotonic()
            talk = _Talk(converse(self._argv(cluster, SEVERAL)), now_s, now_s)
        except NoAnswerError as error:
            raise NoReply(str(error)) from error
        try:
            reply = self._ask_over(cluster.name, talk, data, until_s)
        except NoAnswerError as error:
            errors = printable(talk.program.close(_CLOSED_WITHIN_S))
            raise NoReply(errors or str(error)) from error
        if isinstance(reply, Failed):
            # It may be the answer to the connection itself, which has ended then.
            self._open.pop(cluster.name).program.close(_CLOSED_WITHIN_S)
        if is_unknown_verb(reply, SEVERAL):
            self._older.add(cluster.name)
            return None
        return reply

    def _take_open(self, name: str) -> _Talk | None:
        """The connection to a cluster if it may be used once more; the caller owns it then."""
        talk, now_s = self._open.pop(name, None), time.monotonic()
        if talk is None:
            return None
        if now_s - talk.used_s > _REUSED_WITHIN_S or now_s - talk.opened_s > _OPEN_FOR_S or talk.program.has_ended:
            talk.program.close(_CLOSED_WITHIN_S)
            return None
        return talk

    def _ask_over(self, name: str, talk: _Talk, data: bytes, until_s: float) -> Reply:
        """The reply, after which the connection is open for the next question. Raises NoAnswerError, and
        :class:`NoReply` with the connection closed where it is none."""
        talk.program.send(data, until_s)
        line = talk.program.read_line(MOST_BYTES, until_s)
        try:
            reply = _read_reply(line)
        except FailedReply:
            self._open[name] = talk._replace(used_s=time.monotonic())
            raise
        except NoReply as error:
            errors = printable(talk.program.close(_CLOSED_WITHIN_S))
            raise NoReply(errors or str(error)) from error
        self._open[name] = talk._replace(used_s=time.monotonic())
        return reply


def _read_reply(data: bytes) -> Reply:
    """The reply on a line; Failed too. Raises :class:`NoReply`, :class:`FailedReply`."""
    try:
        return reply_from_data(from_line_bytes(data), time.time())
    except RecordError as error:
        raise FailedReply(f"answered about this job what cannot be read: {printable(str(error))}") from error
    except MessageError as error:
        raise NoReply(f"its reply is invalid: {printable(str(error))}") from error
