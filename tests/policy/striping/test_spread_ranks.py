"""How a request may be cut, how wide a stripe is, and which vnode gets how much of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import Vnode, parse_request
from policy.model.vnode_bitsets import lowest
from policy.state.vnodes_by_idle_cores import Capacity
from policy.striping.spread_ranks import cut, even_loads, policy_width, spread_within, stripe, widths
from tests.policy.clusters import vnode

# How a request may be cut


@pytest.mark.parametrize(
    ("select", "pieces"),
    [
        ("64", "64:ncpus=1"),
        ("1:ncpus=64:mpiprocs=64:mem=64gb", "64:mem=1048576kb:ncpus=1:mpiprocs=1"),
        ("1:ncpus=64:mpiprocs=16", "16:ncpus=4:mpiprocs=1"),
        ("1:ncpus=64:mpiprocs=16:ompthreads=4", "16:ncpus=4:mpiprocs=1:ompthreads=4"),
        ("1:ncpus=64:mpiprocs=64:ngpus=4", "4:ncpus=16:ngpus=1:mpiprocs=16"),
        ("1:ncpus=48:mpiprocs=32", "16:ncpus=3:mpiprocs=2"),
        ("1:ncpus=8:mpiprocs=8:arch=linux+2:ncpus=4", "8:ncpus=1:arch=linux:mpiprocs=1+2:ncpus=4"),
    ],
)
def test_a_chunk_for_many_processes_is_cut_where_it_comes_out_even(select: str, pieces: str) -> None:
    found = cut(parse_request(select))
    assert found is not None
    assert found.select == pieces
    assert found.totals == parse_request(select).totals


@pytest.mark.parametrize(
    "select",
    [
        "2:ncpus=32:mpiprocs=32",  # given as two pieces
        "1:ncpus=64",  # one process
        "1:ncpus=64:ompthreads=64",
        "1:ncpus=7:mpiprocs=3",  # does not come out even
        "1:ncpus=64:mpiprocs=64:mem=100001kb",
        "1:ncpus=64:mpiprocs=64:ngpus=1",
    ],
)
def test_any_other_chunk_stays_what_it_is(select: str) -> None:
    assert cut(parse_request(select)) == parse_request(select)


@pytest.mark.parametrize("place", ["pack", "scatter", "vscatter", "excl", "free:exclhost", "group=rack"])
def test_a_place_that_says_where_is_kept(place: str) -> None:
    assert cut(parse_request("64", place)) is None
    assert cut(parse_request("64", "free:shared")) is not None


# How wide


@pytest.mark.parametrize(
    ("wished", "fewest", "most", "span", "expected"),
    [
        (4, 2, 100, 1, [4]),
        (16, 2, 100, 1, [16, 8, 4]),
        (16, 2, 9, 1, [9, 4]),
        (16, 3, 16, 1, [16, 8, 4]),
        (1, 2, 100, 1, [2]),
        (5, 2, 100, 1, [5]),
        (8, 2, 100, 2, [8, 4]),
        (7, 2, 100, 2, [8, 4]),
        (7, 2, 7, 2, [6]),
        (12, 2, 100, 3, [12, 6, 3]),
        (8, 2, 3, 8, [3]),
        (4, 5, 4, 1, []),
    ],
)
def test_half_as_wide_while_that_is_more_than_the_fewest(
    wished: int, fewest: int, most: int, span: int, expected: list[int]
) -> None:
    assert list(widths(wished, fewest, most, span)) == expected


@pytest.mark.parametrize(("fewest", "factor", "width"), [(2, 2, 4), (3, 1.5, 5), (2, 1, 2), (1, 2.5, 3)])
def test_the_policy_makes_it_so_many_times_the_fewest(fewest: int, factor: float, width: int) -> None:
    assert policy_width(fewest, factor) == width


# Which vnode gets how much


@pytest.mark.parametrize(
    ("pieces", "width", "loads"),
    [
        ((64,), 4, [(16,), (16,), (16,), (16,)]),
        ((10,), 4, [(3,), (3,), (2,), (2,)]),
        ((1, 7), 4, [(1, 1), (0, 2), (0, 2), (0, 2)]),
        ((3, 3), 4, [(1, 1), (1, 1), (1, 0), (0, 1)]),
    ],
)
def test_what_is_left_over_of_one_chunk_goes_where_the_last_one_stopped(
    pieces: tuple[int, ...], width: int, loads: list[tuple[int, ...]]
) -> None:
    assert list(even_loads(pieces, width)) == loads


@given(st.lists(st.integers(1, 50), min_size=1, max_size=5).map(tuple), st.integers(1, 20))
def test_nobody_gets_more_than_one_piece_above_another(pieces: tuple[int, ...], width: int) -> None:
    loads = even_loads(pieces, width)
    assert tuple(map(sum, zip(*loads))) == pieces
    for column in (*zip(*loads), [sum(load) for load in loads]):
        assert max(column) - min(column) <= 1


def placed(select: str, width: int, *vnodes: Vnode, span: int = 1) -> str | None:
    capacity = Capacity.of({v.name: v for v in vnodes})
    request = cut(parse_request(select))
    assert request is not None
    found = stripe(capacity, request, (1 << len(vnodes)) - 1, width, span, lowest)
    return None if found is None else " ".join(f"{spot.vnode}={spot.chunks}" for spot in found.spots)


def test_the_nodes_with_more_room_get_what_is_left_over() -> None:
    assert placed("5", 3, vnode("a", 1), vnode("b", 2), vnode("c", 2)) == "b=2 c=2 a=1"
    assert placed("6", 3, vnode("a", 1), vnode("b", 2), vnode("c", 2)) is None
    assert placed("3", 4, vnode("a", 1), vnode("b", 2), vnode("c", 2)) is None


def test_every_consumable_binds() -> None:
    small, large = vnode("a", 4, has={"mem": 10}), vnode("b", 4, has={"mem": 30})
    assert placed("4:ncpus=1:mem=5kb", 2, small, large) == "a=2 b=2"
    assert placed("4:ncpus=1:mem=6kb", 2, small, large) is None
    assert placed("1:ncpus=2:mem=20kb+1:ncpus=2:mem=10kb", 2, small, large) == "b=1 a=1"
    assert placed("1:ncpus=2:mem=20kb+1:ncpus=2:mem=11kb", 2, small, large) is None
    large_first = vnode("a", 4, has={"mem": 30}), vnode("b", 4, has={"mem": 10})
    assert placed("1:ncpus=2:mem=20kb+1:ncpus=2:mem=10kb", 2, *large_first) == "a=1 b=1"


def test_stripes_of_several_nodes_keep_their_ranks_together() -> None:
    nodes = [vnode(name, 8) for name in "abcd"]
    assert placed("16", 4, *nodes, span=2) == "a=4 b=4 c=4 d=4"
    assert placed("10", 4, *nodes, span=2) == "a=3 c=2 b=3 d=2"  # five ranks for each stripe


def test_within_a_node_each_piece_goes_to_the_domain_with_the_fewest() -> None:
    domains = [vnode("h[0]", 4, host="h", has={"ngpus": 1}), vnode("h[1]", 4, host="h", has={"ngpus": 3})]
    capacity = Capacity.of({v.name: v for v in domains})

    def spread(select: str) -> list[int] | None:
        request = parse_request(select)
        parts = spread_within(capacity, request, tuple(chunk.pieces for chunk in request.chunks), 0b11)
        return None if parts is None else [sum(load) for _, load in parts]

    assert spread("6") == [3, 3]
    assert spread("5") == [3, 2]
    assert spread("2:ncpus=1:ngpus=1") == [1, 1]
    assert spread("4:ncpus=1:ngpus=1") == [1, 3]
    assert spread("1:ncpus=4+2:ncpus=1") == [1, 2]
    assert spread("9") is None


def test_a_node_that_gets_none_of_a_chunk_need_not_have_its_resources() -> None:
    """One that counts no resource at all can take the whole of a node's load."""
    request = parse_request("1:ncpus=0+1:ncpus=1")
    capacity = Capacity.of({v.name: v for v in [vnode("h[0]", 1, host="h"), vnode("h[1]", 1, host="h")]})
    parts = spread_within(capacity, request, (1, 0), 0b11)
    assert parts is not None
    assert [load for _, load in parts] == [(1, 0)]
