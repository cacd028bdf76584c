"""The error for a job that the server does not list: it is not there, or it is a subjob that does not run, of which PBS
lists only the array. What the journal has of such a subjob is told: it may have run and been preempted.
"""

from __future__ import annotations

from typing import Any

import click

from hooks.pbs.job_attributes.job_ids_and_states import has_index, index_of, parent_of, subjob_id
from policy.model.pbs_units import show_job
from tui.pages.job.job_story_from_passes import story_lines, story_of
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import plain

_MOST_EVENTS = 8


def job_not_found(cluster: ClusterView, job: str, backend: Any) -> click.ClickException:
    """The exception to raise where ``job``, as it was typed, is none of the server's."""
    index = index_of(job)
    if index is not None:
        array = parent_of(job)
        for job_id, texts in cluster.server_status.jobs.items():
            is_its_array = array in (job_id, show_job(job_id))
            if is_its_array and has_index(texts.get("array_indices_remaining", ""), index):
                shown, name = show_job(job_id), subjob_id(job_id, index)
                waits = f"subjob {job!r} does not run: it waits as array {shown} does, so ask for {shown!r}"
                story = story_lines(story_of(backend.journal.about(name), name), cluster.now_s)[:_MOST_EVENTS]
                if not story:
                    return click.ClickException(waits)
                events = "".join(f"\n  {plain(line).rstrip()}" for line in story)
                return click.ClickException(f"{waits}\nits history, by the journal, newest first:{events}")
    return click.ClickException(f"job {job!r} is not on {cluster.server_name or backend.name}")
