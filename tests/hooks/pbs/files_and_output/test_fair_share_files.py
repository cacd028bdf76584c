"""The files of fair share, as PBS's scheduler reads and writes them."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from hooks.pbs.files_and_output.fair_share_files import format_usage, read_groups, read_usage
from policy.order.fair_share_tree import Group


def test_lines_of_the_tree_are_read_and_those_that_a_scheduler_leaves_out_are_left_out() -> None:
    good = "# a comment\nchem 10 root 60\nalice 11 chem 10 more\n"
    bad = "alice 12 chem 20\nbob 13 maths 5\ncarol x root 5\ndave 1\n"
    assert read_groups(good + bad) == [Group("chem", "root", 60), Group("alice", "chem", 10)]


def test_a_file_that_is_cut_off_or_none_of_pbs_has_what_can_be_read() -> None:
    data = format_usage([("alice", 100.0), ("bob", 50.0)], 1_700_000_000)
    assert read_usage(data[:-1].decode("latin-1")) == ({"alice": 100.0}, 1_700_000_000)
    assert read_usage("") == read_usage("no usage file at all, but long enough for one") == ({}, 0)


def test_the_layout_is_that_of_the_scheduler() -> None:
    data = format_usage([("alice", 7.0)], 5)
    assert (data[:9], struct.unpack("<dq", data[16:32]), len(data)) == (b"PBS_MAG!\0", (2.0, 5), 96)
    assert (data[32:37], struct.unpack("<d", data[88:])) == (b"alice", (7.0,))


def test_names_that_the_file_cannot_hold_are_left_out() -> None:
    assert format_usage([("x" * 50, 3.0), ("a/b", 3.0)], 0) == format_usage([], 0)


@given(st.dictionaries(st.from_regex(r"[A-Za-z0-9._:-]{1,49}", fullmatch=True), st.floats(1.5, 1e12)))
def test_what_is_written_is_read_again(usage: dict[str, float]) -> None:
    assert read_usage(format_usage(usage.items(), 9).decode("latin-1")) == (usage, 9)
