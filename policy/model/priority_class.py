"""The class of a job as a number: the base class, the priorities of users, and above all of them the express queues.

Classes decide which jobs preempt which runs (docs/policies.md, P2).
"""

from __future__ import annotations

from typing import Final

BASE: Final = -1
"""The class of jobs beyond the priority quota, and of users without a priority: lower than every priority."""
EXPRESS = 10**12
"""An express queue's class is this and the queue's ``Priority``: above every priority, in whatever queue."""
HIGHEST_PRIORITY = EXPRESS // 2
"""The class of a user with a higher priority is this."""


def is_express(rank: int) -> bool:
    """Whether a class is that of an express queue."""
    return rank > HIGHEST_PRIORITY


def show_class(rank: int) -> str:
    """A class in words: ``base``, ``20``, ``express 150``."""
    if rank == BASE:
        return "base"
    return f"express {rank - EXPRESS}" if is_express(rank) else str(rank)
