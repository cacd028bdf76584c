"""A newer copy of a record is folded in, an older one is not, and a target changes nothing that the user asked for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.migration.job_demand import Demand, find_demand_problem
from policy.migration.job_record_and_copy_updates import Record, fold, split_gid

MINE = Record(gid="a.1", user="alice", src="a", dst="b", dir="/home/alice/x", prog="./p", state="Waiting", rev=4)


def test_a_newer_copy_of_the_target_is_folded_in() -> None:
    theirs = replace(MINE, state="Submitted", rev=6, localid="12.b", uploaded_bytes=99, reason="queued")
    assert fold(MINE, theirs) == theirs


def test_a_copy_that_is_not_newer_is_ignored() -> None:
    assert fold(MINE, replace(MINE, state="End")) is None
    assert fold(MINE, replace(MINE, state="End", rev=3)) is None


def test_a_copy_of_another_attempt_or_job_is_ignored() -> None:
    assert fold(MINE, replace(MINE, attempt=2, rev=9)) is None
    assert fold(replace(MINE, attempt=2), replace(MINE, rev=9)) is None
    assert fold(MINE, replace(MINE, gid="a.2", rev=9)) is None


def test_a_target_cannot_change_what_the_user_asked_for() -> None:
    theirs = replace(
        MINE, rev=9, user="root", src="c", dst="c", dir="/etc", prog="/bin/sh", args=("x",), stop="discard", cores=9
    )
    assert fold(MINE, theirs) == replace(MINE, rev=9)


@given(st.integers(1, 3), st.integers(1, 9), st.integers(1, 3), st.integers(1, 9))
def test_folding_is_idempotent_and_never_goes_back(attempt: int, rev: int, their_attempt: int, their_rev: int) -> None:
    mine, theirs = replace(MINE, attempt=attempt, rev=rev), replace(MINE, attempt=their_attempt, rev=their_rev)
    after = fold(mine, theirs) or mine
    assert after.age >= mine.age
    assert fold(after, theirs) is None


def test_the_demand_names_no_processor_where_the_program_is_built() -> None:
    assert Record(cores=8, nodes=2, walltime=60, arch="x86_64-v3").demand == Demand(8, 2, 0, 0, 60, "x86_64-v3")
    assert Record(cores=8, arch="x86_64-v3", build=("make",)).demand.arch == ""


def test_job_ids() -> None:
    assert split_gid("a-1.17") == ("a-1", 17)
    for wrong in ("a", "a.0", "a.01", ".1", "A.1", "a.1\n", "a.1.2", "a.x", f"{'a' * 33}.1"):
        with pytest.raises(ValueError, match=r"must be SOURCE\.SERIAL"):
            split_gid(wrong)


def test_the_local_name_has_the_attempt() -> None:
    assert replace(MINE, attempt=2).local_name == "mg_a.1_2"


@pytest.mark.parametrize(
    ("demand", "problem"),
    [
        ((8, 2, 0, 0, 60), ""),
        ((0, 0, 0, 0, 60), "cores 0"),
        ((7, 2, 0, 0, 60), "multiple of the nodes"),
        ((4, 0, 100, 0, 60), "counted a node"),
        ((4, 1, 0, -1, 60), "negative"),
        ((4, 0, 0, 0, 0), "walltime 0 s"),
    ],
)
def test_a_demand_that_no_cluster_could_meet_is_named(demand: tuple[int, int, int, int, int], problem: str) -> None:
    found = find_demand_problem(*demand)
    assert problem in found if problem else not found


def test_the_key_to_a_jobs_data_is_never_replaced_by_a_message() -> None:
    first = fold(replace(MINE, datakey=""), replace(MINE, datakey="key", rev=9))
    assert first is not None
    assert first.datakey == "key"
    later = fold(first, replace(first, datakey="another", rev=10))
    assert later is not None
    assert (later.datakey, later.rev) == ("key", 10)


def test_a_target_excludes_no_cluster_but_itself() -> None:
    mine = replace(MINE, dst="b", avoid=("d",), last="d")
    theirs = replace(mine, rev=9, avoid=tuple(f"c{number}" for number in range(1000)), last="x")
    assert fold(mine, theirs) == replace(mine, rev=9)
    assert fold(mine, replace(theirs, avoid=("c", "b", "b"))) == replace(mine, rev=9, avoid=("d", "b"))
