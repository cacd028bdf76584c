"""The file of `--reservations`: a table `[[reservation]]` for each, checked against the cluster before a replay.

As PBS confirms only reservations that fit, those that together need more of a node than it has are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from policy.model.pbs_units import UnitError, parse_duration_s
from sim.workload.read_toml_file import TomlFileError, read_toml
from sim.workload.windows_of_given_reservations import Reservation
from sim.workload.workload import Cluster

KEYS = ("name", "nodes", "cores", "start", "duration", "every", "count")
"""The keys of a table."""

_NEEDED = ("nodes", "start", "duration")
_MOST = 1000
_MOST_SECONDS = 10**10
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


class ReservationError(ValueError):
    """A file without usable reservations; ``problems`` has one line for each problem."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


def read_reservations(path: Path, cluster: Cluster) -> tuple[Reservation, ...]:
    """The reservations in a file, in its order. Raises :class:`ReservationError`."""
    try:
        data = read_toml(path)
    except TomlFileError as error:
        raise ReservationError([str(error)]) from error
    tables = data.get("reservation")
    unknown = sorted(data.keys() - {"reservation"})
    if unknown or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        what = f"{unknown[0]!r} is not known" if unknown else "no reservations"
        raise ReservationError([f"{path}: {what}: allowed are tables [[reservation]]"])
    if not 1 <= len(tables) <= _MOST:
        raise ReservationError([f"{path}: {len(tables)} reservations: must be from 1 to {_MOST}"])
    read = [_Table(f"{path}: reservation {number}", table, cluster) for number, table in enumerate(tables, start=1)]
    found = [table.reservation(f"R{number}") for number, table in enumerate(read, start=1)]
    problems = [problem for table in read for problem in table.problems]
    reservations = tuple(reservation for reservation in found if reservation is not None)
    if not problems:
        problems = [f"{path}: {problem}" for problem in (*_twice(reservations), *_too_much(reservations, cluster))]
    if problems:
        raise ReservationError(problems)
    return reservations


class _Table:
    """One table of the file, with the problems found in it."""

    def __init__(self, where: str, table: Mapping[str, Any], cluster: Cluster) -> None:
        self._where = where
        self._table = table
        self._cluster = cluster
        self.problems: list[str] = []

    def reservation(self, name: str) -> Reservation | None:
        """The reservation, called `name` if the table has no name; None if there is a problem."""
        for key in sorted(self._table.keys() - set(KEYS)):
            self._complain(key, f"not known; allowed are {', '.join(KEYS)}")
        for key in _NEEDED:
            if key not in self._table:
                self._complain(key, "must be given")
        given_name = self._table.get("name", name)
        if not (isinstance(given_name, str) and _NAME.fullmatch(given_name)):
            self._refuse("name", "a letter, then letters, digits, '_', '.' and '-', 64 at the most")
        start_s, duration_s, every_s = (
            self._seconds(key, least) for key, least in (("start", 0), ("duration", 1), ("every", 1))
        )
        cores = self._whole("cores", self._cluster.cores_per_node) if "cores" in self._table else None
        count = self._whole("count", _MOST) if "count" in self._table else 1
        nodes = self._nodes()
        if ("every" in self._table) != ("count" in self._table):
            self._complain("every", "a standing reservation has both every and count")
        elif every_s and every_s < duration_s:
            self._refuse("every", f"at least the duration, {duration_s:,} s")
        if self.problems:
            return None
        return Reservation(str(given_name), nodes, start_s, duration_s, cores, every_s, count)

    def _complain(self, key: str, text: str) -> None:
        self.problems.append(f"{self._where}: {key}: {text}")

    def _refuse(self, key: str, allowed: str) -> None:
        self._complain(key, f"{str(self._table[key])[:80]!r}: must be {allowed}")

    def _seconds(self, key: str, least: int) -> int:
        value = self._table.get(key, least)
        try:
            seconds = parse_duration_s(value) if isinstance(value, str) else value
        except UnitError:
            seconds = None
        if isinstance(seconds, int) and not isinstance(seconds, bool) and least <= seconds <= _MOST_SECONDS:
            return seconds if key in self._table else 0
        self._refuse(key, f"from {least} to {_MOST_SECONDS:,} seconds, a whole number or '[[hours:]minutes:]seconds'")
        return 0

    def _whole(self, key: str, most: int) -> int:
        value = self._table[key]
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        self._refuse(key, f"a whole number from 1 to {most:,}")
        return 1

    def _nodes(self) -> tuple[int, ...]:
        """Node numbers from a text of numbers and ranges, ``1-4,7``."""
        value = self._table.get("nodes", "1")
        numbers: set[int] = set()
        for part in value.split(",") if isinstance(value, str) else [""]:
            match = _RANGE.fullmatch(part.strip())
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
            if not 1 <= first <= last <= self._cluster.nodes:
                self._refuse("nodes", f"numbers and ranges from 1 to {self._cluster.nodes:,}, such as '1-4,7'")
                return ()
            numbers.update(range(first, last + 1))
        return tuple(sorted(numbers))


def _twice(reservations: Sequence[Reservation]) -> list[str]:
    names = [reservation.name for reservation in reservations]
    return [f"reservation {name}: described twice" for name in sorted({n for n in names if names.count(n) > 1})]


def _too_much(reservations: Sequence[Reservation], cluster: Cluster) -> list[str]:
    """The first time at which reservations need more of a node than it has, for the lowest such node; at most one
    problem.
    """
    of_node: dict[int, list[Reservation]] = {}
    for reservation in reservations:
        for node in reservation.nodes:
            of_node.setdefault(node, []).append(reservation)
    together: dict[tuple[Reservation, ...], int] = {}
    for node in sorted(of_node):
        together.setdefault(tuple(of_node[node]), node)
    for here, node in together.items():
        held = 0
        # At the same time, ends come before begins.
        for at_s, change, name in sorted(change for reservation in here for change in _changes(reservation, cluster)):
            held += change
            if held > cluster.cores_per_node:
                asked = f"{held} cores would be reserved from {at_s:,} s on, with those of others"
                return [f"reservation {name}: node {node}: {asked}: it has {cluster.cores_per_node}"]
    return []


def _changes(reservation: Reservation, cluster: Cluster) -> list[tuple[float, int, str]]:
    cores = cluster.cores_per_node if reservation.cores is None else reservation.cores
    return [
        change
        for start_s, end_s in reservation.occurrences()
        for change in ((start_s, cores, reservation.name), (end_s, -cores, reservation.name))
    ]
