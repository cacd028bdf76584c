"""Charges fair share usage while pbsteer drives: a scheduler that is switched off has no cycles, and only these charge.

The file ``usage`` gets only what the scheduler will not add by itself once it is switched on: the use of jobs that
started since, and of remembered jobs once they have ended (hooks/control/README.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hooks.pbs.files_and_output.fair_share_files import format_usage
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import USAGE
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from hooks.store.atomic_file import replace_file
from hooks.translate.site_order import read_number
from policy.model.jobs_runs_vnodes_queues import Run
from policy.order.job_sort_formula import JobSortFormula
from policy.order.site_order_settings import SiteOrder
from policy.state.cluster_snapshot import Snapshot

_PRERUNNING = "41"
_USED, _REQUESTED = "resources_used.", "Resource_List."
_TOUCH = "usage.touch"
"""The file that has a scheduler read its usage anew at its next cycle, as ``pbsfs`` makes it."""
_MODE = 0o644


class Charged(NamedTuple):
    """What is known of one running job: its entity, its usage as far as it is charged, and what the scheduler remembers
    of it; None for a job that it does not remember."""

    entity: str
    used: float
    remembered: float | None

    @property
    def outside(self) -> float:
        """What the scheduler will add by itself, and the file therefore does not have."""
        return 0.0 if self.remembered is None else max(0.0, self.used - self.remembered)


ChargeRecord = Mapping[str, Mapping[str, Charged]]
"""By scheduler that is driven: its running jobs."""


class Charges(NamedTuple):
    """The record of this pass, and the usage files to be written, by scheduler."""

    record: ChargeRecord
    files: Mapping[str, bytes]


def charge_usage(
    server_status: ServerStatus, snapshot: Snapshot, driven: frozenset[str], before: ChargeRecord, now_s: int
) -> Charges:
    """Bring the fair share trees of the snapshot's orders up to date where their queues are driven."""
    record: dict[str, Mapping[str, Charged]] = {}
    files: dict[str, bytes] = {}
    queues = snapshot.queues
    orders = {
        order.scheduler: order
        for order in (queues[name].order for name in sorted(driven) if name in queues)
        if order is not None and order.fair_share is not None
    }
    for scheduler, order in orders.items():
        names = {name for name, queue in queues.items() if queue.order is order}
        runs = [run for run in snapshot.runs.values() if run.job.queue in names and not run.exiting]
        known = before.get(scheduler)
        used = _used_by(server_status, order, runs)
        if known is None:
            # The first pass since the scheduler's last cycle, which saw these jobs.
            record[scheduler] = {run.id: Charged(run.job.entity, amount, amount) for run, amount in used}
            continue
        record[scheduler], data = _charge(order, known, used, now_s)
        if data is not None:
            files[scheduler] = data
    return Charges(record, files)


def _charge(
    order: SiteOrder, known: Mapping[str, Charged], used: list[tuple[Run, float]], now_s: int
) -> tuple[Mapping[str, Charged], bytes | None]:
    """Charge what was used since the last pass; returns the new record, and the usage file if it has changed."""
    assert order.fair_share is not None  # noqa: S101 - only such orders are charged
    tree = order.fair_share.tree
    changed = False
    now: dict[str, Charged] = {}
    for run, amount in used:
        old = known.get(run.id, Charged(run.job.entity, 0.0, None))
        now[run.id] = old._replace(used=max(amount, old.used))
        if old.remembered is None and amount > old.used:
            tree.charge(old.entity, amount - old.used)
            changed = True
    for job_id, old in known.items():
        if job_id not in now and old.outside > 0:
            tree.charge(old.entity, old.outside)
            changed = True
    changed = tree.decay_until(now_s, order.fair_share.decay_s, order.fair_share.decay_factor) or changed
    data = format_usage(tree.used(), tree.decayed_s) if changed else None
    for each in now.values():
        tree.charge(each.entity, each.outside)
    tree.weigh()
    return now, data


def _used_by(server_status: ServerStatus, order: SiteOrder, runs: list[Run]) -> list[tuple[Run, float]]:
    """What each run has used, by ``fairshare_usage_res``; nothing where that has no finite value, which would be
    charged for ever."""
    assert order.fair_share is not None  # noqa: S101 - only such orders are charged
    formula: JobSortFormula = order.fair_share.usage
    jobs = server_status.jobs
    begun = [run for run in runs if run.id in jobs and jobs[run.id].get("substate", "") != _PRERUNNING]
    columns = {name: [_read_used(jobs[run.id], name) for run in begun] for name in formula.uses}
    values = formula.values(columns, len(begun))
    return [(run, amount if math.isfinite(amount) else 0.0) for run, amount in zip(begun, values)]


def _read_used(texts: Attributes, name: str) -> float:
    """What a job has used of a resource or, if that is not measured, requested; nothing until its host has reported."""
    text = texts.get(_USED + name)
    if text is None:
        reported = any(attribute.startswith(_USED) for attribute in texts)
        text = texts.get(_REQUESTED + name, "") if reported else ""
    return read_number(text)


def write_usage(server_status: ServerStatus, files: Mapping[str, bytes]) -> list[str]:
    """Write the usage files; returns a sentence for each that could not be written."""
    failures = []
    for scheduler, data in files.items():
        folder = Path(server_status.scheds.get(scheduler, {}).get("sched_priv", ""))
        if not folder.is_absolute():
            continue
        try:
            replace_file(folder / USAGE, data, mode=_MODE)
            replace_file(folder / _TOUCH, b"", mode=_MODE)
        except OSError as error:
            failures.append(f"fair share usage of scheduler {scheduler} is not written: {error}")
    return failures


def record_to_data(record: ChargeRecord) -> dict[str, Any]:
    """The record as plain data for JSON."""
    return {scheduler: {job_id: list(each) for job_id, each in jobs.items()} for scheduler, jobs in record.items()}


def record_from_data(data: Mapping[str, Any]) -> ChargeRecord:
    """What :func:`record_to_data` made; what cannot be read is taken as no record."""
    try:
        return {
            str(scheduler): {
                str(job_id): Charged(str(entity), float(used), None if remembered is None else float(remembered))
                for job_id, (entity, used, remembered) in jobs.items()
            }
            for scheduler, jobs in data.items()
        }
    except (AttributeError, TypeError, ValueError):
        return {}
