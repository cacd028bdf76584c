"""Faults around victims that were asked to save, have time left, or are held."""

from __future__ import annotations

import random
import time

from tests.faults.kinds.killed_or_cut_off_daemons import take_mom
from tests.faults.kinds.registry import ASKING_S, demand, kill_in_pass, kind, linger, wait_for_asking
from tests.faults.testbed_under_faults import GRACE_S, Ground

_MEETS_S = 60.0
_ASKS = ["pbs_alterjob", "pbs_sigjob", "pbs_rerunjob"]

# Victims that are asked to save


@kind("pass killed as it asks a victim to save", 35)
def kill_asking(ground: Ground, number: int, _chance: random.Random) -> str:
    """Around the mark that is left on the victim, and around the signal, which a child sends."""
    side = ("before", "after")[number % 2]
    if number % 4 < 2:
        hit = kill_in_pass(ground, "kill", at="step", among=["pbs_sigjob"], side=side, child=True)
    else:
        wait_for_asking(ground)
        hit = kill_in_pass(ground, "kill", at="step", among=["pbs_alterjob"], side=side)
    return f"{side} {hit.show()}, and is gone"


@kind("pass killed in a victim's grace", 40)
def kill_in_grace(ground: Ground, _number: int, chance: random.Random) -> str:
    """Victims have been asked, and have time left: the pass after that is killed at any of its steps."""
    asked = wait_for_asking(ground)
    hit = kill_in_pass(ground, "kill", at="step", nth=chance.randint(1, ground.steps_of_a_pass()))
    return f"{asked} asked: {hit.show()}, and is gone"


@kind("server killed in a victim's grace", 20)
def kill_server_in_grace(ground: Ground, _number: int, _chance: random.Random) -> str:
    """Programs save, and end, while there is no server to tell."""
    asked = wait_for_asking(ground)
    pid = ground.kill_server()
    ground.start_server()
    return f"{asked} asked: server {pid} is gone"


@kind("MoM killed in a victim's grace", 20)
def kill_mom_in_grace(ground: Ground, _number: int, chance: random.Random) -> str:
    """The one whose job saves, or another one."""
    asked = wait_for_asking(ground)
    return f"{asked} asked: {take_mom(ground, chance, None, cut=False)}"


@kind("MoM cut off in a victim's grace", 20)
def cut_mom_in_grace(ground: Ground, _number: int, chance: random.Random) -> str:
    """The signal may not have arrived, or the end cannot be told."""
    asked = wait_for_asking(ground)
    return f"{asked} asked: {take_mom(ground, chance, None, cut=True)}"


@kind("pass killed while victims are held", 25)
def kill_with_held(ground: Ground, number: int, chance: random.Random) -> str:
    """In advise, victims are held until their beneficiary runs; then the mode changes, and no job may stay held."""
    ground.set_mode("advise")
    try:
        ground.wait_until(ground.find_held_jobs, 60.0, "a victim that is held")
        held = ground.find_held_jobs()
        hit = kill_in_pass(ground, "kill", at="step", nth=chance.randint(1, ground.steps_of_a_pass()))
    finally:
        ground.set_mode(("observe", "drive")[number % 2])
    demand(ground, lambda: not ground.find_held_jobs(), "no job is held any more")
    ground.set_mode("drive")
    ground.demand_driving(time.time())
    return f"{', '.join(held) or 'some job'} held: {hit.show()}, and is gone"


@kind("child that requeues a victim is late", 20)
def delay_child(ground: Ground, _number: int, _chance: random.Random) -> str:
    """In advise, it asks nothing before the mode has changed, and passes have released the held jobs: a job that it
    requeues only then may not stay held, as no pass would know of it."""
    ground.set_mode("advise")
    try:
        order = ground.orders.give("periodic", "meet", at="step", among=_ASKS, child=True, at_most_s=_MEETS_S)
        hit = ground.orders.wait_for_hit(order, ASKING_S, ground.workload.top_up)
        ground.set_mode("observe")
        linger(ground, GRACE_S + 1.0)
        ground.demand_pass(time.time())
        ground.orders.leave(order)
        late_s = time.time() - hit.time_s
        ground.wait_for_death(hit.pid)
        demand(ground, lambda: not ground.find_held_jobs(), "no job is held any more")
    finally:
        ground.orders.withdraw("periodic")
        ground.set_mode("drive")
    ground.demand_driving(time.time())
    return f"{hit.show()}, and went on {late_s:.1f} s later"
