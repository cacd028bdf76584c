"""Chunks in the old form are counted with their cores, and words that PBS has no room for are found."""

from __future__ import annotations

import math

import pytest

from policy.eligibility.limits_of_nodes_text import count_cores_of_nodes
from policy.eligibility.request_text_limits import find_unsafe_old_form
from policy.settings.settings_of_server_and_passes import SubmissionSettings

BOUNDS = SubmissionSettings()


@pytest.mark.parametrize(
    ("nodes", "cores"),
    [
        ("", 1),
        ("3", 3),
        ("2:ppn=4", 8),
        ("2:ppn=3+4", 10),
        ("2+3#ppn=4", 20),
        ("2+3#shared", 5),
        ("1:ppn=2:cpp=3", 6),
        ("1:PPN=2:ncpus=3", 6),
        ("host1:ppn=4+5host", 5),
        ("65536:ppn=65536", 2**32),
        ("65536:ppn=1:cpp=65536", 2**32),
        ("1:ppn=99999999999", math.inf),
    ],
)
def test_cores_are_counted_for_each_chunk(nodes: str, cores: float) -> None:
    assert count_cores_of_nodes(nodes) == cores


def test_more_than_the_bound_is_refused() -> None:
    assert "it asks for 4,294,967,296 processes" in find_unsafe_old_form("65536:ppn=65536", BOUNDS)
    assert not find_unsafe_old_form("16:ppn=64", BOUNDS)


@pytest.mark.parametrize("nodes", ["0" * 80, "1:" + "a" * 80, "1:ppn=" + "1" * 80, "1#" + "b" * 80, "h/" + "0" * 80])
def test_a_word_that_pbs_has_no_room_for_is_refused(nodes: str) -> None:
    assert "a number or a name of 8" in find_unsafe_old_form(nodes, BOUNDS)


def test_words_that_fit_pass() -> None:
    assert not find_unsafe_old_form("0" * 78 + "1:" + "a" * 79, BOUNDS)
