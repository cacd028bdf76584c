"""Lines of files as they are, whatever packs or ends them, and the count of what was left out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.traces.read_plain_or_gzip_lines import LeftOut, read_lines
from sim.workload.workload import describe_skipped


class OurError(ValueError):
    """What the caller asked to have raised."""


def lines_of(path: Path, content: bytes, longest_bytes: int = 100) -> list[bytes]:
    path.write_bytes(content)
    return list(read_lines(path, longest_bytes, OurError))


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b""))), st.booleans())
def test_lines_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], packed: bool
) -> None:
    """Any bytes but line ends, plain and packed."""
    content = b"".join(line + b"\n" for line in (b"first", *lines))
    path = tmp_path_factory.mktemp("lines") / "file"
    assert lines_of(path, gzip.compress(content) if packed else content) == [b"first", *lines]


def test_a_byte_order_mark_and_a_missing_last_line_end_are_no_part_of_a_line(tmp_path: Path) -> None:
    assert lines_of(tmp_path / "file", b"\xef\xbb\xbfone\r\ntwo") == [b"one", b"two"]


def test_a_line_may_be_as_long_as_allowed_and_no_longer(tmp_path: Path) -> None:
    assert lines_of(tmp_path / "file", b"x" * 99 + b"\n" + b"y" * 100, 100) == [b"x" * 99, b"y" * 100]
    with pytest.raises(OurError, match="file: line 2: longer than 100 bytes"):
        lines_of(tmp_path / "file", b"x\n" + b"y" * 5000)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(OurError, match="absent: cannot be read: No such file"):
        list(read_lines(tmp_path / "absent", 100, OurError))
    with pytest.raises(OurError, match=r"file: line [1-9][0-9]*: damaged or incomplete gzip data"):
        lines_of(tmp_path / "file", gzip.compress(b"hello\n" * 99)[:12])


def test_causes_are_counted_with_their_first_lines_in_the_first_file() -> None:
    left_out = LeftOut()
    assert not left_out
    for line in (4, 7, 9, 12):
        left_out.add("odd", line, "a")
    left_out.add("odd", 1, "b")
    left_out.add("even", 2)
    assert left_out
    assert describe_skipped(left_out.counts(), left_out.lines()) == (
        "6 left out: 5 odd, first in a (lines 4, 7, 9, ...), 1 even (line 2)"
    )
