"""The ledger as plain data: read back as written, and anything else refused with what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from policy.model.job_request import parse_request
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.ledger_between_passes import (
    VERSION,
    Backfilled,
    Cut,
    Earmark,
    History,
    Ledger,
    LedgerError,
    Moved,
    Tally,
)
from policy.model.request_when_promised import RequestWhenPromised
from tests.policy.clusters import place_of

FULL = Ledger(
    {"3.s": 100.5},
    {"4.s": Earmark(place_of("(v1:ncpus=2:mem=5kb)"), ("1.s", "2[3].s"), 90.0, "class")},
    {"1.s": 2},
    {"5.s": Backfilled(80.0, True), "6.s": Backfilled(UNLIMITED_S)},
    {"5.s": 7, "6.s": -1},
    {"alice": History((10.0, 20.5), 30.5, 60.0)},
    {"u:alice:wrf": {"stripe": Tally(3, (2.5, 0.5))}},
    {"v1": 70.0},
    99.0,
    {"1.s": Cut(91.5, "cut-for-rescue", (("beneficiary", "4.s"), ("left_s", UNLIMITED_S)))},
    {"5.s": {"v1": (0, 1, 8), "v2": ()}},
    17,
    3,
    {
        "3.s": RequestWhenPromised(
            "workq",
            UNLIMITED_S,
            parse_request("2:ncpus=4:mem=5kb:host=v1:mpiprocs=4+1:ncpus=1", "scatter:excl"),
            (("lic", 2),),
        )
    },
    {"3.s": Moved(50.5, 2, "4.s")},
)


def data(**changed: Any) -> dict[str, Any]:
    return {**FULL.to_data(), **changed}


def test_read_back_as_written() -> None:
    assert Ledger.from_data(FULL.to_data()) == FULL
    assert Ledger.from_data(Ledger().to_data()) == Ledger()


def test_written_in_words_of_pbs() -> None:
    hold = {"exec_vnode": "(v1:mem=5kb:ncpus=2)", "victims": ["1.s", "2[3].s"], "since_s": 90.0, "rule": "class"}
    assert FULL.to_data() == {
        "version": VERSION,
        "promises": {"3.s": 100.5},
        "holds": {"4.s": hold},
        "preemptions": {"1.s": 2},
        "backfilled": {"5.s": [80.0, True], "6.s": [None, False]},
        "classes": {"5.s": 7, "6.s": -1},
        "history": {"alice": [[10.0, 20.5], 30.5, 60.0]},
        "learned": {"u:alice:wrf": {"stripe": [3, [2.5, 0.5]]}},
        "stripes": {"v1": 70.0},
        "seen_s": 99.0,
        "cuts": {"1.s": [91.5, "cut-for-rescue", [["beneficiary", "4.s"], ["left_s", None]]]},
        "cores": {"5.s": {"v1": [0, 1, 8], "v2": []}},
        "first_behind": 17,
        "tried_in_vain": 3,
        "asked": {
            "3.s": {
                "queue": "workq",
                "estimate_s": None,
                "job_wide": {"lic": 2},
                "place": ["scatter", "excl", None],
                "chunks": [[2, {"mem": 5, "ncpus": 4}, [["host", "v1"]], 4, None], [1, {"ncpus": 1}, [], None, None]],
            }
        },
        "moved": {"3.s": [50.5, 2, "4.s"]},
    }


def test_the_first_version_is_read_without_what_it_did_not_know() -> None:
    old = {key: data()[key] for key in ("promises", "holds", "preemptions")}
    assert Ledger.from_data({**old, "version": 1, "backfilled": {"5.s": 80.0}}) == Ledger(
        FULL.promises, FULL.earmarks, FULL.preemptions
    )


def test_the_second_version_is_read_without_what_was_learned_of_all_users_together() -> None:
    old = data(version=2, learned={"wrf": {"stripe": [3, 2.5]}})
    assert Ledger.from_data(old) == FULL._replace(learned={})


def test_a_part_that_came_later_need_not_be_there() -> None:
    older = {key: value for key, value in data().items() if key not in LATER}
    assert Ledger.from_data(older) == FULL._replace(first_behind=0, tried_in_vain=0, asked={}, moved={})


@pytest.mark.parametrize("version", [0, VERSION + 1, "1", None, True])
def test_another_version_is_refused_rather_than_guessed_at(version: object) -> None:
    with pytest.raises(LedgerError, match=f"version {version!r}"):
        Ledger.from_data(data(version=version))


@pytest.mark.parametrize("no_object", [None, [], "x", 3])
def test_what_is_no_object_is_refused(no_object: object) -> None:
    with pytest.raises(LedgerError, match="a ledger is an object"):
        Ledger.from_data(no_object)


HOLD = FULL.to_data()["holds"]["4.s"]


@pytest.mark.parametrize(
    "changed",
    [
        {"promises": None},
        {"promises": []},
        {"promises": {"3": "soon"}},
        {"promises": {"3": float("nan")}},
        {"promises": {"3": float("inf")}},
        {"promises": {"3": True}},
        {"promises": {"3": 10**400}},
        {"holds": {"4": {}}},
        {"holds": {"4": {**HOLD, "exec_vnode": "(("}}},
        {"holds": {"4": {**HOLD, "exec_vnode": 3}}},
        {"holds": {"4": {**HOLD, "victims": "1.s"}}},
        {"holds": {"4": {**HOLD, "since_s": None}}},
        {"preemptions": {"1": -1}},
        {"preemptions": {"1": 1.5}},
        {"preemptions": {"1": float("inf")}},
        {"preemptions": {"1": "2"}},
        {"backfilled": {"1": {}}},
        {"backfilled": {"1": [1.0, 1]}},
        {"classes": {"1": -2}},
        {"classes": {"1": 1.5}},
        {"history": {"alice": [[1.0], 2.0]}},
        {"history": {"alice": [["x"], 2.0, 3.0]}},
        {"learned": {"wrf": {"pack": [1.5, [2.0]]}}},
        {"stripes": {"v1": "soon"}},
        {"seen_s": None},
        {"cuts": {"1.s": [1.0, "x"]}},
        {"cuts": {"1.s": [None, "x", []]}},
        {"cuts": {"1.s": [1.0, 7, []]}},
        {"cuts": {"1.s": [1.0, "x", [["used", True]]]}},
        {"cuts": {"1.s": [1.0, "x", [["used", {}]]]}},
        {"cores": {"1.s": [0, 1]}},
        {"cores": {"1.s": {"v1": 3}}},
        {"cores": {"1.s": {"v1": "01"}}},
        {"cores": {"1.s": {"v1": [0, -1]}}},
        {"cores": {"1.s": {"v1": [0.5]}}},
        {"cores": {"1.s": {"v1": [True]}}},
        {"moved": {"1.s": [50.0, 1]}},
        {"moved": {"1.s": [50.0, -1, "2.s"]}},
        {"moved": {"1.s": ["soon", 1, "2.s"]}},
        {"moved": {"1.s": [50.0, 1, 2]}},
    ],
)
def test_bad_data_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.from_data(data(**changed))


LATER = {"first_behind", "tried_in_vain", "asked", "moved"}
"""Parts that an older ledger of this version does not have."""


@pytest.mark.parametrize("missing", [part for part in data() if part not in {*LATER, "version"}])
def test_a_part_that_is_missing_is_named(missing: str) -> None:
    lacking = data()
    del lacking[missing]
    with pytest.raises(LedgerError, match=missing):
        Ledger.from_data(lacking)
