"""A table as data: CSV or JSON of all its rows, by the columns and in the order that are shown.

Values are those that sort and filter: numbers as numbers, times and lengths of time in seconds, sizes in KiB. Texts
are users' own: in CSV each is quoted, whatever separates cells where the file is opened, and one that a spreadsheet
would take for a formula begins with an apostrophe; nothing in it is obeyed by a terminal. A file is new and its
owner's alone.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tui.tables.columns import Column
from tui.tables.filters import Value
from tui.text.lines import safe

Key = TypeVar("Key")

KINDS = ("csv", "json")
_FORMULA = ("=", "+", "-", "@")


class ExportError(ValueError):
    """A table that cannot be written there; the message names the file and what is allowed."""


class Source(NamedTuple):
    """Where a table is from: server, time (seconds since 1970), the table's name, its filter as typed, its order."""

    server: str
    time_s: float
    table: str
    filter: str
    sort: str


def told(column: Column[Key], key: Key) -> Value:
    """What a column says of a key as data."""
    value = (column.told or column.value)(key)
    return round(value, 3) if isinstance(value, float) else value


def exported(columns: Sequence[Column[Key]]) -> list[Column[Key]]:
    """The columns that say something of their own."""
    return [column for column in columns if not column.drawn]


def as_csv(columns: Sequence[Column[Key]], keys: Iterable[Key]) -> str:
    """A header of the columns' names, and a line for each key."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    kept = exported(columns)
    writer.writerow(column.name for column in kept)
    for key in keys:
        writer.writerow([_cell(told(column, key)) for column in kept])
    return text.getvalue()


def _cell(value: Value) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return value
    text = safe(" ".join(value) if isinstance(value, tuple) else value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def as_data(columns: Sequence[Column[Key]], keys: Iterable[Key], source: Source) -> dict[str, Any]:
    """Where the table is from, and its rows, one object each."""
    kept = exported(columns)
    return {**source._asdict(), "rows": [{column.name: told(column, key) for column in kept} for key in keys]}


def as_text(kind: str, columns: Sequence[Column[Key]], keys: Iterable[Key], source: Source) -> str:
    """The table as one of :data:`KINDS`."""
    return as_csv(columns, keys) if kind == "csv" else json.dumps(as_data(columns, keys, source)) + "\n"


def as_row(columns: Sequence[Column[Key]], key: Key) -> str:
    """One row as a line of cells with tabs between them, for the clipboard."""
    values = (told(column, key) for column in exported(columns))
    return "\t".join(safe(" ".join(v) if isinstance(v, tuple) else "" if v is None else str(v)) for v in values)


def kind_of(path: Path) -> str:
    """Which of :data:`KINDS` a file's name asks for. Raises :class:`ExportError`."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise ExportError(f"{path.name!r} says no format: allowed are names that end in .{' or .'.join(KINDS)}")
    return kind


def write_new(path: Path, text: str, *, overwrite: bool) -> None:
    """Write the file, readable for its owner alone. Raises :class:`ExportError`, also for one that is there already
    unless it may be overwritten."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new") if overwrite else path
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            if overwrite:
                fresh.replace(path)
        except OSError:
            fresh.unlink()
            raise
    except FileExistsError as error:
        raise ExportError(f"{path} is there already: ! after its name overwrites it") from error
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror}") from error
