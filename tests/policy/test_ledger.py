"""The ledger as plain data: read back as written, and anything else refused with what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from policy.ledger import VERSION, Hold, Ledger, LedgerError
from tests.policy.clusters import place_of

FULL = Ledger(
    {"3.s": 100.5}, {"4.s": Hold(place_of("(v1:ncpus=2:mem=5kb)"), ("1.s", "2[3].s"), 90.0)}, {"1.s": 2}, {"5.s": 80.0}
)


def data(**changed: Any) -> dict[str, Any]:
    return {**FULL.to_data(), **changed}


def test_read_back_as_written() -> None:
    assert Ledger.from_data(FULL.to_data()) == FULL
    assert Ledger.from_data(Ledger().to_data()) == Ledger()


def test_written_in_words_of_pbs() -> None:
    hold = {"exec_vnode": "(v1:mem=5kb:ncpus=2)", "victims": ["1.s", "2[3].s"], "since_s": 90.0}
    assert FULL.to_data() == {
        "version": VERSION,
        "promises": {"3.s": 100.5},
        "holds": {"4.s": hold},
        "preemptions": {"1.s": 2},
        "backfilled": {"5.s": 80.0},
    }


@pytest.mark.parametrize("version", [0, VERSION + 1, "1", None])
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
    ],
)
def test_bad_data_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.from_data(data(**changed))


@pytest.mark.parametrize("missing", ["promises", "holds", "preemptions", "backfilled"])
def test_a_part_that_is_missing_is_named(missing: str) -> None:
    lacking = data()
    del lacking[missing]
    with pytest.raises(LedgerError, match=missing):
        Ledger.from_data(lacking)
