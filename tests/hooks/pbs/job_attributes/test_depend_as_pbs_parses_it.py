"""The text of a ``depend`` in the forms that PBS's server takes: which job each names, and at which server."""

from __future__ import annotations

import pytest

from hooks.pbs.job_attributes.depend_as_pbs_parses_it import find_kinds, find_mirror, find_named_jobs


def read(depend: str) -> list[tuple[str, str, str]]:
    return [(each.kind, each.job_id, each.server) for each in find_named_jobs(depend)]


@pytest.mark.parametrize(
    ("depend", "expected"),
    [
        ("afterok:7.s@s", [("afterok", "7.s", "s")]),
        ("afterok:7.s", [("afterok", "7.s", "s")]),
        ("afterok:7[].s.site.org", [("afterok", "7[].s.site.org", "s.site.org")]),
        ("on:2,beforeok:7.s:8.s", [("beforeok", "7.s", "s"), ("beforeok", "8.s", "s")]),
        (" \t on:2 ,\v beforeok:7.s ", [("beforeok", "7.s", "s")]),
        ("on:2\nbeforeok:7.s\n", [("beforeok", "7.s", "s")]),
        ("beforeok:7.s:,on:1,", [("beforeok", "7.s", "s")]),
        ("after:7@s", [("after", "7", "s")]),
        ("after:7.s@", [("after", "7.s", "s")]),
        ("after:7.s@other@s", [("after", "7.s", "s")]),
        ("after:7.s@s@", [("after", "7.s", "s")]),
        (r"runone:7.s@h\:20001:8.s", [("runone", "7.s", "h:20001"), ("runone", "8.s", "s")]),
        (r"runone:7.s\:1@s", [("runone", "7.s:1", "s")]),
        (r"after:7.s\,on:1", [("after", r"7.s\,on", r"s\,on")]),
        ("", []),
        ("on:1", []),
    ],
)
def test_each_job_is_read_with_its_server(depend: str, expected: list[tuple[str, str, str]]) -> None:
    assert read(depend) == expected


@pytest.mark.parametrize(
    "fault", ["afterok:7", "afterok", "afterok:", "AfterOk:8.s", "nonsense:8.s", "afterok::8.s", ","]
)
def test_what_pbs_has_read_before_it_refuses_the_text_counts(fault: str) -> None:
    """By then it has looked up the server's name, or written beyond its field."""
    assert read(f"before:7.s,{fault}") == [("before", "7.s", "s")]
    assert read(fault) == []


def test_the_length_is_that_of_the_longer_name_as_it_is_written() -> None:
    assert [each.length for each in find_named_jobs(r"after:7.s@h\:1:8." + "é" * 10)] == [4, 22]


def test_kinds_and_what_they_become_at_the_named_job() -> None:
    assert find_kinds(" on:1,beforeok:7.s") == {"on", "beforeok"}
    assert [find_mirror(kind) for kind in ("before", "beforeany")] == ["after", "afterany"]


def test_a_long_text_is_read_in_time_linear_in_its_length() -> None:
    assert len(read("after:" + ":".join(["7.s"] * 50_000))) == 50_000
    assert read("," * 100_000) == []
