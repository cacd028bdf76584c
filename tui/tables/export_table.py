"""Exports a table as CSV or JSON: all of its rows, in the columns and order shown.

Values are those for sorting and filtering: numbers, times and durations in seconds, sizes in KiB. Texts may come from
users, so CSV makes formulas of a spreadsheet and control characters of a terminal harmless.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hooks.store.atomic_file import replace_file
from tui.tables.columns import Column
from tui.tables.filter_line import Value
from tui.text.screen_line import safe

Key = TypeVar("Key")

KINDS = ("csv", "json")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What begins a formula in a spreadsheet; some take the full-width forms for the same."""


class ExportError(ValueError):
    """A table that cannot be written there; the message names the file and what is allowed."""


class Origin(NamedTuple):
    """The origin of a table: server, time (seconds since 1970), the table's name, its filter as typed, its sort."""

    server: str
    time_s: float
    table: str
    filter: str
    sort: str


def exported_value(column: Column[Key], key: Key) -> Value:
    """A column's exported value for a key; floats are rounded to three decimals."""
    value = (column.export_value or column.value)(key)
    return round(value, 3) if isinstance(value, float) else value


def exported(columns: Sequence[Column[Key]]) -> list[Column[Key]]:
    """The columns that are exported: all but the drawn ones."""
    return [column for column in columns if not column.drawn]


def as_csv(columns: Sequence[Column[Key]], keys: Iterable[Key]) -> str:
    """A header of the columns' names, and a line for each key."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    kept = exported(columns)
    writer.writerow(column.name for column in kept)
    for key in keys:
        writer.writerow([_cell(exported_value(column, key)) for column in kept])
    return text.getvalue()


def _cell(value: Value) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return value
    text = safe(" ".join(value) if isinstance(value, tuple) else value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def as_data(columns: Sequence[Column[Key]], keys: Iterable[Key], origin: Origin) -> dict[str, Any]:
    """The table's origin and its rows, an object for each."""
    kept = exported(columns)
    return {**origin._asdict(), "rows": [{column.name: exported_value(column, key) for column in kept} for key in keys]}


def as_text(kind: str, columns: Sequence[Column[Key]], keys: Iterable[Key], origin: Origin) -> str:
    """The table in one of the formats :data:`KINDS`."""
    return as_csv(columns, keys) if kind == "csv" else json.dumps(as_data(columns, keys, origin)) + "\n"


def as_row(columns: Sequence[Column[Key]], key: Key) -> str:
    """One row as a line of tab-separated cells, for the clipboard."""
    values = (exported_value(column, key) for column in exported(columns))
    return "\t".join(safe(" ".join(v) if isinstance(v, tuple) else "" if v is None else str(v)) for v in values)


def kind_of(path: Path) -> str:
    """The format in :data:`KINDS` that a file's name ends in. Raises :class:`ExportError`."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise ExportError(f"{path.name!r} says no format: allowed are names that end in .{' or .'.join(KINDS)}")
    return kind


def write_new(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a file that only its owner can access. Raises :class:`ExportError`, also for an existing file unless
    ``overwrite`` is set."""
    data = text.encode("utf-8")
    try:
        if overwrite:
            replace_file(path, data, sync=False, fresh=path.with_name(f".{path.name}.{os.getpid()}.new"))
        else:
            _write_once(path, data)
    except FileExistsError as error:
        raise ExportError(f"{path} is there already: ! after its name overwrites it") from error
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror}") from error


def _write_once(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError:
        path.unlink()
        raise
