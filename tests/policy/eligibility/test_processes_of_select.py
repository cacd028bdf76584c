"""The processes of a select are counted as PBS's MoM counts them, whatever quotes and parentheses it has."""

from __future__ import annotations

import math

import pytest

from policy.eligibility.processes_of_select import count_processes, hides_processes
from policy.eligibility.request_text_limits import find_excess, find_hidden_processes
from policy.settings.settings_of_server_and_passes import SubmissionSettings

WRAPPING = "1:ncpus=1:mpiprocs=2147483647+1:ncpus=1:mpiprocs=2147483647+1:ncpus=1:mpiprocs=2"


@pytest.mark.parametrize(
    ("select", "processes"),
    [
        ("", 1),
        ("1", 1),
        ("4:ncpus=2", 4),
        ("4:ncpus=2:mpiprocs=0", 4),
        ("2:mpiprocs=3+4:mpiprocs=5", 26),
        (WRAPPING, 2**32),
        ('5000:arch="a+b":mpiprocs=1000', 5_000_000),
        ('1:mpiprocs="6"', 6),
        ("1:mpiprocs = 6", 6),
        ("1:MPIPROCS=6", 6),
        ("1:mpiprocs=1:mpiprocs=7", 7),
        # PBS drops what follows the parenthesis, and begins a chunk.
        ("1:ncpus=1)x2:ncpus=2:mpiprocs=9", 19),
        ("(2:ncpus=1:mpiprocs=6)+(1:ncpus=2)", 13),
        ("00000000000003:mpiprocs=2", 6),
        ("1:arch='a", 1),
        ("4294967299:ncpus=1", 4294967299),
        ("1:mpiprocs=99999999999", math.inf),
        ("99999999999:ncpus=1", math.inf),
        ("1:mpiprocs=-5", math.inf),
        ("1:mpiprocs=" + "9" * 5000, math.inf),
        ("1:mpiprocs=" + "\u00b2", math.inf),
    ],
)
def test_processes_are_counted_as_pbs_reads_them(select: str, processes: float) -> None:
    assert count_processes(select) == processes


def test_a_select_of_more_processes_than_the_bound_is_refused() -> None:
    bounds = SubmissionSettings()
    assert find_excess("1000:ncpus=1:mpiprocs=1000", bounds) == ""
    assert find_excess("1000:ncpus=1:mpiprocs=1001", bounds) == (
        "it asks for 1,001,000 processes (chunks times mpiprocs); allowed are 1,000,000 (submission.mpiprocs)"
    )
    assert "more processes than have a number of 32 bits" in find_excess("1:mpiprocs=99999999999", bounds)
    assert not find_excess("1000:ncpus=1:mpiprocs=1001", SubmissionSettings(mpiprocs=2_000_000))


def test_the_longest_select_is_counted_in_a_few_milliseconds() -> None:
    for select in ("1:a='" * 3000, "+)" * 8000, "mpiprocs " * 1800, "mpiprocs=1" * 1600, "(" * 16_000, "1" * 16_000):
        assert count_processes(select) >= 1


def test_a_text_with_quotes_hides_no_processes() -> None:
    hidden = "\"'+7:ncpus=1:mpiprocs=99+1:arch='"
    assert hides_processes(hidden)
    assert hides_processes("'MPIPROCS=9")
    assert not hides_processes("mpiprocs is a word")
    assert not hides_processes("it's another")
    assert "its resource arch has mpiprocs in a text with quotes" in find_hidden_processes("arch", hidden)
    assert not find_hidden_processes("arch", "linux")
