"""A digest of what the start of a job was decided on, so that a change before the start is found.

A job's owner may alter it until it starts, and PBS checks none of that at a start that names its vnodes. The pass
leaves a digest of chunks and place, walltime, amounts for the whole job, queue, project, group and preemptibility. The
runjob hook computes the same from the job that starts, or without that hook the pass from what it reads again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from hooks.pbs.custom_resources import OWN_SELECT
from hooks.pbs.custom_resources_on_hosts import SAVE
from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.job_attributes.resource_list import ASKED, read_all, read_resource_list, without_empty
from hooks.pbs.server_status_type_and_attributes import Attributes
from policy.model.pbs_units import UnitError, parse_amount, parse_duration_s

DIGESTED = ("Resource_List", "queue", "project", "egroup", "Rerunable", "Checkpoint")
"""The attributes that a digest is made of."""
ALTERED = "the job was altered after this start of it had been planned: the next pass decides on it as it is now"
HELD = (
    "the job was held, or has a dependency or a start time, since this start of it was planned: it starts once none of"
    " these keeps it"
)
HELD_STATES = ("H", "W")
"""The states of jobs and arrays that wait for a release, a dependency or a time. PBS starts them all the same if a
start names their vnodes."""
_PREFIX = "Resource_List."
_SUMMED = frozenset({"nodect", "mpiprocs", "ompthreads", "nodes"})


def digest_of_plan(texts: Attributes, changes: Mapping[str, str]) -> str:
    """The digest of a waiting job's attributes, with the pass's own ``changes`` to its resource list applied."""
    listed = {name[len(_PREFIX) :]: text for name, text in texts.items() if name.startswith(_PREFIX)}
    listed = {**listed, **changes}
    resource_list = without_empty(listed)
    kept = (texts.get("Rerunable", "") == "True", texts.get("Checkpoint", ""))
    owners = (texts.get("project", ""), texts.get("egroup", ""))
    return _digest(resource_list, listed, texts.get("queue", ""), *owners, *kept)


def digest_of_job(job: Any) -> str:
    """The digest of a job as PBS gives it to a hook."""
    names = ("queue", "project", "egroup", "Checkpoint")
    queue, project, group, checkpoint = (read_attribute(job, name) for name in names)
    resource_list = without_empty(read_resource_list(job.Resource_List))
    return _digest(resource_list, read_all(job.Resource_List), queue, project, group, bool(job.Rerunable), checkpoint)


def _digest(
    resource_list: Mapping[str, str],
    listed: Mapping[str, str],
    queue: str,
    project: str,
    group: str,
    rerunable: bool,
    checkpoint: str,
) -> str:
    facts = (
        resource_list.get(OWN_SELECT, "") or resource_list.get("select", ""),
        _seconds(resource_list.get("walltime", "")),
        resource_list.get("place", ""),
        resource_list.get(SAVE, ""),
        queue,
        project,
        group,
        str(rerunable),
        checkpoint,
        *(f"{name}={amount}" for name, amount in sorted(_amounts_for_whole_job(listed))),
    )
    return hashlib.sha256("\0".join(facts).encode("utf-8", "replace")).hexdigest()[:16]


def _amounts_for_whole_job(listed: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The amounts that no chunk asks for, such as licences, without what pbsteer itself writes on jobs; those that PBS
    sums over the chunks follow the select."""
    in_chunks = listed.get("select", "")
    for name, text in listed.items():
        if name in _SUMMED or name in ASKED or name.startswith("pbsteer") or f":{name}=" in in_chunks:
            continue
        try:
            amount = parse_amount(text)
        except UnitError:
            continue
        if amount is not None:
            yield name, amount


def _seconds(walltime: str) -> str:
    """The walltime in seconds, as PBS writes one duration in several ways."""
    try:
        return str(parse_duration_s(walltime)) if walltime else ""
    except UnitError:
        return walltime
