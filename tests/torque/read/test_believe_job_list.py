"""A list of jobs that is too short is not used, for a user who would see all of them."""

from __future__ import annotations

import pytest

from torque.read.believe_job_list import ReadingUser, why_not_believed

ROOT = ReadingUser("root", "trq0.example.org")


def server(total: int, **more: str) -> dict[str, str]:
    return {"total_jobs": str(total), "managers": "root@trq0", **more}


@pytest.mark.parametrize(("listed", "before", "after"), [(0, 1, 1), (0, 5000, 4000), (4000, 5000, 5000)])
def test_a_list_that_is_too_short_is_refused(listed: int, before: int, after: int) -> None:
    least = min(before, after)
    assert why_not_believed(listed, server(before), server(after), ROOT) == (
        f"the server listed {listed:,} jobs and counts {least:,}: the list is not used"
    )


@pytest.mark.parametrize(
    ("listed", "before", "after"), [(0, 0, 0), (0, 3, 0), (0, 0, 3), (7, 7, 7), (4990, 5000, 5001), (9, 7, 8)]
)
def test_a_list_that_can_be_right_is_taken(listed: int, before: int, after: int) -> None:
    assert why_not_believed(listed, server(before), server(after), ROOT) == ""


@pytest.mark.parametrize(
    ("user", "attributes", "sees_all"),
    [
        (ROOT, {"managers": "root@trq0"}, True),
        (ROOT, {"managers": "alice@trq0", "operators": "bob@x,root@*"}, True),
        (ROOT, {"managers": "root@other"}, False),
        (ReadingUser("root", "trq0.example.org"), {"managers": "alice@x,root@*.example.org"}, True),
        (ReadingUser("root", "trq0.example.com"), {"managers": "root@*.example.org"}, False),
        (ROOT, {"server_host": "trq0.example.org"}, True),
        (ROOT, {"server_host": "other"}, False),
        (ROOT, {"server_host": "trq0", "managers": "alice@trq0"}, False),
        (ROOT, {}, False),
        (ReadingUser("alice", "trq0"), {"managers": "root@trq0"}, False),
        (ReadingUser("alice", "trq0"), {"query_other_jobs": "True"}, True),
        (ReadingUser("alice", "trq0"), {"query_other_jobs": "False"}, False),
    ],
)
def test_who_sees_all_jobs(user: ReadingUser, attributes: dict[str, str], *, sees_all: bool) -> None:
    assert user.sees_all(attributes) is sees_all
    refused = why_not_believed(0, {"total_jobs": "5"}, {"total_jobs": "5", **attributes}, user)
    assert bool(refused) is sees_all
