"""The search for room, whichever source offers the runs: the first that are enough, and of these only the needed
ones."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from policy import Job, Run, Snapshot, Vnode
from policy.model.allocation import Allocation
from policy.preemption.victim_search import Guard, Search, size_of
from tests.policy.clusters import cluster, job, run, vnode

ALL = 0b11


def searching(asked: Job, runs: Sequence[Run], vnodes: Sequence[Vnode] = (), guard: Guard | None = None) -> Search:
    snapshot = cluster(vnodes or [vnode("v1", 8), vnode("v2", 8)], [asked], runs)
    return Search(snapshot.cluster(), asked, ALL, guard)


def first_enough(asked: Job, runs: Sequence[Run], guard: Guard | None = None) -> list[str] | None:
    room = searching(asked, runs, guard=guard).first_enough(runs)
    return None if room is None else [each.id for each in room.runs]


class Keeper:
    """A guard that admits a job only where these runs, by id, are gone."""

    def __init__(self, *needed: str) -> None:
        self._needed = set(needed)
        self._gone: set[str] = set()

    def afresh(self) -> Keeper:
        return Keeper(*self._needed)

    def remove(self, run: Run) -> None:
        self._gone.add(run.id)

    def put_back(self, run: Run) -> None:
        self._gone.remove(run.id)

    def admits(self, allocation: Allocation) -> bool:
        return allocation.cores > 0 and self._needed <= self._gone

    def vnodes_of_head(self) -> int:
        return 0


FULL = [run("1", "a", "v1=3"), run("2", "a", "v1=5"), run("3", "a", "v2=4"), run("4", "a", "v2=4")]


@pytest.mark.parametrize(
    ("select", "gone"),
    [
        ("3", ["1"]),
        ("5", ["2"]),
        ("8", ["1", "2"]),
        ("9", ["2", "3"]),
        ("16", ["1", "2", "3", "4"]),
        ("17", None),
        ("1:ncpus=8", ["1", "2"]),
        ("2:ncpus=4", ["1", "2"]),
        ("2:ncpus=5", ["2", "3", "4"]),
        ("1:ncpus=8:vnode=v2", ["3", "4"]),
        ("1:ncpus=4:vnode=v2", ["3"]),
    ],
)
def test_the_first_that_are_enough_and_of_these_only_who_is_needed(select: str, gone: list[str] | None) -> None:
    assert first_enough(job("9", select=select), FULL) == gone


def test_idle_cores_count() -> None:
    assert first_enough(job("9", select="6"), FULL[:2]) == []


def test_nobody_is_offered() -> None:
    assert searching(job("9", select="1"), FULL).first_enough([]) is None


def test_where_only_the_reserved_job_is_in_the_way_that_is_counted() -> None:
    search = searching(job("9", select="3"), FULL, guard=Keeper("nobody"))
    assert search.first_enough(FULL) is None
    assert search.blocked_by_head > 0


@pytest.mark.parametrize(("needed", "gone"), [((), ["1"]), (("2",), ["2"]), (("1", "4"), ["1", "4"])])
def test_the_reserved_job_is_asked_with_those_who_would_be_gone(needed: tuple[str, ...], gone: list[str]) -> None:
    assert first_enough(job("9", select="3"), FULL, Keeper(*needed)) == gone


@pytest.mark.parametrize("select", ["1", "3", "4", "5", "1:ncpus=4", "2:ncpus=2", "2:ncpus=3", "1:ncpus=5", "9"])
@pytest.mark.parametrize("number", range(4))
def test_who_cannot_gain_enough_is_not_enough_alone(number: int, select: str) -> None:
    search = searching(job("9", select=select), FULL)
    room = search.alone(FULL[number])
    index = cluster([vnode("v1", 8), vnode("v2", 8)], [], FULL).cluster()
    idle = index.capacity.idle_of_each(ALL)
    size = size_of(FULL[number], FULL[number].job.cores, ALL, index.capacity.directory, idle)
    assert room is None or search.may_gain_enough(size)
    assert room == searching(job("9", select=select), FULL).first_enough([FULL[number]])


@pytest.mark.parametrize(("select", "short"), [("3", 3), ("16", 16)])
def test_what_one_run_must_free_to_be_enough(select: str, short: int) -> None:
    assert searching(job("9", select=select), FULL).short == short


def test_cores_do_not_tell_where_a_vnode_is_held_alone() -> None:
    alone = [run("1", "a", "v1=1", place="excl")]
    assert searching(job("9", select="16"), alone).short == 0


@pytest.mark.parametrize(("number", "select", "enough"), [(0, "3", True), (0, "4", False), (1, "5", True)])
def test_room_by_one_alone(number: int, select: str, enough: bool) -> None:
    room = searching(job("9", select=select), FULL).alone(FULL[number])
    assert (room is not None) == enough
    if room is not None:
        assert (room.runs, room.allocation.cores) == ((FULL[number],), int(select))


def test_one_after_the_other_leaves_no_trace() -> None:
    search = searching(job("9", select="5"), FULL)
    assert [search.alone(each) is not None for each in FULL] == [False, True, False, False]
    assert [search.alone(each) is not None for each in FULL] == [False, True, False, False]


def test_a_search_after_another_counts_what_comes_free_once() -> None:
    """Whether several were enough or not, what they free is not free any more when one alone is looked at."""
    never = searching(job("9", select="1:ncpus=9+1:ncpus=1"), FULL)
    assert never.first_enough(FULL) is None
    assert [never.alone(each) for each in FULL] == [None] * 4

    fits_but_for_head = searching(job("9", select="9"), [FULL[0], FULL[2]], guard=Keeper("1"))
    assert fits_but_for_head.first_enough([FULL[0]]) is not None
    room = fits_but_for_head.alone(FULL[0])
    assert room is not None
    assert sum(spot.chunks for spot in room.allocation.spots if spot.vnode == "v1") <= 8


def test_the_world_stays_as_it_is() -> None:
    snapshot: Snapshot = cluster([vnode("v1", 8), vnode("v2", 8)], [job("9", select="16")], FULL)
    Search(snapshot.cluster(), snapshot.jobs["9"], ALL).first_enough(FULL)
    assert snapshot.idle_cores() == 0
