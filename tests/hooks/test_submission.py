"""What is refused at submission is what can never run, and nothing else."""

from __future__ import annotations

import pytest

from hooks.submission import find_impossible, shrink_estimate
from hooks.summary import QueueSummary
from policy.settings import BackfillSettings

CONSUMABLES = frozenset({"ncpus", "mem", "ngpus"})
QUEUE = QueueSummary("drive", {"ncpus": 24, "mem": 96 << 20}, {"ncpus": 8, "mem": 32 << 20})
HALF = BackfillSettings(shrink_factor=0.5, shrink_threshold_s=3600)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"select": "25:ncpus=1"}, "asks for ncpus=25, and all vnodes open to that queue have ncpus=24 together"),
        ({"select": "1:ncpus=9"}, "one chunk asks for ncpus=9, and the largest host open to that queue has ncpus=8"),
        ({"ncpus": "9"}, "one chunk asks for ncpus=9"),
        ({"select": "1:ncpus=1:mem=33gb"}, "one chunk asks for mem=34603008kb"),
        ({"select": "1:ncpus=1:ngpus=1"}, "ngpus=1, and all vnodes open to that queue have ngpus=0"),
        ({"select": "1:ncpus=8+1:ncpus=9"}, "one chunk asks for ncpus=9"),
    ],
)
def test_what_can_never_run_is_refused_with_the_numbers(asked: dict[str, str], words: str) -> None:
    refusal = find_impossible(asked, "workq", QUEUE, CONSUMABLES)
    assert refusal is not None
    assert words in refusal
    assert "queue workq" in refusal


@pytest.mark.parametrize(
    "asked",
    [
        {}, {"walltime": "1:00:00"}, {"select": "3:ncpus=8"}, {"ncpus": "8"}, {"select": "what"}, {"ncpus": "many"},
        {"select": "1:ncpus=1:nosuch=5"},
    ],
)  # fmt: skip
def test_what_may_come_to_fit_or_cannot_be_read_is_let_through(asked: dict[str, str]) -> None:
    assert find_impossible(asked, "workq", QUEUE, CONSUMABLES) is None


def test_nothing_is_refused_while_no_vnodes_are_known() -> None:
    assert find_impossible({"select": "99:ncpus=99"}, "workq", QueueSummary("drive", {}, {}), CONSUMABLES) is None


def test_an_estimate_above_the_threshold_is_shrunk() -> None:
    assert shrink_estimate({"walltime": "10:00:00"}, HALF) == 18_000


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"walltime": "1:00:00"},
        {"walltime": "10:00:00", "soft_walltime": "1:00:00"},
        {"walltime": "10:00:00", "min_walltime": "1:00:00"},
        {"walltime": "noon"},
    ],
)
def test_other_estimates_stay_as_they_are(asked: dict[str, str]) -> None:
    assert shrink_estimate(asked, HALF) is None


def test_without_a_factor_no_estimate_is_shrunk() -> None:
    assert shrink_estimate({"walltime": "10:00:00"}, BackfillSettings()) is None
