"""Whether a request could ever be placed: on the same vnodes with no job on them.

For equal chunks on any vnodes, counting them is enough. Chunks that share a host, need a host each, or share a
placement group have to be placed, once for each kind of request: the answer holds until a vnode changes.
"""

from __future__ import annotations

from typing import Callable

from policy.fit.fit import fits
from policy.model.request import Request
from policy.state.cluster_index import World

MOST_REMEMBERED = 1 << 14
"""At most this many answers are kept."""


def fits_idle_cluster(
    world: World, request: Request, vnodes: int, check_time: Callable[[], None] | None = None
) -> bool:
    """Whether the request fits those of these vnodes that take jobs, in the arrangement that it asks for, where only
    what PBS itself reports as used is taken. The search calls ``check_time``, as other searches of a pass do."""
    answers, key = world.arrangements, (request, vnodes)
    known = answers.get(key)
    if known is None:
        if len(answers) >= MOST_REMEMBERED:
            answers.clear()
        capacity = world.idle_capacity
        capacity.check_time = check_time
        try:
            known = answers[key] = fits(capacity, request, vnodes)
        finally:
            capacity.check_time = None
    return known
