"""Alternative jobs, of which only one is to run (``depend=runone``), modelled as a licence of which there is one.

PBS holds the others as soon as one has been sent to its hosts. If two are started before PBS reacts, both run, and the
server knows of neither. Only jobs of one owner are alternatives: PBS registers no others, but keeps the text that names
them until then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hooks.pbs.job_attributes.own_dependencies import own_dependencies
from hooks.pbs.server_status_type_and_attributes import Objects
from policy.eligibility.request_text_limits import find_many_dependencies
from policy.model.jobs_runs_vnodes_queues import ONE_OF
from policy.settings.settings_of_server_and_passes import SubmissionSettings

_OTHERS = re.compile("(?:^|,)runone:([^,]+)")
_IDLE = "QHWT"


class Alternatives(NamedTuple):
    """The licence that each waiting alternative asks for beside its own requests, and how many of each are left."""

    licences: Mapping[str, str]
    left: Mapping[str, int]


class _Group(NamedTuple):
    """Jobs that are alternatives to each other (``ids``), and their names read so far, with the server's (``met``)."""

    ids: set[str]
    met: set[str]


def find_alternatives(jobs: Objects, bounds: SubmissionSettings) -> Alternatives:
    """Find the alternatives among the jobs that wait. An array that has begun counts as the one that runs."""
    licences: dict[str, str] = {}
    left: dict[str, int] = {}
    for group in _groups(jobs, bounds):
        first = min(group, key=lambda job_id: (len(job_id), job_id))
        name = f"{ONE_OF}{first} and {len(group) - 1} {'other' if len(group) == 2 else 'others'}"
        waiting = [job_id for job_id in group if jobs.get(job_id, {}).get("job_state", "Q") in _IDLE]
        left[name] = 1 if len(waiting) == len(group) else 0
        licences.update(dict.fromkeys(waiting, name))
    return Alternatives(licences, left)


def _groups(jobs: Objects, bounds: SubmissionSettings) -> Iterable[set[str]]:
    """Groups of jobs that name each other, directly or by a chain: PBS adds the dependencies one by one, so for a while
    not each job names all others.

    Takes time linear in the length of the texts; a name that the group has met before costs one look-up.
    """
    group_of: dict[str, _Group] = {}
    for job_id, texts in jobs.items():
        # A job beyond the bound does not start (hooks/translate/job/jobs.py), so its list is not looked at.
        is_read = "depend" in texts and not find_many_dependencies(own_dependencies(texts["depend"]), bounds)
        named = _OTHERS.search(texts["depend"]) if is_read else None
        if named is None:
            continue
        others, owner = named.group(1).split(":"), _owner(texts)
        group = group_of.setdefault(job_id, _Group({job_id}, set()))
        if group.met.issuperset(others):
            continue
        for other in set(others) - group.met:
            group.met.add(other)
            member = other.partition("@")[0]
            if member not in jobs:
                # Jobs of two owners may name the same one that is gone.
                member = f"{member} of {owner}"
            elif _owner(jobs[member]) != owner:
                continue
            group = _join(group_of, group, group_of.setdefault(member, _Group({member}, set())))
    groups = {id(group): group.ids for group in group_of.values()}
    return [ids for ids in groups.values() if len(ids) > 1]


def _owner(texts: Mapping[str, str]) -> str:
    return texts.get("Job_Owner", "").partition("@")[0]


def _join(group_of: dict[str, _Group], one: _Group, other: _Group) -> _Group:
    """The two groups as one; the smaller is merged into the larger."""
    if one is other:
        return one
    small, large = sorted((one, other), key=lambda group: len(group.ids))
    large.ids.update(small.ids)
    large.met.update(small.met)
    group_of.update(dict.fromkeys(small.ids, large))
    return large
