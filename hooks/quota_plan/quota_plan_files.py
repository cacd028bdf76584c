"""The plan of quotas on disk: the plan, written by commands, and the record and the published list, written by passes.

Each file has one writer and is replaced whole, so no reader ever sees half of a plan. A file that cannot be used stops
no pass: then nothing planned is set or taken back.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hooks.store.bounded_json import parse_json
from hooks.store.state_files import State
from policy.quota_plan.limits_due import PlanRecord
from policy.quota_plan.planned_quotas import Plan, PlanError, PlannedQuota, plan_from_data, plan_to_data

QUOTA_PLAN = "quota-plan.json"
QUOTA_PLAN_RECORD = "quota-plan-record.json"
QUOTA_PLAN_SHOWN = "quota-plan-shown.json"
_QUOTA_PLAN_LOCK = "quota-plan.lock"
_MOST_BYTES = 8 << 20


class PlanFiles(NamedTuple):
    """The plan and the record of what was set; ``problem`` says why the plan cannot be used, ``lost`` why the record
    cannot."""

    plan: Plan = ()
    record: PlanRecord = PlanRecord()
    problem: str = ""
    lost: str = ""


def read_plan_files(state: State) -> PlanFiles:
    """What is on disk; nothing where no quota was ever planned. Never raises."""
    record, lost = PlanRecord(), ""
    try:
        record = PlanRecord.from_data(_read(state.path / QUOTA_PLAN_RECORD, PlanRecord().to_data()))
    except (PlanError, OSError, ValueError) as error:
        record, lost = PlanRecord(lost=True), _tell(state.path / QUOTA_PLAN_RECORD, error)
    try:
        return PlanFiles(read_plan(state), record, lost=lost)
    except PlanError as error:
        return PlanFiles((), record, str(error), lost)


def read_plan(state: State) -> Plan:
    """The plan; empty where there is none. Raises :class:`PlanError` with the file's name."""
    path = state.path / QUOTA_PLAN
    try:
        return plan_from_data(_read(path, plan_to_data(())))
    except (PlanError, OSError, ValueError) as error:
        raise PlanError(_tell(path, error)) from error


def write_plan(state: State, plan: Iterable[PlannedQuota]) -> None:
    """Replace the plan. Raises OSError."""
    state.publish(QUOTA_PLAN, plan_to_data(plan), shared=False)


def write_record(state: State, record: PlanRecord) -> None:
    """Replace the record. Raises OSError."""
    state.publish(QUOTA_PLAN_RECORD, record.to_data(), shared=False)


def publish_shown(state: State, data: Mapping[str, Any]) -> None:
    """Replace the list for the console if it has changed. Raises OSError."""
    if state.read_published(QUOTA_PLAN_SHOWN) != data:
        state.publish(QUOTA_PLAN_SHOWN, data, shared=True)


@contextlib.contextmanager
def plan_locked(state: State) -> Iterator[None]:
    """Let no other command write the plan meanwhile; passes only read it. Raises OSError, BlockingIOError if another
    command is at it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(state.path / _QUOTA_PLAN_LOCK, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _read(path: Path, missing: Mapping[str, Any]) -> Any:
    """A file's data; ``missing`` if there is no file."""
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise PlanError(f"it has {size:,} bytes; allowed are {_MOST_BYTES:,}")
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return missing


def _tell(path: Path, error: Exception) -> str:
    return f"{path} cannot be used: {error}"
