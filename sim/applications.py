"""What kinds of applications there are, and which one a job of a trace is taken for.

Traces say nothing about memory traffic. A job's traits follow from the name of its application alone (where a trace has
none, from its user's), the same in every replay, so that there is something that can be learned by application.
"""

from __future__ import annotations

import zlib

from sim.contention import Traits

KINDS = {
    "memory": Traits(memory_share=0.8, gbs_per_rank=12.0, communication_share=0.05),
    "mixed": Traits(memory_share=0.4, gbs_per_rank=6.0, communication_share=0.1),
    "compute": Traits(memory_share=0.05, gbs_per_rank=0.5, communication_share=0.05),
    "communication": Traits(memory_share=0.1, gbs_per_rank=1.0, communication_share=0.4),
}
"""Stated, not measured: a memory-bound rank draws the 12 GB/s that one core of such a node can (twice its part of the
node), a compute-bound one runs from its caches, a communicating one spends two fifths of its time in messages."""


def traits_of(application: str) -> Traits:
    """The traits of an application by its name: of the kind that the name begins with, else of one drawn from the name
    once and for all."""
    for kind, traits in KINDS.items():
        if application.split("-", maxsplit=1)[0] == kind:
            return traits
    names = sorted(KINDS)
    return KINDS[names[zlib.crc32(application.encode("utf-8", "backslashreplace")) % len(names)]]
