"""Chunks that differ: in whatever order a select names them, they have a place wherever there is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import Vnode, parse_request
from policy.fit import share_out_hosts
from policy.fit.best_fit import fit, fits
from policy.fit.fits_idle_cluster import fits_idle_cluster
from policy.model.allocation import Allocation
from policy.model.job_request import Chunk, Request
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import cluster, codes, job, place_of, plan_for, run, starts, vnode

GPUS, CORES = vnode("g1", 16, has={"ngpus": 4}), vnode("c1", 64)


def where(select: str, *vnodes: Vnode, place: str = "") -> str | None:
    capacity = Capacity.of({each.name: each for each in vnodes})
    before = capacity.copy()
    request = parse_request(select, place)
    allocation = fit(capacity, request, -1)
    assert fits(capacity, request, -1) == (allocation is not None)
    assert capacity.is_like(before)
    return None if allocation is None else allocation.exec_vnode()


@pytest.mark.parametrize("place", ["free", "scatter", "vscatter", "excl", "scatter:excl"])
def test_the_order_of_the_chunks_decides_the_order_of_the_vnodes_alone(place: str) -> None:
    assert where("1:ncpus=16+1:ncpus=8:ngpus=1", GPUS, CORES, place=place) == "(c1:ncpus=16)+(g1:ncpus=8:ngpus=1)"
    assert where("1:ncpus=8:ngpus=1+1:ncpus=16", GPUS, CORES, place=place) == "(g1:ncpus=8:ngpus=1)+(c1:ncpus=16)"


def test_a_chunk_that_any_vnode_holds_leaves_the_one_that_another_wants() -> None:
    arm, x86 = vnode("g1", 16, attributes={"arch": "arm"}), vnode("c1", 64, attributes={"arch": "x86"})
    assert where("1:ncpus=16+1:ncpus=8:arch=arm", arm, x86) == "(c1:ncpus=16)+(g1:ncpus=8)"


def test_kinds_are_shared_out_where_one_after_the_other_finds_no_room_in_any_order() -> None:
    """Two pieces of 4 cores and 1 of memory have to be on b, so that a has room for the others; the tightest vnode for
    any kind that comes first is a."""
    a, b = vnode("a", 8, has={"mem": 12}), vnode("b", 9, has={"mem": 4})
    one, other = "2:ncpus=4:mem=1kb", "2:ncpus=2:mem=5kb"
    assert (
        where(f"{one}+{other}", a, b)
        == "(b:mem=1kb:ncpus=4)+(b:mem=1kb:ncpus=4)+(a:mem=5kb:ncpus=2)+(a:mem=5kb:ncpus=2)"
    )


def test_the_pieces_of_a_chunk_stay_together_in_the_order_of_the_select() -> None:
    small = [vnode(f"s{number}", 4, has={"mem": 1}) for number in range(3)]
    select = "3:ncpus=4+1:ncpus=4:mem=8kb+1:ncpus=2"
    placed = where(select, *small, vnode("m", 6, has={"mem": 8}))
    assert placed == "(s0:ncpus=4)+(s1:ncpus=4)+(s2:ncpus=4)+(m:mem=8kb:ncpus=4)+(m:ncpus=2)"


def test_a_host_of_several_vnodes_holds_different_chunks_on_parts_of_them() -> None:
    vnodes = [vnode("h[0]", 4, host="h", has={"ngpus": 1}), vnode("h[1]", 4, host="h"), vnode("i", 5)]
    assert where("1:ncpus=5+1:ncpus=6:ngpus=1", *vnodes) == "(i:ncpus=5)+(h[0]:ncpus=4:ngpus=1+h[1]:ncpus=2)"
    assert where("1:ncpus=5+1:ncpus=6:ngpus=1", *vnodes, place="scatter") is not None
    assert where("1:ncpus=5+1:ncpus=6:ngpus=1", *vnodes, place="pack") is None
    assert where("1:ncpus=3+1:ncpus=5:ngpus=1", *vnodes[:2], place="pack") is not None


def test_more_that_is_free_never_makes_a_reservation_later() -> None:
    """With 92 gone the chunk of ten cores would be best on g1 by itself, which has the only GPUs."""
    vnodes = [vnode("c0", 10), vnode("c1", 64), vnode("g1", 16, has={"ngpus": 4})]
    head = job("1", select="1:ncpus=10+1:ncpus=8:ngpus=1")
    runs = [run("91", "bob", "c1=60", estimate_s=1000), run("92", "dora", "g1=8", estimate_s=5000)]
    runs.append(run("93", "erin", "c0=4", estimate_s=20000))
    first = plan_for(cluster(vnodes, [head], runs))
    assert [(each.id, each.at_s) for each in first.estimates] == [("1", 1000)]
    early = plan_for(cluster(vnodes, [head], [runs[0], runs[2]], now_s=300), ledger=first.ledger)
    assert [(each.id, each.at_s) for each in early.estimates] == [("1", 1000)]
    then = plan_for(cluster(vnodes, [head], [runs[2]], now_s=1000), ledger=early.ledger)
    assert starts(then) == {"1": "(c1:ncpus=10)+(g1:ncpus=8:ngpus=1)"}


def test_never_is_not_said_where_the_search_gave_up(monkeypatch: pytest.MonkeyPatch) -> None:
    vnodes = [vnode("a", 4, has={"mem": 4}), vnode("b", 6, has={"mem": 2})]
    waiting = job("1", select="1:ncpus=3:mem=2kb+1:ncpus=3:mem=3kb+1:ncpus=3:mem=1kb+1:ncpus=1")
    snapshot = cluster(vnodes, [waiting])
    assert codes(plan_for(snapshot)) == {"1": "never-arranged"}
    monkeypatch.setattr(share_out_hosts, "_MOST_STEPS", 1)
    unsure = plan_for(cluster(vnodes, [waiting]))
    ((_, reason),) = unsure.reasons().values()
    assert "too many kinds of chunks to try all arrangements" in reason.sentence(waiting, 10)
    assert fits_idle_cluster(cluster(vnodes, [waiting]).cluster(), waiting.request, 3)


@pytest.mark.parametrize(
    ("hosts", "select"),
    [
        (4, "2:ncpus=8:mem=3+17:ncpus=5+42:ncpus=2+42:ncpus=2:mem=1+16:ncpus=1:mem=1:ngpus=1+7:ncpus=5"),
        (40, "1225:ncpus=1:mem=1+107:ncpus=8:mem=1:ngpus=1+104:ncpus=8:ngpus=1+316:ncpus=3"),
        (40, "1900:ncpus=1:mem=1+1500:ncpus=2:mem=1+160:ncpus=3:ngpus=1:mem=1"),
    ],
)
def test_no_request_makes_a_search_long(monkeypatch: pytest.MonkeyPatch, hosts: int, select: str) -> None:
    """Ways and fillings of hosts are many where pieces are small and hosts large."""
    compared = 0
    is_less = share_out_hosts._is_less

    def count(left: tuple[int, ...], other: tuple[int, ...]) -> bool:
        nonlocal compared
        compared += 1
        return is_less(left, other)

    monkeypatch.setattr(share_out_hosts, "_is_less", count)
    vnodes = [vnode(f"v{n}", (64, 128, 256)[n % 3], has={"ngpus": 4, "mem": (64, 128)[n % 2]}) for n in range(hosts)]
    capacity, request = Capacity.of({each.name: each for each in vnodes}), parse_request(select)
    with pytest.raises(share_out_hosts.TooManyWaysError):
        share_out_hosts.share_out(capacity, request.chunks, -1 & capacity.inventory.everywhere, "free")
    assert compared <= 4 * share_out_hosts._MOST_STEPS


def test_a_search_that_gives_up_tries_the_scarcest_chunks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both pieces of 2 cores go to a, so that 3 cores have no room there; these are placed first without a search."""
    monkeypatch.setattr(share_out_hosts, "_MOST_STEPS", 0)
    a, b = vnode("a", 6), vnode("b", 2)
    assert where("2:ncpus=2+1:ncpus=3", a, b) == "(a:ncpus=2)+(b:ncpus=2)+(a:ncpus=3)"


