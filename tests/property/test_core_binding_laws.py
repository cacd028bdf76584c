"""What always holds of the cores that starts get, and of the lists that are written out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy import Request, Vnode, parse_request
from policy.explain.hostfiles_for_mpi_and_openmp import node_file, ranked_list
from policy.fit.core_binding import CoreBook, choose_cores, sockets
from policy.model.allocation import Allocation, Spot
from policy.model.lists_for_programs import mpich_hostfile, open_mpi_hostfile, openmp_places

vnodes = st.builds(
    lambda cores, number, each: Vnode(
        "a", {"ncpus": cores}, attributes={"sockets": str(number), "cores_per_socket": str(each)}
    ),
    st.integers(0, 24),
    st.integers(0, 5),
    st.integers(0, 9),
)


@given(vnodes)
def test_every_core_is_on_one_socket(vnode: Vnode) -> None:
    assert [core for socket in sockets(vnode) for core in socket] == list(range(vnode.available["ncpus"]))


@given(vnodes, st.lists(st.one_of(st.integers(1, 9), st.just(0)), max_size=12), st.data())
def test_no_two_runs_share_a_core(vnode: Vnode, sizes: list[int], data: st.DataObject) -> None:
    book = CoreBook({"a": vnode})
    for number, size in enumerate(sizes):
        if size:
            book.give(str(number), Allocation((Spot("a", (("ncpus", 1),), size),)))
        elif book.lists:
            book.take_back(data.draw(st.sampled_from(sorted(book.lists))))
        held = [core for cores in book.lists.values() for core in cores.get("a", ())]
        assert len(held) == len(set(held))
        assert set(held) <= set(range(vnode.available["ncpus"]))


@given(vnodes, st.sets(st.integers(0, 23)), st.integers(1, 24))
def test_at_most_one_socket_is_used_in_part(vnode: Vnode, taken: set[int], count: int) -> None:
    chosen = set(choose_cores(vnode, taken, count))
    free = [set(socket) - taken for socket in sockets(vnode)]
    assert sum(bool(chosen & of) and not of <= chosen for of in free) <= 1


@given(vnodes, st.sets(st.integers(0, 23)), st.integers(1, 24))
def test_no_emptier_socket_is_left_out(vnode: Vnode, taken: set[int], count: int) -> None:
    chosen = set(choose_cores(vnode, taken, count))
    free = [set(socket) - taken for socket in sockets(vnode)]
    used = [len(of) for of in free if of & chosen]
    unused = [len(of) for of in free if not of & chosen]
    assert not used or not unused or min(used) >= max(unused)


@given(vnodes, st.sets(st.integers(0, 23)), st.integers(1, 24))
def test_as_many_cores_as_asked_for_wherever_they_are_left(vnode: Vnode, taken: set[int], count: int) -> None:
    left = set(range(vnode.available["ncpus"])) - taken
    assert len(choose_cores(vnode, taken, count)) == (count if count <= len(left) else 0)


@st.composite
def placed(draw: st.DrawFn) -> tuple[Allocation, Request]:
    """A request of some chunks, and its pieces on vnodes in the order of the chunks."""
    chunks, spots = [], []
    for _ in range(draw(st.integers(1, 3))):
        pieces, cores, ranks = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(0, 4))
        chunks.append(f"{pieces}:ncpus={cores}:mpiprocs={ranks}")
        for _ in range(pieces):
            spots.append(Spot(draw(st.sampled_from("abc")), (("ncpus", cores),), 1))
    return Allocation(tuple(spots)), parse_request("+".join(chunks))


@given(placed())
def test_all_forms_name_every_process_once(case: tuple[Allocation, Request]) -> None:
    allocation, request = case
    processes = sum(chunk.pieces * (chunk.mpiprocs or 0) for chunk in request.chunks)
    entries = ranked_list(allocation, request, {})
    assert len(node_file(allocation, request, {}).splitlines()) == processes
    assert sum(int(line.split("slots=")[1]) for line in open_mpi_hostfile(entries).splitlines()) == processes
    assert sum(int(line.split(":")[1]) for line in mpich_hostfile(entries).splitlines()) == processes


@given(st.lists(st.integers(0, 99), unique=True), st.integers(1, 9))
def test_openmp_places_name_every_core_once(cores: list[int], together: int) -> None:
    named: list[int] = []
    text = openmp_places(cores, together)
    for place in text.strip("{}").split("},{") if text else ():
        first, colon, length = place.partition(":")
        named += range(int(first), int(first) + int(length)) if colon else map(int, place.split(","))
    assert named == cores
