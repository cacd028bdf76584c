"""Reservations of a replayed cluster as windows: how many nodes and cores are closed to ordinary jobs, and when.

An advance reservation has one occurrence, a standing one several at equal distances. As in PBS, ordinary jobs keep
clear of them (docs/policies.md, "Closures"); jobs inside a reservation are not part of a replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from policy.model.jobs_runs_vnodes_queues import Window


@dataclass(frozen=True)
class Reservation:
    """`cores` of each of these `nodes` (numbers from 1; None for whole nodes), `count` times for `duration_s`: first at
    `start_s`, in seconds of the workload, then every `every_s` seconds, at least `duration_s`.
    """

    name: str
    nodes: tuple[int, ...]
    start_s: float
    duration_s: float
    cores: int | None = None
    every_s: float = 0
    count: int = 1

    def occurrences(self) -> Iterator[tuple[float, float]]:
        """Start and end of each occurrence, in order."""
        for number in range(self.count):
            start_s = self.start_s + number * self.every_s
            yield start_s, start_s + self.duration_s

    def core_s_between(self, first_s: float, last_s: float, cores_per_node: int) -> float:
        """The core-seconds that it reserves between two times."""
        kept_s = sum(max(0.0, min(end_s, last_s) - max(start_s, first_s)) for start_s, end_s in self.occurrences())
        return kept_s * len(self.nodes) * (cores_per_node if self.cores is None else self.cores)


def windows_of_nodes(reservations: Sequence[Reservation]) -> Mapping[int, tuple[Window, ...]]:
    """The windows of each node that is reserved, in whole or in part, by its number.

    Nodes of the same reservations share one tuple, so that they can be grouped by identity.
    """
    of_node: dict[int, list[Reservation]] = {}
    for reservation in reservations:
        for node in reservation.nodes:
            of_node.setdefault(node, []).append(reservation)
    shared: dict[tuple[Reservation, ...], tuple[Window, ...]] = {}
    windows: dict[int, tuple[Window, ...]] = {}
    for node, here in of_node.items():
        key = tuple(here)
        if key not in shared:
            shared[key] = tuple(window for reservation in here for window in _windows(reservation))
        windows[node] = shared[key]
    return windows


def _windows(reservation: Reservation) -> Iterator[Window]:
    amounts = None if reservation.cores is None else (("ncpus", reservation.cores),)
    for start_s, end_s in reservation.occurrences():
        yield Window(start_s, end_s, f"reservation {reservation.name}", amounts)
