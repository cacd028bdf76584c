"""The error for a job that the server does not list: it is not there, or it is a subjob that has not started, of which
PBS lists only the array.
"""

from __future__ import annotations

import click

from hooks.pbs.job_attributes.job_ids_and_states import has_index, index_of, parent_of
from policy.model.pbs_units import show_job
from tui.state.cluster_view import ClusterView


def job_not_found(cluster: ClusterView, job: str, backend_name: str) -> click.ClickException:
    """The exception to raise where ``job``, as it was typed, is none of the server's."""
    index = index_of(job)
    if index is not None:
        array = parent_of(job)
        for job_id, texts in cluster.server_status.jobs.items():
            is_its_array = array in (job_id, show_job(job_id))
            if is_its_array and has_index(texts.get("array_indices_remaining", ""), index):
                shown = show_job(job_id)
                return click.ClickException(
                    f"subjob {job!r} has not started: it waits as array {shown} does, so ask for {shown!r}"
                )
    return click.ClickException(f"job {job!r} is not on {cluster.server_name or backend_name}")
