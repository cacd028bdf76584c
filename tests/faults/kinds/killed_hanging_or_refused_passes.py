"""Faults of a pass itself: killed anywhere, hanging, refused by the server, failing inside."""

from __future__ import annotations

import random
import time
from typing import Any

from tests.faults.kinds.registry import HIT_S, REQUESTS, STARTS, WRITES, kill_in_pass, kind, linger
from tests.faults.testbed_under_faults import ALARM_S, Ground, LostError

_DURABLE = ["fsync", "replace", "write", "fork", "pbs_alterjob", *STARTS]
_OFTEN = {"fsync": (1, 1, 2, 3), "replace": (1, 1, 2, 3), "write": (1, 1, 2, 3), "pbs_alterjob": (1, 1, 2)}
"""Of what a pass does more than once: which of them is met."""

_CODES = (15001, 15007, 15010, 15016, 15031, 15034, 15044, 15139)
"""Error numbers of PBS's (pbs_error.h): unknown job, no permission, system error, wrong state, protocol, no server,
resources unavailable, finished job."""

_ENOSPC, _EIO, _EROFS, _EMFILE = 28, 5, 30, 24


# Passes that are killed


@kind("pass killed at each of its steps", 190)
def kill_at_step(ground: Ground, number: int, _random: random.Random) -> str:
    """The first to the last call of a pass, one after the other, then from the beginning again."""
    nth = 1 + number % (ground.steps_of_a_pass() + 2)
    return f"step {nth}: {_kill(ground, nth=nth)}"


@kind("pass killed around a request or a write", 110)
def kill_at_name(ground: Ground, number: int, chance: random.Random) -> str:
    """Before and after starts, comments, forks, and what makes files durable."""
    name = _DURABLE[number // 2 % len(_DURABLE)]
    among = STARTS if name in STARTS else [name]
    side = ("before", "after")[number % 2]
    return f"{side} {_kill(ground, among=among, side=side, nth=chance.choice(_OFTEN.get(name, (1,))))}"


@kind("pass killed at any line", 120)
def kill_at_line(ground: Ground, _number: int, chance: random.Random) -> str:
    """At a line of pbsteer's own code, early and late ones alike."""
    nth = int(10 ** chance.uniform(0.0, 3.9))
    hit = kill_in_pass(ground, "kill", at="line", nth=nth)
    return f"line {nth}: {hit.show()}, and is gone"


@kind("pass killed in the middle of a call", 60)
def kill_soon(ground: Ground, _number: int, chance: random.Random) -> str:
    """A moment after a call began: by a helper, so the call may be anywhere."""
    delay_s = round(chance.uniform(0.0, 0.02), 4)
    nth = chance.randint(1, 3)
    hit = kill_in_pass(ground, "kill-soon", at="step", among=REQUESTS[:4], nth=nth, delay_s=delay_s)
    return f"{delay_s} s after: {hit.show()}, and is gone"


@kind("child that requeues a victim killed", 45)
def kill_child(ground: Ground, number: int, _chance: random.Random) -> str:
    """Before and after its request, and where it answers its parent."""
    name, side = (
        ("pbs_connect", "before"),
        ("pbs_rerunjob", "before"),
        ("pbs_rerunjob", "after"),
        ("write", "before"),
    )[number % 4]
    hit = kill_in_pass(ground, "kill", at="step", among=[name], side=side, child=True)
    if hit.pid == hit.run:
        raise LostError(f"process {hit.pid} is the pass and not a child of it")
    return f"{side} {hit.show()}, and is gone"


# Passes that hang


@kind("pass stopped past its alarm", 20)
def stop(ground: Ground, _number: int, chance: random.Random) -> str:
    """SIGSTOP at a request or a write, for longer than the alarm; then it goes on, and meets its alarm."""
    order = ground.orders.give("periodic", "stop", at="step", among=[*REQUESTS, *WRITES], nth=chance.randint(1, 22))
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    linger(ground, ALARM_S + 1.0)
    state = ground.is_alive(hit.pid)
    ground.signal(hit.pid, "CONT")
    ground.wait_for_death(hit.pid, 20.0)
    return f"{hit.show()}, stopped for {ALARM_S + 1} s, {'was still there' if state else 'had been ended'}"


@kind("pass that hangs until its alarm", 20)
def hang(ground: Ground, _number: int, chance: random.Random) -> str:
    """Asleep at a request or a write: the alarm ends the pass there."""
    order = ground.orders.give("periodic", "hang", at="step", among=[*REQUESTS, *WRITES], nth=chance.randint(1, 22))
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    ground.wait_for_death(hit.pid, ALARM_S + 15.0)
    return f"{hit.show()}, and ended after {time.time() - hit.time_s:.1f} s"


# A server that refuses, or is slow


@kind("request refused", 90)
def refuse(ground: Ground, number: int, chance: random.Random) -> str:
    """One call of a pass fails, with an error number of PBS's."""
    code = chance.choice(_CODES)
    name = REQUESTS[number % len(REQUESTS)]
    among = STARTS if name in STARTS else [name]
    order = ground.orders.give(
        "periodic",
        "refuse",
        at="step",
        among=among,
        nth=chance.choice(_OFTEN.get(name, (1,))),
        code=code,
        child=name == "pbs_rerunjob",
    )
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    return f"{hit.show()}, and was answered {code}"


@kind("all requests refused from one on", 40)
def refuse_all(ground: Ground, _number: int, chance: random.Random) -> str:
    """The server is gone for the rest of the pass."""
    code = chance.choice(_CODES)
    everything = [name for name in REQUESTS if name != "pbs_rerunjob"]
    everything += ["pbs_statserver", "pbs_statque", "pbs_statvnode", "pbs_statrsc", "pbs_statsched", "pbs_statresv"]
    nth = chance.randint(1, 14)
    order = ground.orders.give("periodic", "refuse", at="step", among=everything, nth=nth, code=code, onwards=True)
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    return f"from {hit.show()} on, answered {code}"


@kind("slow server", 20)
def slow(ground: Ground, _number: int, chance: random.Random) -> str:
    """Each request takes a while, over two passes."""
    delay_s = round(chance.uniform(0.05, 0.3), 3)
    order = ground.orders.give(
        "periodic", "slow", at="step", among=[], nth=1, onwards=True, lasting=True, delay_s=delay_s / 10
    )
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    linger(ground, 2.0)
    ground.orders.withdraw("periodic")
    return f"each step {delay_s / 10:.4f} s later, from {hit.show()} on"


def _kill(ground: Ground, **details: Any) -> str:
    hit = kill_in_pass(ground, "kill", at="step", **details)
    return f"{hit.show()}, and is gone"
