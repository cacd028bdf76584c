"""An array while some of its subjobs run and others wait: how many of each, and where they run.

The policy explains what the waiting ones wait for (:mod:`tui.pages.job.job_explanation`); the running ones are jobs of
their own to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import is_array
from policy.model.pbs_units import show_count
from tui.model.typed_attributes import subjobs_waiting, vnodes_of
from tui.pages.job.job_explanation import labelled
from tui.state.cluster_view import ClusterView
from tui.text.name_ranges import folded_names
from tui.text.screen_line import Line, safe

_MOST_RANGES = 8


class Subjobs(NamedTuple):
    """The subjobs of an array: how many run, how many wait, and the vnodes of those that run."""

    running: int
    waiting: int
    vnodes: tuple[str, ...]


def subjobs_in(cluster: ClusterView, job_id: str) -> Subjobs | None:
    """The subjobs of an array; None for other jobs."""
    attributes = cluster.job(job_id)
    if attributes is None or not is_array(job_id):
        return None
    ids = cluster.subjob_ids.get(job_id, ())
    jobs = cluster.server_status.jobs
    vnodes = [name for each in ids for name in vnodes_of(jobs[each].get("exec_vnode", ""))]
    return Subjobs(len(ids), subjobs_waiting(attributes), tuple(dict.fromkeys(vnodes)))


def subjobs_lines(cluster: ClusterView, job_id: str, cells: int) -> list[Line]:
    """The subjobs of an array in words; none for other jobs."""
    found = subjobs_in(cluster, job_id)
    if found is None:
        return []
    on = f" on {safe(folded_names(found.vnodes, _MOST_RANGES))}" if found.vnodes else ""
    runs = f"{show_count(found.running, 'subjob')} {'runs' if found.running == 1 else 'run'}{on}"
    rest = f"{found.waiting:,} {'waits' if found.waiting == 1 else 'wait'}"
    shown = f"none runs, {rest}" if not found.running else f"{runs}; {rest if found.waiting else 'none waits'}"
    return labelled("subjobs", shown, cells)


def subjobs_data(cluster: ClusterView, job_id: str) -> dict[str, Any]:
    """The same as plain data, with all names of vnodes; empty for other jobs."""
    found = subjobs_in(cluster, job_id)
    return {} if found is None else {"subjobs": {**found._asdict(), "vnodes": list(found.vnodes)}}
