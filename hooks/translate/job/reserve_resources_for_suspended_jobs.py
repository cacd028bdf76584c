"""The resources reserved for suspended jobs that PBS's scheduler will resume: cores, and all else that they need again.

PBS's scheduler resumes such a job once its vnodes have room for it, so no other job may take that room as it comes
free. The pass plans around it as around a reservation, and the runjob hook refuses a start by the scheduler that would
take it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import waits_to_resume
from hooks.pbs.server_status_type_and_attributes import Attributes, Objects, ServerStatus
from hooks.translate.closures.reservation_windows_type import Reservations
from hooks.translate.closures.reservations import amounts_by_vnode
from hooks.translate.job.walltime import read_walltime_s
from policy.model.allocation import Allocation, AllocationError, parse_exec_vnode
from policy.model.job_request import Amounts
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Server, Window
from policy.model.pbs_units import UnitError, parse_resource

_ALONE = frozenset({"excl", "exclhost"})


class ResumeNeed(NamedTuple):
    """What a job to be resumed needs again of each of its vnodes; None means the whole vnode. ``run_s`` is the longest
    time in seconds that it may still run."""

    job_id: str
    queue: str
    vnodes: Mapping[str, Amounts | None]
    run_s: float

    def window(self, vnode: str, now_s: float) -> Window:
        """The window in which the vnode is reserved for the job."""
        name = f"suspended job {self.job_id.split('.', maxsplit=1)[0]}"
        return Window(now_s, now_s + self.run_s, name, self.vnodes[vnode])


def find_resume_needs(server_status: ServerStatus) -> Iterator[ResumeNeed]:
    """One entry per suspended job that is to be resumed. Jobs in reservations are left out, since the reservation has
    its own vnodes."""
    reserved = {texts.get("queue", "") for texts in server_status.reservations.values()}
    for job_id, texts in server_status.jobs.items():
        queue = texts.get("queue", "")
        if not waits_to_resume(texts) or queue in reserved:
            continue
        allocation = read_released(texts)
        if allocation is not None:
            alone = bool(set(texts.get("Resource_List.place", "").split(":")) & _ALONE)
            amounts = amounts_by_vnode(allocation)
            vnodes = {vnode: None if alone else amounts[vnode] for vnode in amounts}
            yield ResumeNeed(job_id, queue, vnodes, _read_longest_s(texts))


def with_resume_windows(reservations: Reservations, needs: Iterable[ResumeNeed], now_s: float) -> Reservations:
    """The reservations with the windows of these jobs added."""
    windows = dict(reservations.windows)
    for each in needs:
        for vnode in each.vnodes:
            windows[vnode] = (*windows.get(vnode, ()), each.window(vnode, now_s))
    return reservations._replace(windows=windows)


def without_resume_needs(server: Server, needs: Iterable[ResumeNeed], jobs: Objects) -> Server:
    """The server without what these jobs need again of its consumables. It counts none of that as assigned."""
    suspended = [jobs[each.job_id] for each in needs]
    shared = {
        resource: amount - sum(_sum_released(texts, resource) for texts in suspended)
        for resource, amount in server.shared.items()
    }
    return replace(server, shared=shared)


def _sum_released(texts: Attributes, resource: str) -> int:
    """What a suspended job needs again of a resource that it asks for in chunks or as a whole."""
    allocation = read_released(texts)
    in_chunks = sum(
        amount * chunks
        for _, amounts, chunks, _ in (allocation.spots if allocation is not None else ())
        for name, amount in amounts
        if name == resource
    )
    if in_chunks or texts.get("resources_released", ""):
        return in_chunks
    return parse_resource(resource, texts.get(f"Resource_List.{resource}", "0")) or 0


def read_released(texts: Attributes) -> Allocation | None:
    """What a suspended job needs again: all that it holds, or with ``restrict_res_to_release_on_suspend`` the released
    part of it. None if it cannot be read."""
    try:
        return parse_exec_vnode(texts.get("resources_released", "") or texts.get("exec_vnode", ""))
    except AllocationError:
        return None


def _read_longest_s(texts: Attributes) -> float:
    try:
        return read_walltime_s(texts["Resource_List.walltime"])
    except (KeyError, UnitError):
        return UNLIMITED_S
