"""A select beyond the bounds is told from its text, and equal neighbours are one kind."""

from __future__ import annotations

import pytest

from policy.eligibility.request_text_limits import find_excess
from policy.settings.settings_of_server_and_passes import SubmissionSettings

FOUR = SubmissionSettings(select_length=100, select_kinds=4)


@pytest.mark.parametrize(
    "select",
    [
        "",
        "1:ncpus=1",
        "1:ncpus=1+2:ncpus=2+3:ncpus=3+4:ncpus=4",
        "+".join(["1:ncpus=1"] * 10),
        "1+2+3+4+5+6",
        "1:ncpus=1+2:ncpus=1+1:ncpus=2+5:ncpus=2+1",
        "1:app='a+b+c+d+e+f':ncpus=1",
        "x" * 100,
    ],
)
def test_within_the_bounds(select: str) -> None:
    assert find_excess(select, FOUR) == ""


@pytest.mark.parametrize(
    ("select", "words"),
    [
        ("+".join(f"1:ncpus={n}" for n in range(5)), "5 kinds of chunks, counting equal neighbours once; allowed"),
        ("1:ncpus=1+1:ncpus=2+1:ncpus=1+1:ncpus=2+1:ncpus=1", "5 kinds of chunks"),
        ("x" * 101, "101 characters; allowed are 100 (submission.select_length)"),
        ("1:app='a+b+c+d+e+f", "is not closed"),
    ],
)
def test_beyond_the_bounds(select: str, words: str) -> None:
    assert words in find_excess(select, FOUR)


def test_a_bound_of_zero_is_none() -> None:
    unbounded = SubmissionSettings(select_length=0, select_kinds=0)
    assert find_excess("+".join(f"1:ncpus={n}" for n in range(100_000)), unbounded) == ""


def test_as_installed_a_select_has_16_kib_and_256_kinds() -> None:
    kinds = [f"1:mem={n}kb" for n in range(257)]
    assert find_excess("+".join(kinds[:256]), SubmissionSettings()) == ""
    assert "257 kinds" in find_excess("+".join(kinds), SubmissionSettings())
    assert "16,385 characters" in find_excess("x" * 16_385, SubmissionSettings())
