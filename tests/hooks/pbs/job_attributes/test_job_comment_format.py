"""What tells two comments apart: not the counts that other jobs move."""

from __future__ import annotations

import pytest

from hooks.pbs.job_attributes.job_comment_format import without_counts


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("needs 16 cores: 8 are idle; jobs ahead of it: 1", "needs 16 cores: 1 core is idle; jobs ahead of it: 12"),
        ("needs 16 cores: 8 are idle; x", "needs 16 cores: 8 are idle (and 6 on vnodes that jobs hold exclusively); x"),
        (
            "needs 2 cores, 0 are idle, but",
            "needs 2 cores, 4 are idle (and 14 on vnodes that jobs hold exclusively), but",
        ),
    ],
)
def test_counts_that_other_jobs_move_make_no_other_comment(before: str, after: str) -> None:
    assert without_counts(before) == without_counts(after)


def test_other_numbers_do() -> None:
    assert without_counts("needs 16 cores: 8 are idle") != without_counts("needs 8 cores: 8 are idle")
