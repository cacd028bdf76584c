"""Which cores a start gets: the emptiest socket first, whole sockets before parts, none of another run's."""

from __future__ import annotations

import pytest

from policy.fit.core_binding import CoreBook, choose_cores, sockets, sockets_of
from tests.policy.clusters import place_of, vnode

TWO = vnode("a", 8, attributes={"sockets": "2", "cores_per_socket": "4"})


@pytest.mark.parametrize(
    ("taken", "count", "expected"),
    [
        ((), 4, (0, 1, 2, 3)),
        ((), 6, (0, 1, 2, 3, 4, 5)),
        ((0,), 2, (4, 5)),
        ((0,), 4, (4, 5, 6, 7)),
        ((0,), 6, (4, 5, 6, 7, 1, 2)),
        ((0, 4), 3, (1, 2, 3)),
        ((0, 1, 4), 5, (5, 6, 7, 2, 3)),
        ((0, 1, 4), 6, ()),
        ((), 0, ()),
    ],
)
def test_the_emptiest_socket_first_and_whole_before_part(
    taken: tuple[int, ...], count: int, expected: tuple[int, ...]
) -> None:
    assert choose_cores(TWO, taken, count) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [range(8)]),
        ({"sockets": "2"}, [range(4), range(4, 8)]),
        ({"cores_per_socket": "4"}, [range(4), range(4, 8)]),
        ({"sockets": "3"}, [range(3), range(3, 6), range(6, 8)]),
        ({"sockets": "2", "cores_per_socket": "6"}, [range(6), range(6, 8)]),
        ({"sockets": "two", "cores_per_socket": "-1"}, [range(8)]),
        ({"sockets": "99999999999999"}, [range(8)]),
    ],
)
def test_sockets_come_from_the_vnodes_attributes(attributes: dict[str, str], expected: list[range]) -> None:
    assert sockets(vnode("a", 8, attributes=attributes)) == expected


def test_a_vnode_without_cores_has_no_sockets() -> None:
    assert sockets(vnode("a", 0)) == []


def test_the_sockets_that_cores_are_on() -> None:
    assert sockets_of(TWO, (1, 6)) == (0, 1)
    assert sockets_of(TWO, ()) == ()


def test_no_core_is_given_twice() -> None:
    book = CoreBook({"a": TWO}, {"1": {"a": (0, 1)}})
    assert book.give("2", place_of("a=4")) == {"a": (4, 5, 6, 7)}
    assert book.give("3", place_of("a=2")) == {"a": (2, 3)}
    assert book.give("4", place_of("a=1")) == {}


def test_a_run_that_is_gone_leaves_its_cores() -> None:
    book = CoreBook({"a": TWO}, {"1": {"a": tuple(range(8))}})
    book.take_back("1")
    assert book.give("2", place_of("a=8")) == {"a": tuple(range(8))}


def test_the_chunks_of_one_vnode_get_one_list() -> None:
    book = CoreBook({"a": TWO, "b": vnode("b", 4)})
    cores = book.give("1", place_of("(a:ncpus=2)+(b:ncpus=1)+(a:ncpus=3)+(elsewhere:ncpus=1)"))
    assert cores == {"a": (0, 1, 2, 3, 4), "b": (0,)}
    assert book.lists == {"1": cores}
