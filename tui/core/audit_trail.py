"""The console's audit file as records: each change once, with how it ended, the newest first.

A change leaves a line before the command goes out and one after; the two are brought together by the number of the
change. A record without the second line was sent and never confirmed: what became of it, the server's log tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tui.core.audit import UNCONFIRMED

_MOST_BYTES = 2 << 20
_SENDING = "sending"


class Record(NamedTuple):
    """One change; ``stage`` is done, failed, refused, or unconfirmed; texts are as they were written down."""

    number: int
    time_s: float
    stage: str
    user: str
    origin: str
    server: str
    command: str
    before: str
    after: str
    reply: str
    change: str = ""


def read_trail(path: Path) -> list[Record]:
    """The changes in the end of the file, newest first; none where there is no file. Raises OSError."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _MOST_BYTES))
            lines = file.read(_MOST_BYTES).splitlines()
    except FileNotFoundError:
        return []
    records: list[Record] = []
    open_ones: dict[tuple[str, ...], int] = {}
    for line in lines:
        record = _record(line, len(records))
        if record is None:
            continue
        # Lines of before there were numbers have their words alone.
        key = (record.change,) if record.change else (record.user, record.server, record.command)
        if record.stage == _SENDING:
            open_ones[key] = len(records)
            records.append(record._replace(stage=UNCONFIRMED))
        elif key in open_ones:
            number = open_ones.pop(key)
            records[number] = record._replace(number=number, before=record.before or records[number].before)
        else:
            records.append(record)
    return records[::-1]


def _record(line: bytes, number: int) -> Record | None:
    """One line; None for half of one, or anything else."""
    try:
        data: Mapping[str, Any] = json.loads(line)
        time_s = datetime.fromisoformat(str(data["time"])).timestamp()
        texts = [str(data.get(name, "")) for name in ("stage", "user", "origin", "server")]
        rest = [str(data.get(name, "")) for name in ("command", "before", "after", "reply")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    change = str(data.get("change", ""))
    return Record(number, time_s, texts[0], texts[1], texts[2], texts[3], rest[0], rest[1], rest[2], rest[3], change)
