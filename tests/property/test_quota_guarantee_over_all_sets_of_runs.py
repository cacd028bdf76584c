"""Law 2 of quotas, tried exhaustively: where some set of whole runs makes room for a job within quota and leaves every
owner its quota, the pass finds one (docs/policies.md, P1, "The order of the victims")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Ledger, Plan, Settings, decide
from policy.model.jobs_runs_vnodes_queues import Run
from policy.settings.site_settings import VICTIM_ORDERS, QuotaSettings
from tests.policy.clusters import cluster, job, queue, run, vnode

_AMOUNTS = ("ncpus", "ngpus")
_OVER = ("alice", "carol")
_Held = tuple[int, int]
"""Cores and GPUs."""


class _World(NamedTuple):
    vnodes: tuple[_Held, ...]
    quotas: dict[str, _Held]
    runs: tuple[tuple[str, tuple[tuple[int, _Held], ...]], ...]
    pieces: int
    chunk: _Held
    place: str
    order: str


@st.composite
def worlds(draw: st.DrawFn) -> _World:
    """Up to three vnodes, up to six runs of alice and carol on one or two of these, and one job of bob.

    Its chunks are alike: for unlike ones, placed one after the other, fewer runs can be more room.
    """
    vnodes = tuple(draw(st.lists(st.tuples(st.integers(2, 6), st.integers(0, 2)), min_size=1, max_size=3)))
    idle = [list(each) for each in vnodes]
    runs = []
    for _ in range(draw(st.integers(1, 6))):
        held = []
        for place in draw(st.lists(st.integers(0, len(vnodes) - 1), min_size=1, max_size=2, unique=True)):
            if not idle[place][0]:
                continue
            cores, gpus = (draw(st.integers(least, most)) for least, most in zip((1, 0), idle[place]))
            held.append((place, (cores, gpus)))
            idle[place][0] -= cores
            idle[place][1] -= gpus
        if held:
            runs.append((draw(st.sampled_from(_OVER)), tuple(held)))
    few = st.tuples(st.sampled_from((0, 1, 2, 4, 6)), st.sampled_from((0, 1, 9)))
    quotas = {user: draw(few) for user in _OVER}
    pieces, chunk = draw(st.integers(1, 3)), (draw(st.integers(1, 4)), draw(st.integers(0, 2)))
    layout, order = draw(st.sampled_from(("free", "free", "scatter", "pack"))), draw(st.sampled_from(VICTIM_ORDERS))
    return _World(vnodes, quotas, tuple(runs), pieces, chunk, layout, order)


def _may_go(world: _World, gone: Iterable[int]) -> bool:
    """Whether these runs may go in some order: at each, some entry that counts it stays at or above its limit.

    An entry counts the runs that take some of its resource, so that the order matters where not all take both.
    """
    use: Counter[tuple[str, int]] = Counter()
    for user, held in world.runs:
        for _, amounts in held:
            for kind, amount in enumerate(amounts):
                use[user, kind] += amount
    return _may_go_from(world, frozenset(gone), use)


def _may_go_from(world: _World, left: frozenset[int], use: Counter[tuple[str, int]]) -> bool:
    if not left:
        return True
    for number in left:
        user, held = world.runs[number]
        needs = Counter({(user, kind): sum(amounts[kind] for _, amounts in held) for kind in (0, 1)})
        after = Counter({key: amount - needs[key] for key, amount in use.items()})
        stays = any(need and after[key] >= world.quotas[user][key[1]] for key, need in needs.items())
        if stays and _may_go_from(world, left - {number}, after):
            return True
    return False


def _set_that_is_enough(world: _World) -> tuple[int, ...] | None:
    """The first allowed set without which the job starts; None where there is none."""
    numbers = range(len(world.runs))
    for count in range(len(world.runs) + 1):
        for gone in combinations(numbers, count):
            if _may_go(world, gone) and _plan(world, gone).starts:
                return gone
    return None


def _runs(world: _World) -> list[Run]:
    shown = [
        (user, "+".join(f"(v{place}:ncpus={cores}:ngpus={gpus})" for place, (cores, gpus) in held))
        for user, held in world.runs
    ]
    return [run(str(number), user, where, number) for number, (user, where) in enumerate(shown, 1)]


def _limits(world: _World, kind: int) -> str:
    return ",".join(f"[u:{user}={amounts[kind]}]" for user, amounts in world.quotas.items()) + ",[u:bob=99]"


def _plan(world: _World, gone: Iterable[int] = ()) -> Plan:
    there = [vnode(f"v{n}", cores, has={"ngpus": gpus}) for n, (cores, gpus) in enumerate(world.vnodes)]
    quotas = queue(_limits(world, 0), other_quotas={"ngpus": queue(_limits(world, 1)).quotas})
    select = f"{world.pieces}:ncpus={world.chunk[0]}:ngpus={world.chunk[1]}"
    left = [each for number, each in enumerate(_runs(world)) if number not in {*gone}]
    snapshot = cluster(there, [job("99", "bob", select, place=world.place)], left, queues=[quotas], now_s=60)
    return decide(snapshot, Ledger(), Settings(quota=QuotaSettings(victim_order=world.order)))


@given(worlds())
@settings_of_law(max_examples=300)
def test_a_job_within_quota_finds_the_runs_that_make_room_for_it(world: _World) -> None:
    plan, enough = _plan(world), _set_that_is_enough(world)
    assert bool(plan.preempts or plan.starts) == (enough is not None), (enough, plan.preempts)
    gone = {int(preempt.id) - 1 for preempt in plan.preempts}
    assert all(not _plan(world, gone - {each}).starts for each in gone)
    assert not gone or (_may_go(world, sorted(gone)) and _plan(world, gone).starts)
