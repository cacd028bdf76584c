"""A kill at any call that reaches the disk: no acknowledged record is lost, and none goes back."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from migration.spool.queue_file import Queue
from migration.spool.spool import Spool, StaleRecordError
from policy.migration.job_record_and_copy_updates import Record

CALLS = ("open", "write", "fsync", "replace", "fchmod")
GIDS = ("a.1", "a.2", "b.1")


class Kill(BaseException):
    """The process ends here."""


class Killer:
    """Lets so many calls through, then ends the process; the last write may be cut off."""

    def __init__(self, after: int) -> None:
        self.left = after

    def around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **more: Any) -> Any:
            if self.left == 0:
                if name == "write":
                    call(args[0], bytes(args[1])[: len(args[1]) // 2])
                raise Kill
            self.left -= 1
            return call(*args, **more)

        return called


class Operation(NamedTuple):
    kind: str
    gid: str
    old: Queue
    new: Queue
    attempt: int
    rev: int


OPERATIONS = st.builds(
    Operation,
    st.sampled_from(("put", "move")),
    st.sampled_from(GIDS),
    st.sampled_from((Queue.REQUEST, Queue.SENT)),
    st.sampled_from((Queue.REQUEST, Queue.SENT, Queue.DONE)),
    st.integers(1, 3),
    st.integers(1, 9),
)


def newest(spool: Spool) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for queue in Queue:
        for record in spool.read(queue):
            if record.gid not in found or record.age > found[record.gid].age:
                found[record.gid] = record
    return found


@settings(max_examples=150, deadline=None)
@given(st.lists(OPERATIONS, max_size=8), st.integers(0, 60), st.booleans())
def test_a_kill_loses_no_acknowledged_record(operations: list[Operation], after: int, garbage: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if garbage:
            (home / "request.q").write_bytes(b"garbage\n")
        acknowledged: dict[str, tuple[int, int]] = {}
        killer = Killer(after)
        patches = [patch.object(os, name, killer.around(name, getattr(os, name))) for name in CALLS]
        for one in patches:
            one.start()
        try:
            for operation in operations:
                with Spool(home).change() as change:
                    record = Record(gid=operation.gid, attempt=operation.attempt, rev=operation.rev)
                    found = change.find(operation.gid)
                    if found is not None and found[1].age >= record.age:
                        continue
                    old = operation.old if found is None else found[0]
                    with suppress(StaleRecordError):
                        if operation.kind == "put" or operation.new is old:
                            change.put(old, record)
                        else:
                            change.move(old, operation.new, record)
                        acknowledged[operation.gid] = max(acknowledged.get(operation.gid, (0, 0)), record.age)
        except Kill:
            pass
        finally:
            for one in patches:
                one.stop()
        spool = Spool(home)
        with spool.change() as change:
            everything = [record.gid for queue in Queue for record in change.records(queue)]
        assert len(everything) == len(set(everything)), "a job is in one file"
        after_it = newest(spool)
        for gid, age in acknowledged.items():
            assert gid in after_it
            assert after_it[gid].age >= age
        assert not garbage or [bad.line for bad in spool.read_bad()] == ["garbage"]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 12), st.integers(1, 4))
def test_a_kill_never_gives_a_serial_out_twice(after: int, times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        given_out: list[str] = []
        killer = Killer(after)
        patches = [patch.object(os, name, killer.around(name, getattr(os, name))) for name in CALLS]
        for one in patches:
            one.start()
        try:
            for _ in range(times):
                with Spool(Path(folder)).change() as change:
                    given_out.append(change.next_gids("a", 1)[0])
        except Kill:
            pass
        finally:
            for one in patches:
                one.stop()
        with Spool(Path(folder)).change() as change:
            given_out += change.next_gids("a", 2)
        assert len(set(given_out)) == len(given_out)


def test_a_move_that_was_killed_half_way_leaves_the_newer_record(tmp_path: Path) -> None:
    one = Record(gid="a.1")
    with Spool(tmp_path).change() as change:
        change.put(Queue.REQUEST, one)
    real = os.replace
    calls: list[str] = []

    def third_fails(old: Any, new: Any) -> None:
        calls.append(str(new))
        if len(calls) == 3:
            raise Kill
        real(old, new)

    with patch.object(os, "replace", third_fails), suppress(Kill), Spool(tmp_path).change() as change:
        change.move(Queue.REQUEST, Queue.SENT, replace(one, rev=2))
    assert [str(Path(call).relative_to(tmp_path)) for call in calls] == ["sent.q", "shown/sent.q", "request.q"]
    assert Spool(tmp_path).read(Queue.REQUEST) == [one]
    with Spool(tmp_path).change() as change:
        assert (change.records(Queue.REQUEST), change.records(Queue.SENT)) == ([], [replace(one, rev=2)])
