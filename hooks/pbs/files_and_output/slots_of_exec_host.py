"""The slots that a run holds on each host by Torque's ``exec_host``.

Torque 5 and later write ranges of slots (``trq1/0-1+trq2/3,5-6``), earlier ones each slot (``trq1/1+trq1/0``). The
numbers of the slots have no meaning of their own: only how many of each host a run holds is read.
"""

from __future__ import annotations


def slots_of_exec_host(exec_host: str) -> dict[str, int]:
    """``trq1/0-1+trq2/3`` as ``{"trq1": 2, "trq2": 1}``; what cannot be read is left out."""
    slots: dict[str, int] = {}
    for part in exec_host.split("+"):
        host, _, indices = part.partition("/")
        count = count_slots(indices)
        if host and count:
            slots[host] = slots.get(host, 0) + count
    return slots


def count_slots(text: str) -> int:
    """How many slots ``0-1``, ``4`` or ``0,2-3`` are; those parts that cannot be read count as none."""
    count = 0
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last) if dash else (first, first)
        if all(end.isascii() and end.isdigit() and len(end) <= 7 for end in ends):
            count += max(0, int(ends[1]) - int(ends[0]) + 1)
    return count
