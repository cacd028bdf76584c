"""The ranked list in the forms that parallel programs read."""

from __future__ import annotations

import pytest

from policy import Vnode, parse_request
from policy.explain.hostfiles_for_mpi_and_openmp import node_file, ranked_list
from policy.model.lists_for_programs import Entry, mpich_hostfile, open_mpi_hostfile, openmp_places
from tests.policy.clusters import place_of, vnode

VNODES = {v.name: v for v in (vnode("b", 8, host="n2"), vnode("a[0]", 8, host="n1"), vnode("a[1]", 8, host="n1"))}
PLACED = place_of("(b:ncpus=4)+(b:ncpus=4)+(a[0]:ncpus=4)+(a[1]:ncpus=2)")
REQUEST = parse_request("3:ncpus=4:mpiprocs=2+1:ncpus=2")


def test_a_node_file_has_a_line_for_each_process_with_its_host() -> None:
    assert node_file(PLACED, REQUEST, VNODES) == "n2\nn2\nn2\nn2\nn1\nn1\nn1\n"


def test_hostfiles_name_each_host_once_in_the_order_of_rank() -> None:
    entries = ranked_list(PLACED, REQUEST, VNODES)
    assert [(entry.vnode, entry.processes) for entry in entries] == [("b", 4), ("a[0]", 2), ("a[1]", 1)]
    assert open_mpi_hostfile(entries) == "n2 slots=4\nn1 slots=3\n"
    assert mpich_hostfile(entries) == "n2:4\nn1:3\n"


def test_a_chunk_without_cores_has_no_process_and_no_line() -> None:
    request = parse_request("1:ncpus=2+1:ncpus=0:mem=1gb")
    placed = place_of("(b:ncpus=2)+(a[0]:mem=1048576kb)")
    assert node_file(placed, request, VNODES) == "n2\n"
    assert open_mpi_hostfile(ranked_list(placed, request, VNODES)) == "n2 slots=1\n"


def test_equal_chunks_with_other_ranks_keep_their_own() -> None:
    request = parse_request("1:ncpus=4:mpiprocs=4+1:ncpus=4:mpiprocs=1")
    assert node_file(place_of("(b:ncpus=4)+(a[0]:ncpus=4)"), request, VNODES) == "n2\n" * 4 + "n1\n"


def test_processes_of_a_chunk_that_was_cut_follow_its_cores() -> None:
    request = parse_request("1:ncpus=8:mpiprocs=8")
    assert node_file(place_of("(b:ncpus=5)+(a[0]:ncpus=3)"), request, VNODES) == "n2\n" * 5 + "n1\n" * 3


def test_the_ranked_list_shows_sockets_and_cores_where_they_are_known() -> None:
    vnodes = {"a": vnode("a", 8, attributes={"sockets": "2"}), "b": vnode("b", 8)}
    entries = ranked_list(place_of("a=6 b=2"), parse_request("8"), vnodes, {"a": (4, 5, 6, 7, 0, 2)})
    assert entries == (Entry("a", "a", 6, (0, 1), (4, 5, 6, 7, 0, 2), 8), Entry("b", "b", 2, vnode_cores=8))
    assert [entry.show() for entry in entries] == ["a sockets 0-1 cores 0,2,4-7", "b"]


@pytest.mark.parametrize(
    ("cores", "together", "expected"),
    [
        ((0, 1), 1, "{0},{1}"),
        ((0, 1, 2, 3), 4, "{0:4}"),
        ((0, 1, 2, 3, 4, 5), 4, "{0:4},{4:2}"),
        ((4, 5, 0, 8), 2, "{4:2},{0,8}"),
        ((), 1, ""),
    ],
)
def test_openmp_places(cores: tuple[int, ...], together: int, expected: str) -> None:
    assert openmp_places(cores, together) == expected


@pytest.mark.parametrize("host", ["n1 slots=99", "n1\nn2", "n\x1b[2J"])
def test_a_name_that_would_break_a_line_is_refused(host: str) -> None:
    vnodes = {"a": Vnode("a", {"ncpus": 4}, host=host)}
    with pytest.raises(ValueError, match="allowed in a host list are names without spaces"):
        node_file(place_of("a=1"), parse_request("1"), vnodes)
    with pytest.raises(ValueError, match="allowed in a host list"):
        ranked_list(place_of("a=1"), parse_request("1"), vnodes)


def test_the_processes_of_a_chunk_over_several_vnodes_stay_on_its_host() -> None:
    request = parse_request("1:ncpus=4:mpiprocs=4+1:ncpus=12:mpiprocs=3")
    placed = place_of("(b:ncpus=4)+(a[0]:ncpus=8+a[1]:ncpus=4)")
    assert node_file(placed, request, VNODES) == "n2\n" * 4 + "n1\n" * 3
    assert [(entry.vnode, entry.processes) for entry in ranked_list(placed, request, VNODES)][1:] == [
        ("a[0]", 2),
        ("a[1]", 1),
    ]
