"""Faults of PBS's own daemons: the server, the MoMs their network, and the schedulers."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from itertools import takewhile

from hooks.control.circuit_breaker import CircuitBreaker
from hooks.store.state_files import State
from tests.faults.build_injector_into_hook import Hit, PassMark
from tests.faults.kinds.registry import HIT_S, REQUESTS, STARTS, WRITES, demand, kind, linger
from tests.faults.testbed_under_faults import Ground

# The schedulers


@kind("three passes in a row killed", 20)
def kill_three(ground: Ground, _number: int, _chance: random.Random) -> str:
    """PBS's own scheduler has its queue back, until passes are trusted again."""
    order = ground.orders.give("periodic", "kill", at="step", among=["pbs_statvnode"], lasting=True)
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    ground.wait_until(
        lambda: count_killed(ground.orders.read_passes(), hit) >= 3, 60.0, "three passes that were killed"
    )
    ground.orders.withdraw("periodic")
    demand(ground, ground.is_scheduling, "PBS's scheduler is switched on again")
    # The scheduler is switched on before the rest is written to disk, which would undo the forgiving.
    demand(ground, lambda: bool(CircuitBreaker.read(State(ground.state_path)).rest_began_s), "passes rest")
    killed = count_killed(ground.orders.read_passes(), hit)
    ground.forgive()
    ground.demand_driving(time.time())
    return f"{hit.show()}, and {killed} passes are gone; the scheduler had its queue back"


@kind("pass killed as it hands the queue back", 25)
def kill_in_hand_back(ground: Ground, number: int, _chance: random.Random) -> str:
    """The mode is set to observe and to drive again: killed around each of the two switches."""
    side = ("before", "after")[number % 2]
    going = number % 4 < 2
    ground.demand_driving(0.0)
    if not going:
        ground.set_mode("observe")
        demand(ground, ground.is_scheduling, "PBS's scheduler is switched on")
    order = ground.orders.give("periodic", "kill", at="step", among=["pbs_manager"], side=side)
    ground.set_mode("observe" if going else "drive")
    try:
        hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
        ground.wait_for_death(hit.pid)
        demand(ground, lambda: ground.is_scheduling() is going, f"the scheduler is {'on' if going else 'off'}")
    finally:
        ground.set_mode("drive")
    ground.demand_driving(time.time())
    return f"{side} {hit.show()}, and is gone; {'back to the scheduler' if going else 'back to drive'}"


def count_killed(passes: Sequence[PassMark], hit: Hit) -> int:
    """The passes in a row, from the one that was hit on, that never came to their end, where each that has begun is to
    be killed. The one before it may have begun a moment before it, and ended well."""
    first = max(at for at, mark in enumerate(passes) if mark.pid == hit.run and mark.begin_s <= hit.time_s)
    return sum(1 for _ in takewhile(lambda mark: mark.end_s is None, passes[first:]))


# The server


@kind("server killed in a pass", 30)
def kill_server(ground: Ground, _number: int, chance: random.Random) -> str:
    """By the pass itself, at a request or a write of its own."""
    order = ground.orders.give(
        "periodic", "kill-server", at="step", among=[*REQUESTS, *WRITES], nth=chance.randint(1, 22)
    )
    return _revive_server(ground, order)


@kind("server killed in a preemption", 20)
def kill_server_in_preemption(ground: Ground, number: int, _chance: random.Random) -> str:
    """Before and after the request that requeues a victim."""
    side = ("before", "after")[number % 2]
    order = ground.orders.give("periodic", "kill-server", at="step", among=["pbs_rerunjob"], side=side, child=True)
    return f"{side} {_revive_server(ground, order)}"


@kind("server killed in a start", 20)
def kill_server_in_start(ground: Ground, _number: int, chance: random.Random) -> str:
    """In the server's own thread, as it asks pbsteer about a start."""
    with ground.guarded_starts():
        order = ground.orders.give("runjob", "kill-server", at="line", nth=chance.randint(1, 22))
        return _revive_server(ground, order)


@kind("server restarted in a pass", 20)
def restart_server(ground: Ground, _number: int, chance: random.Random) -> str:
    """qterm -t quick, as an administrator does it, while a pass is at a step of its own."""
    order = ground.orders.give(
        "periodic", "meet", at="step", among=[*REQUESTS, *WRITES], nth=chance.randint(1, 22), at_most_s=12.0
    )
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    pid = ground.server_pid()
    ground.orders.withdraw("periodic")
    ground.pbs.run(["qterm", "-t", "quick"]).demand_success()
    if pid is not None:
        ground.wait_for_death(pid)
    ground.orders.leave(order)
    ground.start_server()
    return f"server {pid} went away while {hit.show()}"


def _revive_server(ground: Ground, order: str) -> str:
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    ground.orders.withdraw(order.rpartition("-")[0])
    ground.start_server()
    return f"the server was gone when {hit.show()}"


# MoMs


@kind("MoM killed as its job starts", 20)
def kill_mom_in_start(ground: Ground, number: int, chance: random.Random) -> str:
    """The pass waits just before or after a start while a MoM ends; it comes back, with and without its jobs."""
    return _lose_mom(ground, STARTS, chance, side=("before", "after")[number % 2], child=False, cut=False)


@kind("MoM killed as its job is requeued", 20)
def kill_mom_in_requeue(ground: Ground, number: int, chance: random.Random) -> str:
    """The same in the child that requeues."""
    return _lose_mom(ground, ["pbs_rerunjob"], chance, side=("before", "after")[number % 2], child=True, cut=False)


@kind("MoM cut off as its job starts", 20)
def cut_mom_in_start(ground: Ground, number: int, chance: random.Random) -> str:
    """The network between server and MoM is gone for some seconds."""
    return _lose_mom(ground, STARTS, chance, side=("before", "after")[number % 2], child=False, cut=True)


@kind("MoM cut off as its job is requeued", 20)
def cut_mom_in_requeue(ground: Ground, number: int, chance: random.Random) -> str:
    """The same in the child that requeues."""
    return _lose_mom(ground, ["pbs_rerunjob"], chance, side=("before", "after")[number % 2], child=True, cut=True)


def _lose_mom(ground: Ground, among: list[str], chance: random.Random, *, side: str, child: bool, cut: bool) -> str:
    order = ground.orders.give("periodic", "meet", at="step", among=among, side=side, child=child, at_most_s=8.0)
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    ground.orders.withdraw("periodic")
    return f"{side} {hit.show()}: {take_mom(ground, chance, order, cut=cut)}"


def take_mom(ground: Ground, chance: random.Random, order: str | None, *, cut: bool) -> str:
    """A MoM is gone for some seconds, or its network; the process that waits for ``order`` goes on as soon as it is."""
    host = ground.find_busy_host(chance)
    away_s = round(chance.uniform(0.5, 5.0), 1)
    if cut:
        ground.set_link(host, "down")
    else:
        pid = ground.kill_mom(host)
    if order is not None:
        ground.orders.leave(order)
    linger(ground, away_s)
    if cut:
        ground.set_link(host, "up")
        done = f"{host} was cut off for {away_s} s"
    else:
        options = chance.choice(([], ["-p"], ["-r"]))
        ground.start_mom(host, options)
        done = f"MoM {pid} of {host} was gone for {away_s} s, and came back with {options or 'no option'}"
    ground.wait_for_moms()
    return done
