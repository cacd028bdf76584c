"""The job that an operation names, as the server has it.

An operation on a job that is not there, or on a part of an array where PBS takes whole arrays only, is refused with the
operation's name.
"""

from __future__ import annotations

from collections.abc import Mapping

from hooks.pbs.job_attributes.job_ids_and_states import is_subjob
from policy.model.pbs_units import show_job
from tui.backends.interface.commands_interface import ChangeError
from tui.state.cluster_view import ClusterView


def job_on_server(cluster: ClusterView, job: str, verb: str) -> Mapping[str, str]:
    """The job's attributes as the server prints them. Raises ChangeError if it is not on the server."""
    texts = cluster.server_status.jobs.get(job)
    if texts is None:
        raise ChangeError(f"{verb}: job {job!r} is not on the server")
    return texts


def whole_job(cluster: ClusterView, job: str, verb: str) -> Mapping[str, str]:
    """The same for a job or a whole array. Raises ChangeError for a single subjob too."""
    texts = job_on_server(cluster, job, verb)
    if is_subjob(job):
        raise ChangeError(f"{verb}: {show_job(job)} is one of an array; PBS does this to whole arrays only")
    return texts
