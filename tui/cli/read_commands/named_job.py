"""The job that a command names, or the error for one that the server does not list.

The error says what is known: that the job has ended, by the server's history; or that it is a subjob that does not run,
of which PBS lists only the array, with the subjob's lines in the journal, since it may have run and been preempted.
"""

from __future__ import annotations

from typing import Any

import click

from hooks.pbs.job_attributes.job_ids_and_states import has_index, index_of, parent_of, subjob_id
from tui.backends.interface.backend_protocol import BackendError
from tui.pages.job.job_story_from_passes import story_lines, story_of
from tui.state.cluster_view import ClusterView
from tui.state.typed_job_id import AmbiguousJobError, find_job, id_to_type
from tui.tables.columns_by_view.planned_job_outcome import ending
from tui.text.screen_line import plain

_MOST_EVENTS = 8
_ENDED = ("F", "X")


def named_job(cluster: ClusterView, job: str, backend: Any) -> str:
    """The id of the job, as it was typed with or without the server's name. Raises ClickException where there is none
    or it may be several; asks the backend for the end of one that is not there."""
    job_id = _find(cluster, job)
    if job_id is None:
        raise _job_not_found(cluster, job, backend)
    return job_id


def _find(cluster: ClusterView, job: str) -> str | None:
    try:
        return find_job(cluster.server_status.jobs, job, cluster.server_name)
    except AmbiguousJobError as error:
        raise click.ClickException(str(error)) from error


def _job_not_found(cluster: ClusterView, job: str, backend: Any) -> click.ClickException:
    index = index_of(job)
    if index is not None:
        job_id = _find(cluster, parent_of(job))
        waiting = cluster.server_status.jobs[job_id].get("array_indices_remaining", "") if job_id is not None else ""
        if job_id is not None and has_index(waiting, index):
            shown, name = id_to_type(job_id, cluster.server_name), subjob_id(job_id, index)
            waits = f"subjob {job!r} does not run: it waits as array {shown} does, so ask for {shown!r}"
            story = story_lines(story_of(backend.journal.about(name), name), cluster.now_s)[:_MOST_EVENTS]
            if not story:
                return click.ClickException(waits)
            events = "".join(f"\n  {plain(line).rstrip()}" for line in story)
            return click.ClickException(f"{waits}\nits history, by the journal, newest first:{events}")
    server, ended = cluster.server_name or backend.name, _ending(cluster, job, backend)
    return click.ClickException(
        f"job {job!r} is no longer on {server}: {ended}" if ended else f"job {job!r} is not on {server}"
    )


def _ending(cluster: ClusterView, job: str, backend: Any) -> str:
    """How and when a job or a subjob ended, by the server's history; empty if that does not have it."""
    name = job if "." in job else f"{job}.{cluster.server_name}"
    try:
        texts = backend.read("ended job", name)
    except BackendError:  # The server keeps no history, or takes this for no job id.
        return ""
    return ending(texts, cluster.now_s)[0] if texts and texts.get("job_state") in _ENDED else ""
