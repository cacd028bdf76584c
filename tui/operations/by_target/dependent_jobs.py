"""What becomes of the jobs that depend on one that is deleted or killed, and for which jobs a dependent still waits.

A server writes a job's dependents into its ``depend``, by kinds that begin with ``before``. With a run that is deleted
it deletes those of afterok and after, and whatever depends on these; those of afternotok and afterany may start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from hooks.pbs.job_attributes.depend_as_pbs_parses_it import BEFORE, ON, RUNONE, find_kinds, find_named_jobs
from hooks.pbs.server_status_type_and_attributes import Attributes
from policy.model.pbs_units import show_count, show_job
from tui.config.match_server_names import is_same
from tui.model.typed_attributes import RUNNING_STATES
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, safe

_DELETED_WITH_RUN = ("before", "beforeok", RUNONE)
_MOST_NAMES = 8


class Dependents(NamedTuple):
    """The jobs that are deleted too, and those that stay held for good, since nothing tells them of the end."""

    deleted: tuple[str, ...] = ()
    stranded: tuple[str, ...] = ()


def find_dependents(cluster: ClusterView, ended: Collection[str], *, waiting_tell: bool) -> Dependents:
    """What becomes of those that depend on the ended jobs. ``waiting_tell``: the server deletes dependents of a job
    that is deleted while it waits too; else these stay held."""
    deleted: dict[str, None] = {}
    stranded: dict[str, None] = {}
    for job in ended:
        runs = cluster.server_status.jobs.get(job, {}).get("job_state", "") in (*RUNNING_STATES, "B")
        if runs or waiting_tell:
            _add_chain(cluster, _dependents(cluster, job, _DELETED_WITH_RUN), deleted)
        else:
            stranded.update(dict.fromkeys(_dependents(cluster, job, BEFORE)))
    gone = {*deleted, *ended}
    return Dependents(
        tuple(job for job in deleted if job not in ended), tuple(job for job in stranded if job not in gone)
    )


def dependent_lines(dependents: Dependents) -> list[Line]:
    """A line for the jobs that are deleted too, and one for those that stay held."""
    lines: list[Line] = []
    if dependents.deleted:
        said = f"{_count(dependents.deleted)} on that and {_are(dependents.deleted)} deleted too"
        lines.append(((safe(f"{said}: {_names(dependents.deleted)}"), "bad"),))
    if dependents.stranded:
        stay = "stays" if len(dependents.stranded) == 1 else "stay"
        said = f"{_count(dependents.stranded)} on that and {stay} held until released"
        lines.append(((safe(f"{said}: {_names(dependents.stranded)}"), "warn"),))
    return lines


def find_awaited(cluster: ClusterView, texts: Attributes) -> str:
    """What a job still waits for by its ``depend``: ``afterok 11``; empty if all of it is over. A job at another server
    counts as not over."""
    depend = texts.get("depend", "")
    for named in find_named_jobs(depend):
        is_over = named.job_id not in cluster.server_status.jobs and is_same(named.server, cluster.server_name)
        if named.kind not in BEFORE and not is_over:
            return f"{named.kind} {show_job(named.job_id)}"
    return ON if ON in find_kinds(depend) else ""


def _dependents(cluster: ClusterView, job: str, kinds: Sequence[str]) -> list[str]:
    depend = cluster.server_status.jobs.get(job, {}).get("depend", "")
    named = (each.job_id for each in find_named_jobs(depend) if each.kind in kinds)
    return [each for each in named if each in cluster.server_status.jobs]


def _add_chain(cluster: ClusterView, jobs: Iterable[str], found: dict[str, None]) -> None:
    """Add the jobs and, of whatever kind, what depends on them: a job that was never to start ends none well."""
    left = list(jobs)
    while left:
        job = left.pop(0)
        if job not in found:
            found[job] = None
            left += _dependents(cluster, job, BEFORE)


def _count(jobs: Sequence[str]) -> str:
    return f"{show_count(len(jobs), 'job')} {'depends' if len(jobs) == 1 else 'depend'}"


def _are(jobs: Sequence[str]) -> str:
    return "is" if len(jobs) == 1 else "are"


def _names(jobs: Sequence[str]) -> str:
    more = len(jobs) - _MOST_NAMES
    names = " ".join(show_job(job) for job in jobs[:_MOST_NAMES])
    return f"{names} and {more:,} more" if more > 0 else names
