"""Whether a request could ever be placed: on the same vnodes without any run on them, until a vnode changes. Where the
search gives up it may be.

Requests that pack, need a host each, or share a placement group have to be placed once for each kind of request; for
equal chunks on any vnodes counting is enough.
"""

from __future__ import annotations

from typing import Callable

from policy.fit.best_fit import fits
from policy.model.job_request import Request
from policy.state.cluster_index import ClusterIndex

MOST_REMEMBERED = 1 << 14
"""At most this many answers are remembered."""


def fits_idle_cluster(
    cluster: ClusterIndex, request: Request, vnodes: int, check_time: Callable[[], None] | None = None
) -> bool:
    """Whether the request fits, as arranged by its ``place``, those of these vnodes that take jobs, with only what PBS
    reports as used outside of runs taken. True also where the search gave up: "never" has to be certain.

    The search calls ``check_time``, as other searches of a pass do.
    """
    answers, key = cluster.arrangements, (request, vnodes)
    known = answers.get(key)
    if known is None:
        if len(answers) >= MOST_REMEMBERED:
            answers.clear()
        capacity = cluster.idle_capacity
        capacity.check_time, capacity.gave_up = check_time, False
        try:
            known = answers[key] = fits(capacity, request, vnodes) or capacity.gave_up
        finally:
            capacity.check_time = None
    return known
