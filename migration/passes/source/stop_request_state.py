"""The state of a stop request in a job's record: sent by the user, then acknowledged by the target."""

from __future__ import annotations

from collections.abc import Iterable

from migration.passes.source.source_context import Source
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.round_robin_by_user import begin_at, round_robin_by_user

STOP, DISCARD = "stop", "discard"
_SEEN = {STOP: "stopping", DISCARD: "discarding"}
_MOST_OF_USER = 20
_MOST = 100
"""Stops of one pass, of a user and in all, that each need a call to a cluster or to the scheduler."""


def stops_of_pass(source: Source, to_stop: Iterable[Record]) -> list[Record]:
    """The stop requests that this pass handles. The next pass begins with others, so that a job that cannot be stopped
    now delays no other.
    """
    rotated = begin_at(list(to_stop), source.notes.number * _MOST_OF_USER)
    return round_robin_by_user(rotated, lambda record: record.user, _MOST_OF_USER, _MOST)


def discards(record: Record) -> bool:
    """Whether what there is at the target need not come back."""
    return record.stop in (DISCARD, _SEEN[DISCARD])


def is_unacknowledged(record: Record) -> bool:
    """Whether the request has still to be sent to the target."""
    return record.stop in _SEEN


def acknowledged(stop: str) -> str:
    """The state of the request after the target has answered."""
    return _SEEN.get(stop, stop)


def reopen(stop: str) -> str:
    """The request after the job has come back: the job was not stopped."""
    return next((asked for asked, seen in _SEEN.items() if seen == stop), stop)


def merge_stop(now: str, asked: str) -> str:
    """The request after the user has sent another one: --discard replaces a stop, and cannot be withdrawn."""
    if asked == DISCARD and now not in (DISCARD, _SEEN[DISCARD]):
        return DISCARD
    return now or asked
