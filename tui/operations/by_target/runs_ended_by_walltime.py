"""The runs that another walltime ends: PBS kills a run that has used its walltime, whoever shortened it.

A run that would have little left is counted too: it goes on while a user reads the preview.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy.model.pbs_units import show_job
from tui.model.typed_attributes import RUNNING_STATES, moment, seconds
from tui.operations.by_target.dependent_jobs import Dependents, dependent_lines, find_dependents
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import show_hms

WALLTIME = "Resource_List.walltime"
_READING_S = 300.0
"""A preview may be open for so long, from the last poll to the yes."""


class EndedRun(NamedTuple):
    """A run, what it has used of its walltime, and the walltime that ends it."""

    job: str
    ran_s: float
    walltime_s: float


class EndedByWalltime(NamedTuple):
    """The runs that end, and what becomes of the jobs that depend on them: a killed run has not ended well."""

    runs: tuple[EndedRun, ...]
    dependents: Dependents

    @property
    def jobs(self) -> tuple[str, ...]:
        """All jobs that end."""
        return (*(run.job for run in self.runs), *self.dependents.deleted)

    @property
    def lines(self) -> list[Line]:
        """A line for each run, and those about dependents."""
        return [*(((safe(_sentence(run)), "bad"),) for run in self.runs), *dependent_lines(self.dependents)]


def find_ended_by_walltime(cluster: ClusterView, after: ServerStatus, jobs: Iterable[str]) -> EndedByWalltime:
    """What ends by the walltimes that ``jobs`` have in ``after``, the server status as it would be."""
    found = []
    for job in jobs:
        walltime_s = seconds(after.jobs.get(job, {}), WALLTIME)
        ran_s = _ran_s(cluster, job)
        if walltime_s is not None and ran_s is not None and walltime_s <= ran_s + _READING_S:
            found.append(EndedRun(job, ran_s, walltime_s))
    return EndedByWalltime(tuple(found), find_dependents(cluster, [run.job for run in found], waiting_tell=False))


def _sentence(run: EndedRun) -> str:
    left_s = run.walltime_s - run.ran_s
    when = f"in {show_hms(left_s)}" if left_s > 0 else "at once"
    return f"{show_job(run.job)} has run {show_hms(run.ran_s)}: a walltime of {show_hms(run.walltime_s)} ends it {when}"


def _ran_s(cluster: ClusterView, job: str) -> float | None:
    """The larger of the time since the start and what the server has counted, which is a while ago; a run that goes on
    from a checkpoint may have used more than the time since its start. None if it does not run."""
    texts: Attributes = cluster.server_status.jobs.get(job, {})
    if texts.get("job_state") not in RUNNING_STATES:
        return None
    since_s = moment(texts, "stime")
    counted_s = seconds(cluster.use_of(job), "resources_used.walltime") or 0.0
    return max(counted_s, 0.0 if since_s is None else cluster.now_s - since_s)
