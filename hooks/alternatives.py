"""Jobs of which one is to run and the others not (``depend=runone``), told to the policy as a licence of which there is
one.

PBS holds the others as soon as one of them has been sent to its hosts. Who asks for two of them in one breath gets
both on their hosts, with the server knowing of neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hooks.picture import Objects
from policy.cluster import ONE_OF, Job

_GROUP = re.compile("(?:^|,)runone:([^,]+)")
_IDLE = "QHWT"


class Alternatives(NamedTuple):
    """The waiting jobs, with what those among them that are alternatives ask for, and how much of it there is."""

    waiting: list[Job]
    left: Mapping[str, int]


def find_alternatives(waiting: Iterable[Job], jobs: Objects) -> Alternatives:
    """What of these jobs are alternatives to each other, by the texts of all ``jobs``. An array that has begun is the
    one that runs."""
    found: list[Job] = []
    left: dict[str, int] = {}
    for job in waiting:
        texts = jobs[job.id]
        group = _GROUP.search(texts["depend"]) if "depend" in texts else None
        if group is None or texts.get("job_state", "") == "B":
            found.append(job)
            continue
        others = {member.partition("@")[0] for member in group.group(1).split(":")} - {job.id}
        name = ONE_OF + ", ".join(sorted({job.id, *others}))
        begun = any(jobs.get(other, {}).get("job_state", "Q") not in _IDLE for other in others)
        left[name] = 0 if begun else left.get(name, 1)
        found.append(job._replace(job_wide=(*job.job_wide, (name, 1))))
    return Alternatives(found, left)
