"""The register of all kinds of fault, and what several of them need.

A kind is one function: it does the harm, makes sure that it hit, and puts back what it took away. It returns its proof
in words, or raises :class:`Missed` where the moment for it did not come; what must hold afterwards is checked by
the campaign, the same for all. The first argument after the ground is the number of the fault among those of its
kind, so that kinds that enumerate go through their places one by one.
"""

from __future__ import annotations

import random
import time
from typing import Any, Callable, NamedTuple

from tests.faults.build_injector_into_hook import Hit, Missed
from tests.faults.testbed_under_faults import Ground, LostError

Inflict = Callable[[Ground, int, random.Random], str]


class Kind(NamedTuple):
    """One kind: its name, its share among all, and how to inflict it."""

    name: str
    share: int
    inflict: Inflict


KINDS: dict[str, Kind] = {}

HIT_S = 30.0
"""How long a fault waits for its moment,"""
ASKING_S = 60.0
"""and for victims that are asked to save."""
DEMANDED_S = 120.0
"""After so many seconds what must come is lost: long, as the machine may be busy."""

STARTS = ["pbs_asyrunjob_ack", "pbs_asyrunjob"]
REQUESTS = [*STARTS, "pbs_rerunjob", "pbs_alterjob", "pbs_selstat", "pbs_statjob", "pbs_connect"]
WRITES = ["open", "write", "fsync", "replace", "mkdir", "fchmod"]
ERRORS = ("RuntimeError", "KeyError", "MemoryError", "RecursionError", "UnicodeError", "OSError")


def kind(name: str, share: int) -> Callable[[Inflict], Inflict]:
    """Register a kind of fault."""

    def register(inflict: Inflict) -> Inflict:
        KINDS[name] = Kind(name, share, inflict)
        return inflict

    return register


def kill_in_pass(ground: Ground, do: str, **details: Any) -> Hit:
    """Have a pass, or a child of one, killed as the order says; returns the record once the process is gone."""
    order = ground.orders.give("periodic", do, **details)
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    ground.orders.withdraw("periodic")
    ground.wait_for_death(hit.pid)
    marks = [mark for mark in ground.orders.read_passes() if mark.pid == hit.pid and mark.begin_s <= hit.time_s]
    if hit.pid == hit.run and (not marks or marks[-1].end_s is not None):
        raise Missed(f"pass {hit.pid} came to its end all the same")
    return hit


def demand(ground: Ground, holds: Callable[[], bool], what: str) -> None:
    """Wait for what must come; raises :class:`LostError` if it does not."""
    try:
        ground.wait_until(holds, DEMANDED_S, what)
    except Missed as error:
        raise LostError(str(error)) from error


def wait_for_asking(ground: Ground) -> str:
    """Wait for a pass that asked victims to save; returns which, in words."""
    since_s = time.time()

    def find() -> list[str]:
        ground.workload.top_up()
        entry = ground.read_last_pass()
        return list(entry.get("asked", ())) if float(entry.get("time_s", 0.0)) > since_s else []

    ground.wait_until(find, ASKING_S, "a pass that asks victims to save")
    return ", ".join(find()) or "some"


def linger(ground: Ground, seconds: float) -> None:
    """Wait, with jobs coming in as ever."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ground.workload.top_up()
        time.sleep(0.1)
