"""Which runs are cut when a promised time has come, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from policy import Run, Snapshot
from policy.backfill.cut_backfilled_for_promise import cut_for, cut_order
from policy.model.ledger_between_passes import Backfilled
from tests.policy.clusters import cluster, job, run, vnode

ALL = 0b11


def of(*runs: Run, cores: str = "4") -> Snapshot:
    return cluster([vnode("v1", 8), vnode("v2", 8)], [job("9", "bob", cores)], runs)


def may_be_cut(snapshot: Snapshot) -> dict[str, Backfilled]:
    return {run_id: Backfilled(500, cuttable=True) for run_id in snapshot.runs}


def order(snapshot: Snapshot, backfilled: dict[str, Backfilled] | None = None, allowed: int = ALL) -> list[str]:
    found = cut_order(snapshot.cluster(), may_be_cut(snapshot) if backfilled is None else backfilled, allowed)
    return [each.id for each in found]


def test_most_nodes_then_most_cores_then_the_earlier_submitted() -> None:
    snapshot = of(
        run("1", "a", "v1=4", 3),
        run("2", "a", "v1=1 v2=1", 5),
        run("3", "a", "v2=5", 4),
        run("4", "a", "v2=1", 2),
        run("5", "a", "v1=1", 1),
    )
    assert order(snapshot) == ["2", "3", "1", "5", "4"]


@pytest.mark.parametrize("changed", [{"exiting": True}, {"rerunable": False}])
def test_who_is_ending_or_may_not_be_rerun_stays(changed: dict[str, Any]) -> None:
    assert order(of(run("1", "a", "v1=4", **changed), run("2", "a", "v1=4"))) == ["2"]


def test_who_was_not_backfilled_or_tested_in_full_stays() -> None:
    snapshot = of(run("1", "a", "v1=2"), run("2", "a", "v1=2"), run("3", "a", "v1=2"))
    assert order(snapshot, {"1": Backfilled(500, True), "2": Backfilled(500, False), "8": Backfilled(500, True)}) == [
        "1"
    ]


def test_who_holds_nothing_that_the_head_may_use_stays() -> None:
    assert order(of(run("1", "a", "v1=4"), run("2", "a", "v2=4")), allowed=0b01) == ["1"]


def cut(snapshot: Snapshot, at_s: float = 10) -> list[str] | None:
    index = snapshot.cluster()
    room = cut_for(index, snapshot.jobs["9"], ALL, at_s, cut_order(index, may_be_cut(snapshot), ALL))
    return None if room is None else [each.id for each in room.runs]


def test_only_until_the_head_fits() -> None:
    assert cut(of(run("1", "a", "v1=8"), run("2", "a", "v2=5"), run("3", "a", "v2=3"))) == ["1"]


def test_who_turns_out_not_to_be_needed_stays() -> None:
    assert cut(of(run("1", "a", "v1=1 v2=1"), run("2", "a", "v1=7"), run("3", "b", "v2=7"), cores="7")) == ["2"]


def test_nobody_where_all_would_not_be_enough() -> None:
    snapshot = of(run("1", "a", "v1=8"), run("2", "a", "v2=8"), cores="12")
    index = snapshot.cluster()
    assert cut_for(index, snapshot.jobs["9"], ALL, 10, [snapshot.runs["1"]]) is None


def test_who_ends_by_then_counts_as_gone() -> None:
    snapshot = of(run("1", "a", "v1=8", estimate_s=90), run("2", "a", "v2=8", estimate_s=500), cores="16")
    index = snapshot.cluster()
    assert cut_for(index, snapshot.jobs["9"], ALL, 89, [snapshot.runs["2"]]) is None
    room = cut_for(index, snapshot.jobs["9"], ALL, 90, [snapshot.runs["2"]])
    assert room is not None
    assert ([each.id for each in room.runs], sorted(room.allocation.vnodes)) == (["2"], ["v1", "v2"])


def test_nobody_goes_where_the_ends_by_then_are_enough() -> None:
    assert (
        cut(of(run("1", "a", "v1=8", estimate_s=90), run("2", "a", "v2=8", estimate_s=500), cores="8"), at_s=90) is None
    )


def test_the_world_stays_as_it_is() -> None:
    snapshot = of(run("1", "a", "v1=8"), run("2", "a", "v2=8"))
    before = snapshot.idle_cores()
    assert cut(snapshot) == ["1"]
    assert snapshot.idle_cores() == before
