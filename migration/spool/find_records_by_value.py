"""Finds the records of a queue file that have one value, without parsing its other lines.

It is for programs that any client of sshd can start: their cost must not grow with the number of records.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from migration.spool.record_as_key_value_line import LineError, encode, from_line
from policy.migration.job_record_and_copy_updates import Record


def find_lines(path: Path, field: str, value: str) -> Iterator[Record]:
    """The records whose text ``field`` is ``value``; none where there is no file. No value can hold what is looked for,
    since ``=`` and tabs in values are encoded. Raises OSError.
    """
    wanted = f"\t{field}={encode(value)}".encode("ascii")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    at = data.find(wanted)
    while at >= 0:
        end = data.find(b"\n", at)
        if end < 0:
            return
        if data[at + len(wanted) : at + len(wanted) + 1] in (b"\t", b"\n"):
            with contextlib.suppress(LineError):
                yield from_line(data[data.rfind(b"\n", 0, at) + 1 : end].decode("ascii", "replace"))
        at = data.find(wanted, end)
