"""A target of the simulated centre whose replies are those of ``serve``, with real queue files and the real codec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from migration.passes.target.answer_avail_accept_query_withdraw_stop import is_never_had, serve
from migration.protocol.message_lines_and_fields import from_line_bytes, to_line_bytes
from migration.protocol.questions import STOP, About
from migration.protocol.replies import Reply, reply_from_data, reply_to_data
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import FINAL, REQUESTED
from tests.migration.passes.simulated_centre import USER, Clock, Target
from tests.migration.target_job.fake_target import FakeTarget

ACCOUNT = "guest"
"""The account at the target: jobs of the user who runs the tests may be refused there, since that may be root."""


class ReceivedRecords(MutableMapping[str, Record]):
    """The jobs in a target's files: those that it has, and those that it had."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool

    def __getitem__(self, gid: str) -> Record:
        return self._read()[gid]

    def __setitem__(self, gid: str, record: Record) -> None:
        with self._spool.change() as change:
            if record.state in FINAL or record.state == REQUESTED:
                change.move(Queue.RECEIVED, Queue.DONE, record)
            else:
                change.put(Queue.RECEIVED, record)

    def __delitem__(self, gid: str) -> None:
        raise TypeError("a target drops no record")

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, Record]:
        found = [one for queue in (Queue.DONE, Queue.RECEIVED) for one in self._spool.read(queue)]
        return {one.gid: one for one in found if not is_never_had(one)}


class ServedTarget(Target):
    """What its processes do is as in :class:`Target`; what it answers is the product's."""

    def __init__(self, name: str, clock: Clock, home: Path) -> None:
        home.mkdir()
        self._there = FakeTarget(home, name, users={"a": {USER: ACCOUNT}})
        super().__init__(name, clock, records=ReceivedRecords(self._there.site.spool))  # type: ignore[arg-type]

    def reply(self, verb: str, body: Mapping[str, Any] | None) -> Reply:
        there = self._there
        there.now_s = self.clock()
        there.scheduler.cores = 0 if self.busy else self.cores - self._used()
        sent = b"" if body is None else to_line_bytes(body)
        reply = serve(there.site, "a", verb, sent)
        if verb == STOP:
            self._stop_as_its_process_does(About.from_data(body))
        answered = from_line_bytes(to_line_bytes(reply_to_data(reply, self.clock())))
        return reply_from_data(answered, self.clock())

    def _used(self) -> int:
        """The cores of jobs that the scheduler has."""
        return sum(one.cores for one in self.records.values() if self.alive(one.gid) and one.localid)

    def _stop_as_its_process_does(self, about: About) -> None:
        record = self.records.get(about.gid)
        if record is not None and record.attempt == about.attempt:
            self._stop(record, about.discard)
