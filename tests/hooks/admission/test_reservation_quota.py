"""What users may reserve: within the quotas of their jobs, at each time, in the queue that lets them keep most."""

from __future__ import annotations

import pytest

from hooks.admission.reservation_quota import FOREVER_S, Reserved, Table, refuse_beyond_quota

CONSUMABLES = frozenset({"ncpus", "mem", "ngpus", "scratch"})
SIZES = frozenset({"mem", "scratch"})
LARGEST = {"ncpus": 8, "ngpus": 2}


def reserve(select: str, place: str = "", begin_s: float = 100, end_s: float = 200, **plain: str) -> Reserved:
    return Reserved(select, place, plain, begin_s, end_s)


def judge(asked: Reserved, *tables: Table, others: tuple[Reserved, ...] = ()) -> str | None:
    of = {"consumables": CONSUMABLES, "sizes": SIZES}
    return refuse_beyond_quota(asked, others, tables, "alice", "chem", largest=LARGEST, **of)


def quota(text: str, queue: str = "workq", resource: str = "ncpus") -> Table:
    return Table(queue, resource, text)


ALICE_8 = quota("[u:alice=8]")


@pytest.mark.parametrize(
    ("asked", "is_within"),
    [
        (reserve("2:ncpus=4"), True),
        (reserve("9:ncpus=1"), False),
        (reserve("", ncpus="8"), True),
        (reserve("", ncpus="9"), False),
        (reserve("1:ncpus=1", "excl"), True),
        (reserve("2:ncpus=1", "scatter:excl"), False),
        (reserve("8:ncpus=1", "free:exclhost"), True),
        (reserve("1:mem=4gb"), True),
        (reserve("8:ncpus=0:mem=1gb"), True),
        (reserve("", ncpus="0"), True),
        (reserve("9:ncpus=0:mem=1gb"), False),
    ],
)
def test_a_users_reservation_counts_with_all_that_it_keeps(asked: Reserved, is_within: bool) -> None:
    assert (judge(asked, ALICE_8) is None) == is_within


def test_a_sites_own_size_without_a_unit_is_in_bytes_as_in_pbs() -> None:
    limit = quota("[u:alice=10gb]", resource="scratch")
    assert judge(reserve("1:ncpus=1:scratch=10737418240"), limit) is None
    assert judge(reserve("", scratch="10737418240"), limit) is None
    beyond = judge(reserve("1:ncpus=1:scratch=10737419264"), limit)
    assert beyond is not None
    assert "scratch=10485761kb to be reserved is more than the quota u:alice=10485760kb" in beyond


def test_what_is_refused_names_the_quota_and_who_may() -> None:
    assert judge(reserve("1:ncpus=4"), ALICE_8, others=(reserve("1:ncpus=6"),)) == (
        "ncpus=4 to be reserved beside 6 in other reservations of alice at that time is more than the quota u:alice=8"
        " of queue workq: reservations of users count as their jobs do; managers and operators may reserve more"
        " (submission.reservations)"
    )


@pytest.mark.parametrize(
    ("begin_s", "end_s", "is_within"), [(0, 100, True), (0, 101, False), (200, FOREVER_S, True), (150, 160, False)]
)
def test_only_reservations_of_the_same_time_count_together(begin_s: float, end_s: float, is_within: bool) -> None:
    other = reserve("1:ncpus=6", begin_s=begin_s, end_s=end_s)
    assert (judge(reserve("1:ncpus=4"), ALICE_8, others=(other,)) is None) == is_within


@pytest.mark.parametrize(
    ("tables", "most"),
    [
        ([quota("[u:alice=8]"), quota("[u:alice=16]", "long")], 16),
        ([quota("[u:alice=8]"), quota("[u:bob=16]", "long")], 24),
        ([quota("[u:alice=8]"), quota("[u:PBS_GENERIC=4]", "long")], 8),
        ([quota("[u:alice=8],[g:chem=6]")], 6),
        ([quota("[u:alice=8]"), quota("[u:alice=5]", "")], 5),
        ([quota("[u:alice=5]", "")], 5),
        ([quota("[u:alice=2]", resource="ngpus")], 24),
        ([quota("[nonsense")], 24),
        ([], 24),
    ],
)
def test_the_most_generous_queue_decides_and_the_servers_quota_binds(tables: list[Table], most: int) -> None:
    within = [cores for cores in range(1, 25) if judge(reserve(f"{cores}:ncpus=1"), *tables) is None]
    assert within == list(range(1, most + 1))


def test_quotas_on_other_resources_bind_too() -> None:
    gpus = quota("[u:alice=2]", resource="ngpus")
    assert judge(reserve("1:ncpus=1:ngpus=2"), gpus) is None
    assert "ngpus=3 to be reserved is more" in (judge(reserve("3:ncpus=1:ngpus=1"), gpus) or "")


def test_quotas_on_memory_bind_in_the_units_that_the_server_writes() -> None:
    memory = quota("[u:alice=4gb]", resource="mem")
    assert judge(reserve("2:mem=2gb"), memory) is None
    refused = judge(reserve("1:mem=3gb"), memory, others=(reserve("1:mem=2gb"),)) or ""
    assert refused.startswith(
        "mem=3145728kb to be reserved beside 2097152kb in other reservations of alice at that time is more than the"
        " quota u:alice=4194304kb of queue workq"
    )


@pytest.mark.parametrize(
    "asked",
    [
        reserve("4294967297:ncpus=1"),
        reserve("1:ncpus"),
        Reserved("", "", {"ncpus": "0"}, 100, 200, "3:ppn=8"),
        Reserved("", "", {"ncpus": "0"}, 100, 200, "1"),
    ],
)
def test_what_cannot_be_counted_is_refused_to_users_who_have_a_quota(asked: Reserved) -> None:
    """PBS takes 4,294,967,297 chunks for one, and makes chunks of ``-l nodes`` only after the hook."""
    refused = judge(asked, ALICE_8) or ""
    assert "say it with -l select=" in refused
    assert judge(asked, quota("[u:bob=8]")) is None


def test_an_existing_reservation_whose_chunks_cannot_be_read_counts_with_pbs_own_sum() -> None:
    other = reserve("4294967299:ncpus=2", ncpus="6")
    assert judge(reserve("2:ncpus=1"), ALICE_8, others=(other,)) is None
    assert "beside 6 in other reservations" in (judge(reserve("3:ncpus=1"), ALICE_8, others=(other,)) or "")
