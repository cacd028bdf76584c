"""Alternative jobs, of which only one is to run (``depend=runone``), modelled as a licence of which there is one.

PBS holds the others as soon as one has been sent to its hosts. If two are started before PBS reacts, both run, and the
server knows of neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hooks.pbs.status import Objects
from policy.model.cluster import ONE_OF, Job

_OTHERS = re.compile("(?:^|,)runone:([^,]+)")
_IDLE = "QHWT"


class Alternatives(NamedTuple):
    """The waiting jobs, where each alternative also asks for its group's licence, and how many of each licence are
    left."""

    waiting: list[Job]
    left: Mapping[str, int]


class _Group(NamedTuple):
    """Jobs that are alternatives to each other (``ids``), and their names read so far, with the server's (``met``)."""

    ids: set[str]
    met: set[str]


def find_alternatives(waiting: Iterable[Job], jobs: Objects) -> Alternatives:
    """Find the alternatives among the waiting jobs, from the texts of all ``jobs``. An array that has begun counts as
    the one that runs."""
    name_of: dict[str, str] = {}
    left: dict[str, int] = {}
    for group in _groups(jobs):
        first = min(group, key=lambda job_id: (len(job_id), job_id))
        name = f"{ONE_OF}{first} and {len(group) - 1} {'other' if len(group) == 2 else 'others'}"
        begun = any(jobs.get(job_id, {}).get("job_state", "Q") not in _IDLE for job_id in group)
        left[name] = 0 if begun else 1
        name_of.update(dict.fromkeys(group, name))
    if not left:
        return Alternatives(list(waiting), left)
    found: list[Job] = []
    for job in waiting:
        mine = name_of.get(job.id)
        if mine is None or jobs[job.id].get("job_state", "") not in _IDLE:
            found.append(job)
        else:
            found.append(job._replace(job_wide=(*job.job_wide, (mine, 1))))
    return Alternatives(found, left)


def _groups(jobs: Objects) -> Iterable[set[str]]:
    """Groups of jobs that name each other, directly or by a chain: PBS adds the dependencies one by one, so for a while
    not each job names all others.

    Takes time linear in the length of the texts; a name that the group has met before costs one look-up.
    """
    group_of: dict[str, _Group] = {}
    for job_id, texts in jobs.items():
        named = _OTHERS.search(texts["depend"]) if "depend" in texts else None
        if named is None:
            continue
        others = named.group(1).split(":")
        group = group_of.setdefault(job_id, _Group({job_id}, set()))
        if group.met.issuperset(others):
            continue
        for other in set(others) - group.met:
            member = other.partition("@")[0]
            group = _join(group_of, group, group_of.setdefault(member, _Group({member}, set())))
            group.met.add(other)
    groups = {id(group): group.ids for group in group_of.values()}
    return [ids for ids in groups.values() if len(ids) > 1]


def _join(group_of: dict[str, _Group], one: _Group, other: _Group) -> _Group:
    """The two groups as one; the smaller is merged into the larger."""
    if one is other:
        return one
    small, large = sorted((one, other), key=lambda group: len(group.ids))
    large.ids.update(small.ids)
    large.met.update(small.met)
    group_of.update(dict.fromkeys(small.ids, large))
    return large
