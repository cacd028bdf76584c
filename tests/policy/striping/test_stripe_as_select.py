"""A stripe in chunks: even, complete, on another node each, and only where all that can be kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model.job_preferences import Layout
from policy.model.job_request import Request, parse_request
from policy.striping.fewest_nodes_that_hold_request import Sizes, hold
from policy.striping.spread_ranks import cut
from policy.striping.stripe_as_select import stripe_chunks

NODE = ((("mem", 32 << 20), ("ncpus", 8)),)
TWO_DOMAINS = ((("mem", 16 << 20), ("ncpus", 4)),) * 2
STRIPE = Layout("stripe")


def cut_by(select: str, nodes: Sizes = ((NODE, 4),), layout: Layout = STRIPE, place: str = "") -> str | None:
    striped = stripe_chunks(parse_request(select, place), layout, nodes, 2)
    return None if striped is None else striped.select


@pytest.mark.parametrize(
    ("select", "layout", "striped"),
    [
        ("1:ncpus=8:mpiprocs=8:mem=8gb", STRIPE, "2:mem=4194304kb:ncpus=4:mpiprocs=4:ompthreads=1"),
        ("1:ncpus=16:mpiprocs=16", STRIPE, "4:ncpus=4:mpiprocs=4:ompthreads=1"),
        ("16:ncpus=1", STRIPE, "4:ncpus=4:mpiprocs=4:ompthreads=1"),
        ("1:ncpus=8:mpiprocs=4:ompthreads=2", STRIPE, "2:ncpus=4:mpiprocs=2:ompthreads=2"),
        ("1:ncpus=8:mpiprocs=4", STRIPE, "2:ncpus=4:mpiprocs=2:ompthreads=2"),
        ("4:ncpus=2:mpiprocs=1:ompthreads=2", Layout("stripe", 4), "4:ncpus=2:mpiprocs=1:ompthreads=2"),
        ("1:ncpus=8:mpiprocs=8:ngpus=2", STRIPE, None),
        ("1:ncpus=7:mpiprocs=7", Layout("stripe", 9), "3:ncpus=2:mpiprocs=2:ompthreads=1+1:ncpus=1:mpiprocs=1"),
        ("1:ncpus=8:mpiprocs=8", Layout("stripe", 4, 2), "4:ncpus=2:mpiprocs=2:ompthreads=1"),
        ("1:ncpus=8:mpiprocs=8", Layout("stripe", 1), None),
    ],
)
def test_each_node_gets_one_chunk(select: str, layout: Layout, striped: str | None) -> None:
    assert cut_by(select, layout=layout) == striped


@pytest.mark.parametrize(
    ("select", "place"),
    [
        ("1:ncpus=8:mpiprocs=8", "pack"), ("1:ncpus=8:mpiprocs=8", "scatter"), ("1:ncpus=8:mpiprocs=8", "free:excl"),
        ("1:ncpus=8:mpiprocs=8", "group=rack"), ("1:ncpus=8", ""), ("1:ncpus=8:mpiprocs=8:fast=True", ""),
        ("1:ncpus=2:mpiprocs=2+1:ncpus=1", ""), ("4:ncpus=0:mem=1gb", ""), ("64:ncpus=1", ""),
    ],
)  # fmt: skip
def test_what_leaves_no_choice_or_has_no_room_stays_as_it_is(select: str, place: str) -> None:
    assert cut_by(select, place=place) is None


def test_the_vnodes_of_a_host_are_one_node() -> None:
    assert cut_by("1:ncpus=16:mpiprocs=16", ((TWO_DOMAINS, 4),)) == "4:ncpus=4:mpiprocs=4:ompthreads=1"


def test_a_narrower_stripe_is_taken_where_a_wide_one_finds_no_nodes() -> None:
    nodes = ((NODE, 2), (((("mem", 1 << 20), ("ncpus", 1)),), 2))
    assert cut_by("1:ncpus=8:mpiprocs=8:mem=8gb", nodes, Layout("stripe", 4)) == (
        "2:mem=4194304kb:ncpus=4:mpiprocs=4:ompthreads=1"
    )


@pytest.mark.parametrize(("most", "chunks"), [(None, 4), (4, 4), (3, 3), (2, None), (0, None)])
def test_no_more_chunks_than_the_queue_takes(most: int | None, chunks: int | None) -> None:
    """The fewest nodes are two."""
    request = parse_request("1:ncpus=16:mpiprocs=16")
    striped = stripe_chunks(request, STRIPE, ((NODE, 4),), 2, most)
    assert (None if striped is None else sum(chunk.pieces for chunk in striped.chunks)) == chunks


@given(
    st.integers(1, 40), st.integers(1, 4), st.integers(0, 3), st.integers(1, 12), st.integers(1, 3),
    st.lists(st.tuples(st.integers(1, 16), st.integers(1, 6)), min_size=1, max_size=3),
)  # fmt: skip
def test_nothing_is_lost_and_idle_nodes_hold_it(
    ranks: int, cores_each: int, mem_each: int, width: int, span: int, sizes: list[tuple[int, int]]
) -> None:
    memory = f":mem={ranks * mem_each}gb" if mem_each else ""
    request = parse_request(f"1:ncpus={ranks * cores_each}:mpiprocs={ranks}{memory}")
    nodes = [(((("mem", 32 << 20), ("ncpus", cores)),), count) for cores, count in sizes]
    striped = stripe_chunks(request, Layout("stripe", width, span), nodes, 2)
    if striped is None:
        return
    assert striped.totals == request.totals
    assert sum(chunk.pieces * (chunk.mpiprocs or 1) for chunk in striped.chunks) == ranks
    assert striped.place == "scatter"
    pieces = cut(request)
    assert pieces is not None
    loads = [(chunk.mpiprocs or 1) // (pieces.chunks[0].mpiprocs or 1) for chunk in striped.chunks]
    assert max(loads) - min(loads) <= 1
    for chunk in striped.chunks:
        assert any(hold(Request((chunk,)), [1], size) == [1] for size, _ in nodes)
