"""What earlier passes left: ledgers that belong to a drawn cluster, and ledgers of all that a ledger can hold."""

from __future__ import annotations

from hypothesis import strategies as st

from policy import Ledger
from policy.model.allocation import Allocation, Spot, parse_exec_vnode
from policy.model.job_request import Chunk, Grouping, Request
from policy.model.ledger_between_passes import Backfilled, Cut, Earmark, History, Moved, Tally
from policy.model.request_when_promised import RequestWhenPromised
from tests.property.strategies.cluster_strategies import NOW_S, USERS, Parts
from tests.property.strategies.made_once import sampled_from


@st.composite
def ledgers(draw: st.DrawFn, parts: Parts) -> Ledger:
    """What an earlier pass may have left of a cluster: counts of preemptions, a promise, runs that were backfilled, the
    classes that some runs started in, what is known of the users' past. Holds come from deciding (``later``)."""
    runs = [run.id for run in parts.runs]
    waiting = [job.id for job in parts.jobs if not job.blocked]
    some = st.sampled_from((True, False))
    counts = st.integers(0, 3)
    preemptions = {run: draw(counts) for run in runs if draw(some)}
    promises = {job: float(NOW_S + draw(_LATER_S)) for job in waiting[:1] if draw(some)}
    backfilled = {run: draw(_backfilled()) for run in runs if draw(some)}
    classes = {run: draw(sampled_from((-1, -1, 0, 1, 5, 10))) for run in runs if draw(some)}
    return Ledger(promises, {}, preemptions, backfilled, classes, draw(histories()))


@st.composite
def due_ledgers(draw: st.DrawFn, parts: Parts) -> Ledger:
    """The promised time of the first waiting job has come, and most runs were let in on the condition to give way."""
    waiting = [job.id for job in parts.jobs if not job.blocked and job.subjobs is None]
    promises = {job: float(NOW_S + draw(sampled_from((0, -10, 10)))) for job in waiting[:1]}
    backfilled = {
        run.id: Backfilled(float(NOW_S + draw(sampled_from((-20, 10, 30)))), draw(_MOSTLY))
        for run in parts.runs
        if draw(_MOSTLY)
    }
    preemptions = {run.id: draw(st.integers(0, 3)) for run in parts.runs if not draw(_MOSTLY)}
    return Ledger(promises, {}, preemptions, backfilled)


_MOSTLY = st.sampled_from((True, True, True, True, False))
_LATER_S = st.one_of(st.sampled_from((0, -10, 5)), st.integers(0, 200))


def _backfilled() -> st.SearchStrategy[Backfilled]:
    return st.builds(Backfilled, st.integers(-2, 5).map(lambda tens: float(NOW_S + 10 * tens)), st.booleans())


def histories() -> st.SearchStrategy[dict[str, History]]:
    """Some users' past: run times short beside their estimates, as they are."""
    times = st.sampled_from((0.0, 5.0, 10.0, 50.0))
    past = st.builds(
        lambda last, run_s, more_s: History(last, run_s, run_s + more_s),
        st.lists(times, min_size=0, max_size=2).map(tuple),
        times,
        times,
    )
    return st.dictionaries(st.sampled_from(USERS), past, max_size=3)


def allocations() -> st.SearchStrategy[Allocation]:
    """Placements with pieces of one kind side by side, as PBS writes them."""
    amounts = st.dictionaries(st.sampled_from(("ncpus", "mem", "ngpus", "fpgas")), st.integers(1, 1 << 40), max_size=4)
    vnodes = st.text("abcdefgh0123456789-._", min_size=1, max_size=8)
    spot = st.builds(
        lambda name, held, n: Spot(name, tuple(sorted(held.items())), n), vnodes, amounts, st.integers(1, 3)
    )
    return st.lists(spot, min_size=1, max_size=5).map(
        lambda spots: parse_exec_vnode(Allocation(tuple(spots)).exec_vnode())
    )


def any_ledgers() -> st.SearchStrategy[Ledger]:
    """Ledgers of all that a ledger can hold."""
    ids = st.from_regex(r"[0-9]{1,4}(\[[0-9]{0,2}\])?\.srv", fullmatch=True)
    names = st.text(min_size=1, max_size=8)
    times = st.floats(0, 1e12)
    counts = st.integers(0, 9)
    rules = st.sampled_from(("quota", "class", "promise", "rescue"))
    holds = st.builds(Earmark, allocations(), st.lists(ids, max_size=3).map(tuple), times, rules)
    ends = st.one_of(times, st.just(float("inf")))
    past = st.builds(History, st.lists(times, max_size=2).map(tuple), times, times)
    numbers = st.lists(st.tuples(names, st.one_of(ends, counts, names)), max_size=2).map(tuple)
    cores = st.dictionaries(names, st.lists(counts, max_size=4).map(tuple), max_size=2)
    tallies = st.dictionaries(
        st.sampled_from(("pack", "stripe")),
        st.builds(Tally, counts, st.lists(times, max_size=3).map(tuple)),
        max_size=2,
    )
    amounts = st.dictionaries(names, counts, max_size=2).map(lambda table: tuple(sorted(table.items())))
    ranks = st.one_of(st.none(), counts)
    chunks = st.builds(Chunk, counts, amounts, st.lists(st.tuples(names, names), max_size=2).map(tuple), ranks, ranks)
    sets = st.builds(Grouping, st.lists(names, min_size=1, max_size=2).map(tuple), st.booleans(), st.booleans())
    owners = st.one_of(st.none(), st.tuples(names, names))
    requests = st.builds(
        Request, st.lists(chunks, max_size=2).map(tuple), names, names, st.one_of(st.none(), sets), owners
    )
    return st.builds(
        Ledger,
        st.dictionaries(ids, times, max_size=3),
        st.dictionaries(ids, holds, max_size=3),
        st.dictionaries(ids, counts, max_size=3),
        st.dictionaries(ids, st.builds(Backfilled, ends, st.booleans()), max_size=3),
        st.dictionaries(ids, st.integers(-1, 10**6), max_size=3),
        st.dictionaries(names, past, max_size=3),
        st.dictionaries(names, tallies, max_size=2),
        st.dictionaries(names, times, max_size=3),
        times,
        st.dictionaries(ids, st.builds(Cut, times, names, numbers), max_size=2),
        st.dictionaries(ids, cores, max_size=2),
        first_behind=counts,
        tried_in_vain=counts,
        asked=st.dictionaries(ids, st.builds(RequestWhenPromised, names, ends, requests, amounts), max_size=2),
        moved=st.dictionaries(ids, st.builds(Moved, times, counts, ids), max_size=2),
    )
