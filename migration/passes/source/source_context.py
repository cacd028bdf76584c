"""The context of a source's pass: the queue files, the other clusters, and this cluster's scheduler.

A cluster that did not answer once is not asked again in the same pass; one that answered that it could not is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Protocol

from migration.config.cluster_file import ClusterFile
from migration.passes.source.notes_on_other_clusters import Notes
from migration.protocol.ask_cluster_over_ssh import Call, FailedReply, NoReply
from migration.protocol.replies import Reply
from migration.schedulers.scheduler_interface import LocalJob, LocalScheduler
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.available_to_other_clusters import Answer
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import FINAL


class NotPrepared(Exception):  # noqa: N818 - it says what it is
    """A job's folder cannot be used; the message names it and why."""


class JobFolders(Protocol):
    """Work in a job's folder at this cluster, as the job's user."""

    def prepare(self, record: Record, name: str) -> LocalJob:
        """The local job of this name, its wrapper written. Raises :class:`NotPrepared`, HungError."""

    def read_exit(self, record: Record) -> str:
        """The exit status that the wrapper has written; empty if there is none. Raises HungError, UnreadableError."""

    def clear(self, record: Record) -> None:
        """Remove the wrapper and the status. A failure is not reported."""


@dataclass
class Source:
    """One pass of a source. ``failed_offers`` counts, by cluster, the offers that could not be answered there."""

    spool: Spool
    file: ClusterFile
    call: Call
    scheduler: LocalScheduler
    folders: JobFolders
    notes: Notes
    clock: Callable[[], float] = time.time
    say: Callable[[str], None] = lambda _: None
    failed_offers: dict[str, int] = field(default_factory=dict)
    _silent: dict[str, str] = field(default_factory=dict)

    @property
    def this(self) -> str:
        """The name of this cluster."""
        return self.file.this.name

    def ask(self, name: str, verb: str, body: Mapping[str, Any] | None = None) -> Reply:
        """Ask another cluster. Raises :class:`NoReply`, at once where it was silent in this pass before, and
        :class:`FailedReply` where it is there and could not answer this."""
        other = self.file.other(name)
        if other is None:
            raise NoReply("no such cluster in the cluster file")
        if name in self._silent:
            raise NoReply(self._silent[name])
        notes = self.notes.of(name)
        try:
            reply = self.call(other, verb, body)
        except FailedReply as failed:
            notes.failures, notes.text, notes.heard = 0, str(failed), int(self.clock())
            raise
        except NoReply as silence:
            self._silent[name] = str(silence)
            notes.failures += 1
            notes.text = str(silence)
            raise
        notes.failures, notes.text, notes.heard = 0, "", int(self.clock())
        if isinstance(reply, Answer):
            notes.answer, notes.answered = reply.to_data(), notes.heard
        return reply

    def keep(self, record: Record) -> None:
        """Write a changed record of ``sent.q``, or move it to ``done.q`` where it is final."""
        with self.spool.change() as change:
            if record.state in FINAL:
                change.move(Queue.SENT, Queue.DONE, record)
            else:
                change.put(Queue.SENT, record)
        if record.state in FINAL:
            if record.in_place:
                self.folders.clear(record)
            self.notes.drop(record.gid)
            self.say(f"{record.gid}: {record.state}{f', {record.reason}' if record.reason else ''}")

    def give_back(self, record: Record) -> None:
        """Move a record that has become Requested again from ``sent.q`` to ``request.q``."""
        with self.spool.change() as change:
            change.move(Queue.SENT, Queue.REQUEST, record)
        self.say(f"{record.gid}: Requested again, {record.reason}")
