"""The file of `--reservations`: what it may say, and that each error names the file, the reservation and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.workload.reservation_file import ReservationError, read_reservations
from sim.workload.windows_of_given_reservations import Reservation
from sim.workload.workload import Cluster

CLUSTER = Cluster(10, 4)
GOOD = {"nodes": '"1-3"', "start": "0", "duration": "60"}


def table(**keys: str) -> str:
    """One reservation; a key with an empty text is left out."""
    return "[[reservation]]\n" + "".join(f"{key} = {text}\n" for key, text in {**GOOD, **keys}.items() if text)


def read(tmp_path: Path, *tables: str) -> tuple[Reservation, ...]:
    path = tmp_path / "reservations.toml"
    path.write_text("".join(tables), encoding="utf-8")
    return read_reservations(path, CLUSTER)


def refused(tmp_path: Path, *tables: str) -> list[str]:
    """The problems, without the folder."""
    with pytest.raises(ReservationError) as error:
        read(tmp_path, *tables)
    return [problem.replace(f"{tmp_path}/", "") for problem in error.value.problems]


def test_an_advance_and_a_standing_reservation(tmp_path: Path) -> None:
    standing = table(
        name='"course"', nodes='"2, 7-8,7"', cores="2", start='"1:00:00"', duration='"30:00"', every="7200", count="5"
    )
    assert read(tmp_path, table(), standing) == (
        Reservation("R1", (1, 2, 3), 0, 60),
        Reservation("course", (2, 7, 8), 3600, 1800, 2, 7200, 5),
    )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"nodes": '"0"'}, "nodes: '0': must be numbers and ranges from 1 to 10, such as '1-4,7'"),
        ({"nodes": '"9-11"'}, "nodes: '9-11': must be numbers"),
        ({"nodes": '"3-1"'}, "nodes: '3-1': must be numbers"),
        ({"nodes": "3"}, "nodes: '3': must be numbers"),
        ({"nodes": '""'}, "nodes: '': must be numbers"),
        ({"nodes": ""}, "nodes: must be given"),
        ({"cores": "5"}, "cores: '5': must be a whole number from 1 to 4"),
        ({"cores": "true"}, "cores: 'True': must be a whole number"),
        ({"start": "-1"}, "start: '-1': must be from 0 to 10,000,000,000 seconds"),
        ({"start": '"noon"'}, "start: 'noon': must be from 0"),
        ({"start": "true"}, "start: 'True': must be from 0"),
        ({"start": ""}, "start: must be given"),
        ({"duration": "0"}, "duration: '0': must be from 1"),
        ({"duration": "1.5"}, "duration: '1.5': must be from 1"),
        ({"every": "59", "count": "2"}, "every: '59': must be at least the duration, 60 s"),
        ({"every": "0", "count": "2"}, "every: '0': must be from 1"),
        ({"every": "100"}, "every: a standing reservation has both every and count"),
        ({"count": "2"}, "every: a standing reservation has both every and count"),
        ({"every": "100", "count": "1001"}, "count: '1001': must be a whole number from 1 to 1,000"),
        ({"name": '"a b"'}, "name: 'a b': must be a letter"),
        ({"name": "7"}, "name: '7': must be a letter"),
        ({"users": '"alice"'}, "users: not known; allowed are name, nodes, cores, start, duration, every, count"),
    ],
)
def test_what_is_wrong_with_a_key_is_reported_with_its_place(
    tmp_path: Path, keys: dict[str, str], problem: str
) -> None:
    (found,) = refused(tmp_path, table(), table(**keys))
    assert found.startswith(f"reservations.toml: reservation 2: {problem}")


def test_every_problem_is_reported_at_once(tmp_path: Path) -> None:
    assert len(refused(tmp_path, table(nodes="", cores="9"), table(start='"x"'))) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no reservations: allowed are tables [[reservation]]"),
        ("reservation = []\n", "0 reservations: must be from 1 to 1000"),
        ("[reservation]\nnodes = '1'\n", "no reservations: allowed are tables [[reservation]]"),
        ("reservation = [1]\n", "no reservations: allowed are tables [[reservation]]"),
        ("[queue]\n", "'queue' is not known: allowed are tables [[reservation]]"),
        ("[[reservation]\n", "not TOML: "),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (found,) = refused(tmp_path, text)
    assert found.startswith(f"reservations.toml: {problem}")


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReservationError, match=r"absent\.toml: cannot be read: No such file"):
        read_reservations(tmp_path / "absent.toml", CLUSTER)


def test_each_name_is_given_once(tmp_path: Path) -> None:
    later = table(name='"R1"', start="1000")
    assert refused(tmp_path, table(), later) == ["reservations.toml: reservation R1: described twice"]


def test_more_than_a_node_has_is_refused_with_the_time(tmp_path: Path) -> None:
    most = table(nodes='"3-5"', cores="3", start="50", every="100", count="2", duration="20")
    beside = table(nodes='"5-6"', cores="2", start="160")
    (problem,) = refused(tmp_path, most, beside)
    asked = "node 5: 5 cores would be reserved from 160 s on, with those of others: it has 4"
    assert problem == f"reservations.toml: reservation R2: {asked}"


def test_one_may_begin_when_another_ends_and_share_a_node_with_it(tmp_path: Path) -> None:
    assert (
        len(read(tmp_path, table(), table(start="60"), table(start="120", cores="2"), table(start="120", cores="2")))
        == 4
    )
