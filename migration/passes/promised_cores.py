"""Counts the cores that this cluster has promised to accepted jobs and that its scheduler does not count yet.

A job whose step has failed is promised none until that step is done, however often it is tried: else one file that
cannot be copied would keep idle cores from all others.
"""

from __future__ import annotations

from collections.abc import Iterable

from policy.migration.job_demand import Demand
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import BEFORE_RUN, SUBMITTED

_UNSEEN_FOR_S = 60
"""A submitted job that could start has started within this; afterwards it waits like any other job."""


def find_in_flight(records: Iterable[Record], now_s: float) -> list[Demand]:
    """The cores of accepted jobs. Without it two sources would fill the same idle cores."""
    return [record.demand for record in records if is_in_flight(record, now_s)]


def is_in_flight(record: Record, now_s: float) -> bool:
    """Whether the job has cores promised that no scheduler counts yet."""
    if record.state == SUBMITTED and record.localid:
        return not record.ran and now_s - record.since < _UNSEEN_FOR_S
    return (record.state == SUBMITTED or record.state in BEFORE_RUN) and not record.tries