# By trying all ways

_CHUNKS = st.builds(
    lambda pieces, cores, mem, wants: f"{pieces}:ncpus={cores}" + (f":mem={mem}kb" if mem else "") + wants,
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(0, 4),
    st.sampled_from(("", "", ":k=a", ":k=b")),
)
_VNODES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from("ab"), st.sampled_from(("", "", "h"))),
    min_size=1,
    max_size=4,
)


@given(
    _VNODES, st.lists(_CHUNKS, min_size=2, max_size=3).map("+".join), st.sampled_from(("free", "scatter", "vscatter"))
)
def test_a_request_has_a_place_if_and_only_if_some_way_of_all_is_one(
    drawn: Sequence[tuple[int, int, str, str]], select: str, place: str
) -> None:
    vnodes = [
        vnode(f"v{number}", cores, has={"mem": mem}, attributes={"k": kind}, host="" if place == "free" else host)
        for number, (cores, mem, kind, host) in enumerate(drawn)
    ]
    placed, request = where(select, *vnodes, place=place), parse_request(select, place)
    pieces = [chunk for chunk in request.chunks for _ in range(chunk.pieces)]
    if place == "scatter" and len({each.host or each.name for each in vnodes}) < len(vnodes):
        # There a chunk may be on several vnodes of a host, which this count does not try.
        assert placed is not None or not _has_a_way(pieces, vnodes, place)
    else:
        assert (placed is not None) == _has_a_way(pieces, vnodes, place), placed
    if placed is not None:
        assert not _what_is_wrong(place_of(placed), request, vnodes)


def _has_a_way(pieces: Sequence[Chunk], vnodes: Sequence[Vnode], place: str) -> bool:
    """Whether the pieces fit whole vnodes, each tried on each of them."""
    if not pieces:
        return True
    for each in vnodes:
        amounts = dict(pieces[0].amounts)
        if dict(pieces[0].wants).get("k", each.attributes["k"]) != each.attributes["k"]:
            continue
        if any(each.available.get(name, 0) < amount for name, amount in amounts.items()):
            continue
        left = {name: has - amounts.get(name, 0) for name, has in each.available.items()}
        others = [other for other in vnodes if other is not each]
        if place == "scatter":
            others = [other for other in others if not each.host or other.host != each.host]
        if place == "free":
            others.append(Vnode(each.name, left, attributes=each.attributes))
        if _has_a_way(pieces[1:], others, place):
            return True
    return False


def _what_is_wrong(allocation: Allocation, request: Request, vnodes: Sequence[Vnode]) -> list[str]:
    """What of an allocation is more than a vnode has, or not in the order of the select."""
    held: Counter[tuple[str, str]] = Counter()
    order: list[tuple[tuple[str, int], ...]] = []
    for spot in allocation.spots:
        for name, amount in spot.amounts:
            held[spot.vnode, name] += amount * spot.chunks
        order += [] if spot.joined else [spot.amounts] * spot.chunks
    has = {(each.name, name): amount for each in vnodes for name, amount in each.available.items()}
    asked = [chunk.amounts for chunk in request.chunks for _ in range(chunk.pieces)]
    wrong = [f"{key}: {amount}" for key, amount in held.items() if amount > has[key]]
    whole = not any(spot.joined for spot in allocation.spots)
    return wrong + ([f"{order}, not {asked}"] if whole and order != asked else [])
