"""A parameter study, or campaign: equal jobs of a few applications, one after the other.

The jobs differ only in how they use a node, so their run times show the difference between layouts, from which a policy
can learn (docs/policies.md, P5). Nothing is random: the same arguments give the same workload.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.workload.application_contention_traits import KINDS
from sim.workload.workload import Cluster, TraceJob, Workload

NODES = 2
"""How many whole nodes hold each job."""

RUN_S = 1000
ESTIMATE_S = 3000
_MOST_JOBS = 1_000_000


def campaign(jobs: int, cluster: Cluster, applications: Sequence[str], load: float | None = None) -> Workload:
    """A number of jobs, the applications one after the other, each on the cores of two nodes for 1,000 s when packed
    and alone.

    All are submitted at once; with a `load`, core-seconds of all jobs / (cores x time from first to last submit), one
    after the other at equal distances. An application is a kind of
    :data:`sim.workload.application_contention_traits.KINDS`, and has a user of that name. ValueError names the argument
    and what is allowed.
    """
    if not 1 <= jobs <= _MOST_JOBS:
        raise ValueError(f"jobs {jobs}: must be from 1 to {_MOST_JOBS:,}")
    if not applications:
        raise ValueError("applications: none is given")
    for application in applications:
        if application not in KINDS:
            raise ValueError(f"application {application!r}: must be one of {', '.join(sorted(KINDS))}")
    if load is not None and not 0 < load <= 100:
        raise ValueError(f"load {load}: must be above 0 and at most 100 (1 fills every core)")
    if cluster.nodes < NODES:
        raise ValueError(f"cluster {cluster}: each job of a campaign takes {NODES} whole nodes")
    cores = NODES * cluster.cores_per_node
    gap_s = 0.0 if load is None else cores * RUN_S / (cluster.cores * load)
    each = [applications[number % len(applications)] for number in range(jobs)]
    name = f"campaign of {' and '.join(applications)}" + (f", load {load:g}" if load is not None else "")
    return Workload(
        name=name,
        cluster=cluster,
        jobs=tuple(
            TraceJob(number + 1, round(number * gap_s), RUN_S, ESTIMATE_S, cores, application, "campaign", application)
            for number, application in enumerate(each)
        ),
        generated=True,
    )
