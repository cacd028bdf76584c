"""Regions: the vnodes of queues that share some of them, directly or by a chain of other queues."""

from __future__ import annotations

from collections.abc import Mapping


def join_overlapping(vnodes: Mapping[str, int]) -> dict[str, int]:
    """Each queue's region, of the vnodes of each queue (bit sets)."""
    regions = dict(vnodes)
    merged = True
    while merged:
        merged = False
        for queue, mask in regions.items():
            wide = mask
            for other in regions.values():
                wide |= other if other & mask else 0
            if wide != mask:
                regions[queue] = wide
                merged = True
    return regions
